"""Trains the demonstration model on CPUs: data parallel, one process and one thread per core.

train.py OUT [--like FOLDER] [--minutes M] [--resume]
OUT receives a Hugging Face checkpoint (the moving average of the weights), state.pt to go on from, and training.json
with held-out scores. --like copies configuration, tokenizer and chat template from an existing checkpoint. The
learning rate follows the wall clock: 100 steps of warm-up, level until 40 % of the time, then linearly down.
"""
import argparse
import json
import os
import random
import shutil
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from safetensors.torch import save_file
from torch.nn import functional as F

import auxiliary
import data
import lean_answers
from model import LeanQwen3VL
from optimizer import Muon

COPIED = ("config.json", "generation_config.json", "preprocessor_config.json", "tokenizer.json",
          "tokenizer_config.json", "chat_template.jinja", "chat_template.json")
VISION_FIRST_SHARE = .12    # of the time: three of four steps train the vision tower alone, which is cheaper


def answer_loss(hidden, labels, embedding, weights=None):
    """Cross entropy of the answer tokens only; logits of other positions are never computed."""
    chosen = labels[:, 1:] >= 0
    logits = hidden[:, :-1][chosen] @ embedding.T
    if weights is None:
        return F.cross_entropy(logits, labels[:, 1:][chosen])
    weights = weights[:, 1:][chosen]
    losses = F.cross_entropy(logits, labels[:, 1:][chosen], reduction="none")
    return (losses * weights).sum() / weights.sum()


def step_loss(model, heads, batch: data.Batch, before: int, cell_weight: float, vision_only: bool):
    """Loss of one batch and its parts for the log."""
    if vision_only:
        merged, features = model.model.visual(batch.pixels, batch.grid_h, batch.grid_w)
        cells = heads(merged, batch.cells)
        return cells + .01 * sum(f.square().mean() for f in features), {"aux": cells}
    hidden, merged = model(batch.ids, batch.pixels, batch.grid_h, batch.grid_w, before, batch.owners)
    embedding = model.model.language_model.embed_tokens.weight
    text = answer_loss(hidden, batch.labels, embedding, batch.weights)
    cells = heads(merged, batch.cells)
    return text + cell_weight * cells, {"text": text, "aux": cells}


class Averager:
    """Means of the gradients over all processes in one flat buffer, clipped to norm 1."""

    def __init__(self, parameters, world: int):
        self.parameters, self.world = parameters, world
        self.flat = torch.zeros(sum(p.numel() for p in parameters))

    def run(self) -> float:
        begin = 0
        for p in self.parameters:
            self.flat[begin:begin + p.numel()] = p.grad.flatten() if p.grad is not None else 0
            begin += p.numel()
        if self.world > 1:
            dist.all_reduce(self.flat)
            self.flat /= self.world
        norm = self.flat.norm()
        if norm > 1:
            self.flat *= 1.0 / (norm + 1e-6)
        begin = 0
        for p in self.parameters:
            p.grad = self.flat[begin:begin + p.numel()].view_as(p)
            begin += p.numel()
        return norm.item()


class Trainer:
    """One of the training processes; rank 0 writes the log and the checkpoints."""

    def __init__(self, rank: int, options):
        self.rank, self.options = rank, options
        with open(os.path.join(options.out, "config.json"), encoding="utf-8") as file:
            config = json.load(file)
        self.encoder = data.ChatEncoder(os.path.join(options.out, "tokenizer.json"))
        torch.manual_seed(1)
        self.model = LeanQwen3VL(config)
        self.heads = auxiliary.CellHeads(config["text_config"]["hidden_size"])
        self.progress = {"step": 0, "seen": 0}
        state_path = os.path.join(options.out, "state.pt")
        if options.resume and os.path.exists(state_path):
            state = torch.load(state_path)
            self.model.load_state_dict(state["model"])
            self.heads.load_state_dict(state["heads"], strict=False)
            self.progress = state["progress"]
        self.first_step = self.progress["step"]
        matrices = [p for name, p in self.model.named_parameters()
                    if p.dim() == 2 and "embed" not in name and "merger" not in name]
        known = {id(p) for p in matrices}
        others = [p for p in self.model.parameters() if id(p) not in known] + list(self.heads.parameters())
        self.muon = Muon(matrices, options.lr)
        self.adam = torch.optim.AdamW(others, lr=options.adam_lr, betas=(.9, .98), weight_decay=.0)
        self.averager = Averager(matrices + others, options.processes)
        self.average = [p.detach().clone() for p in self.model.parameters()]
        self.rng = random.Random(1000003 * (rank + 1) + self.progress["step"] * 7 + options.seed)

    def set_learning_rates(self, share: float) -> float:
        factor = min(1, (self.progress["step"] + 1) / 100) * min(1, (1 - share) / .6)
        for optimizer, peak in ((self.muon, self.options.lr), (self.adam, self.options.adam_lr)):
            for group in optimizer.param_groups:
                group["lr"] = peak * max(.01, factor)
        return factor

    def step(self, share: float):
        """One optimiser step; returns the parts of the loss, the gradient's norm and the learning rate factor."""
        step = self.progress["step"]
        factor = self.set_learning_rates(share)
        # A run that goes on from earlier weights has its curriculum behind it.
        done = 1.0 if self.options.resume else share
        batch = data.picture_batch(self.rng, self.encoder, self.options.batch, max(0, .5 - 3 * done),
                                   self.rng.random() < self.options.separate)
        vision_only = done < VISION_FIRST_SHARE and step % 4 != 0
        cell_weight = .5 * (1 - done) + .1
        with torch.autocast("cpu", torch.bfloat16, enabled=self.options.bf16):
            loss, parts = step_loss(self.model, self.heads, batch, len(self.encoder.before_image), cell_weight,
                                    vision_only)
            if step % self.options.chat_every == 0:
                ids, labels = data.chat_batch(self.rng, self.encoder, 8)
                hidden, _ = self.model(ids, None, 0, 0, 0)
                loss = loss + .1 * answer_loss(hidden, labels, self.model.model.language_model.embed_tokens.weight)
        for p in self.averager.parameters:
            p.grad = None
        loss.backward()
        norm = self.averager.run()
        self.muon.step(self.rank, self.options.processes)
        self.adam.step()
        here = step - self.first_step
        decay = min(.998, (1 + here) / (10 + here))
        with torch.no_grad():
            torch._foreach_lerp_(self.average, list(self.model.parameters()), 1 - decay)
        self.progress["step"] += 1
        self.progress["seen"] += self.options.batch * self.options.processes
        return {name: value.item() for name, value in parts.items()}, norm, factor

    def save(self, minutes: float, scored: int) -> None:
        """Scores and writes the averaged weights as bfloat16; the raw ones go to state.pt."""
        out = self.options.out
        torch.save({"model": self.model.state_dict(), "heads": self.heads.state_dict(), "progress": self.progress},
                   os.path.join(out, "state.pt"))
        raw = [p.detach().clone() for p in self.model.parameters()]
        with torch.no_grad():
            for p, average in zip(self.model.parameters(), self.average):
                p.copy_(average.to(torch.bfloat16).float())
        weights = {name: value.to(torch.bfloat16).contiguous() for name, value in self.model.state_dict().items()}
        save_file(weights, os.path.join(out, "model.safetensors"), metadata={"format": "pt"})
        scores, misses = lean_answers.score_lean(self.model, self.encoder, scored)
        print("held out", scores, misses[:4], flush=True)
        with open(os.path.join(out, "training.json"), "w", encoding="utf-8") as file:
            json.dump({**self.progress, "minutes": minutes, "held_out": scores}, file, indent=1)
        with torch.no_grad():
            for p, value in zip(self.model.parameters(), raw):
                p.copy_(value)

    def run(self) -> None:
        options, begin = self.options, time.time()
        last_save, running = begin, {}
        while True:
            share = torch.tensor([min(1, (time.time() - begin) / (options.minutes * 60))])
            if options.processes > 1:
                dist.broadcast(share, 0)
            share = share.item()
            if share >= 1:
                break
            parts, norm, factor = self.step(share)
            for name, value in parts.items():
                running[name] = running.get(name, value) * .98 + .02 * value
            seconds, step = time.time() - begin, self.progress["step"]
            if self.rank == 0 and step % options.log == 0:
                losses = " ".join(f"{name} {value:.4f}" for name, value in sorted(running.items()))
                print(f"{seconds:6.0f}s step {step} seen {self.progress['seen']} {losses} grad {norm:.2f} "
                      f"lr {factor:.3f}", flush=True)
            if self.rank == 0 and time.time() - last_save > options.every:
                last_save = time.time()
                self.save(seconds / 60, options.scored_between)
        if self.rank == 0:
            self.save((time.time() - begin) / 60, options.scored)
        if options.processes > 1:
            dist.barrier()


def worker(rank: int, options) -> None:
    torch.set_num_threads(1)
    torch.set_flush_denormal(True)
    if options.processes > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(options.port))
        dist.init_process_group("gloo", rank=rank, world_size=options.processes)
    Trainer(rank, options).run()


def parse_options(arguments=None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--like", help="checkpoint folder whose configuration and tokenizer are used")
    parser.add_argument("--minutes", type=float, default=80)
    parser.add_argument("--batch", type=int, default=24, help="pictures per process and step")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--lr", type=float, default=.02, help="peak learning rate of Muon")
    parser.add_argument("--adam-lr", type=float, default=2e-3)
    parser.add_argument("--every", type=float, default=600, help="seconds between checkpoints")
    parser.add_argument("--scored", type=int, default=600, help="held-out questions after the end")
    parser.add_argument("--chat-every", type=int, default=16, help="steps between conversations without a picture")
    parser.add_argument("--separate", type=float, default=0., help="share of batches with one question per row")
    parser.add_argument("--scored-between", type=int, default=150, help="held-out questions at each checkpoint")
    parser.add_argument("--log", type=int, default=50, help="steps between log lines")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--port", type=int, default=29511)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--bf16", action="store_true", help="bfloat16 matrix products (pays off with AVX512-BF16)")
    return parser.parse_args(arguments)


def main() -> None:
    options = parse_options()
    os.makedirs(options.out, exist_ok=True)
    if options.like:
        for name in COPIED:
            shutil.copy(os.path.join(options.like, name), options.out)
    if options.processes == 1:
        worker(0, options)
    else:
        mp.spawn(worker, (options,), options.processes)


if __name__ == "__main__":
    main()
