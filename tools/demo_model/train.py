"""Trains the small demonstration model (Qwen3-VL architecture) on synthetic pictures, on CPUs.

train.py OUT_DIR START_DIR --until HH:MM [--vision-minutes M] [--resume]
Runs --world processes with one thread each; START_DIR holds config, tokenizer and first weights. Phase one teaches
the vision tower alone with dense labels (what lies in each cell), phase two everything on packed questions with the
dense labels as a decaying side task. Accuracies in the log are on fresh pictures, before they are trained on.
"""
import argparse
import datetime
import json
import os
import random
import time

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn.functional as F
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer

import batches
import model
import scenes

PATCH_HEADS = {"kind": 7, "patch_colour": 9, "glyph": 37}
CELL_HEADS = {"shape": 6, "colour": 9, "first": 37, "second": 37, "value": 10, "bar_colour": 9, "box": 4}
VISION_MIX = [(scenes.shapes, .3), (scenes.count, .1), (scenes.number, .2), (scenes.word, .12), (scenes.letters, .13), (scenes.bars, .15)]


def heads(cfg, r):
    """The throw-away linear heads of the dense labels."""
    out = {}
    for names, width in ((PATCH_HEADS, cfg["vision_config"]["hidden_size"]), (CELL_HEADS, cfg["vision_config"]["out_hidden_size"])):
        for name, n in names.items():
            out[f"head.{name}.weight"], out[f"head.{name}.bias"] = torch.randn(n, width, generator=r) * .02, torch.zeros(n)
    return out


def dense_loss(p, merged, hidden, labels, stats):
    """Cross entropies of all heads; cells that hold something weigh more, as most are empty."""
    total = 0
    for names, x in ((PATCH_HEADS, hidden), (CELL_HEADS, merged)):
        for name in names:
            y = F.linear(x.float(), p[f"head.{name}.weight"].float(), p[f"head.{name}.bias"].float())
            target = labels[name]
            if name == "box":
                where = labels["shape"] > 0
                if where.any(): total = total + 2 * F.smooth_l1_loss(y[where], target[where], beta=.1)
                continue
            loss = F.cross_entropy(y.flatten(0, 1), target.flatten(), reduction="none")
            full = target.flatten() > 0
            total = total + .3 * loss.mean()
            if full.any():
                total = total + .5 * loss[full].mean()
                stats.add("cell " + name, (y.flatten(0, 1).argmax(-1) == target.flatten())[full].float().mean().item())
    return total


def answer_loss(p, cfg, merged, deep, t, stats):
    table = p[model.T + "embed_tokens.weight"]
    s, e = t["image"]
    x = table[t["ids"]].float()
    x = torch.cat((x[:, :s], merged.float(), x[:, e:]), 1)
    h = model.text(p, cfg, x, deep, (s, e), t["pos"], t["mask"])
    target, group = t["label"][:, 1:], t["group"][:, 1:]
    where = target >= 0
    logits = F.linear(h[:, :-1][where].to(table.dtype), table).float()
    target, group = target[where], group[where]
    loss = F.cross_entropy(logits, target, reduction="none")
    n = len(t["tasks"])
    length = torch.bincount(group, minlength=n).float()
    right = torch.ones(n).scatter_reduce(0, group, (logits.argmax(-1) == target).float(), "amin")
    for task, ok in zip(t["tasks"], right.tolist()): stats.add(task, ok)
    # long box answers must not drown the short ones
    return (torch.zeros(n).index_add(0, group, loss) / length ** .7).mean()


class Stats:
    def __init__(self):
        self.sums = {}

    def add(self, key, value):
        a, n = self.sums.get(key, (0, 0))
        self.sums[key] = (a + value, n + 1)

    def line(self):
        out = " ".join(f"{k}:{a / n:.3f}" for k, (a, n) in sorted(self.sums.items()))
        self.sums.clear()
        return out


def orthogonal(g, steps=5):
    """Newton-Schulz iteration of Muon on a stack of matrices."""
    x = g.bfloat16()
    wide = x.shape[-2] > x.shape[-1]
    if wide: x = x.transpose(-1, -2)
    x = x / (x.float().norm(dim=(-2, -1), keepdim=True) + 1e-7).bfloat16()
    for _ in range(steps):
        a = x @ x.transpose(-1, -2)
        x = 3.4445 * x + (-4.775 * a + 2.0315 * a @ a) @ x
    return (x.transpose(-1, -2) if wide else x).float()


class Optimizer:
    """Muon for the hidden matrices, AdamW for the rest."""

    def __init__(self, params):
        self.params, self.state, self.step_count = params, {}, 0
        hidden = [n for n, w in params.items() if w.ndim == 2 and "embed" not in n and not n.startswith("head.")]
        self.stacks, self.hidden = {}, set(hidden)
        for n in hidden: self.stacks.setdefault(tuple(params[n].shape), []).append(n)
        self.moment = {n: torch.zeros_like(w) for n, w in params.items()}
        self.second = {n: torch.zeros_like(w) for n, w in params.items() if n not in self.hidden}

    @torch.no_grad()
    def step(self, lr, active):
        self.step_count += 1
        for shape, names in self.stacks.items():
            names = [n for n in names if active(n)]
            if not names: continue
            for n in names: self.moment[n].mul_(.95).add_(self.params[n].grad, alpha=.05)
            look = torch.stack([self.moment[n] * .95 + self.params[n].grad * .05 for n in names])
            for n, u in zip(names, orthogonal(look)):
                self.params[n].mul_(1 - lr * .02).sub_(u, alpha=lr * .2 * max(shape) ** .5)
        bias1, bias2 = 1 - .9 ** self.step_count, 1 - .98 ** self.step_count
        for n, v in self.second.items():
            if not active(n): continue
            w, m = self.params[n], self.moment[n]
            m.mul_(.9).add_(w.grad, alpha=.1)
            v.mul_(.98).addcmul_(w.grad, w.grad, value=.02)
            w.sub_(m / bias1 / ((v / bias2).sqrt() + 1e-8), alpha=lr * .5)


def seconds_until(clock):
    h, m = map(int, clock.split(":"))
    now = datetime.datetime.now(datetime.timezone.utc)
    return (now.replace(hour=h, minute=m, second=0) - now).total_seconds()


def start_weights(a):
    cfg = json.load(open(os.path.join(a.start, "config.json")))
    p = {k: v.float() for k, v in load_file(os.path.join(a.start, "model.safetensors")).items() if k != "lm_head.weight"}
    p.update(heads(cfg, torch.Generator().manual_seed(1)))
    state = os.path.join(a.out, "state.safetensors")
    if a.resume and os.path.exists(state): p.update(load_file(state))
    return cfg, {k: v.reshape(v.shape).requires_grad_() for k, v in p.items()}


def save(a, average, info):
    save_file({k: v.contiguous() for k, v in average.items()}, os.path.join(a.out, "state.tmp"))
    os.replace(os.path.join(a.out, "state.tmp"), os.path.join(a.out, "state.safetensors"))
    json.dump(info, open(os.path.join(a.out, "progress.json"), "w"))


def one_step(a, p, cfg, enc, r, stats, seconds, phase_vision, dense_weight):
    easy = max(0.0, .6 - seconds / (a.easy_minutes * 60 + 1e-9)) if a.easy_minutes else 0.0
    batch, images, gh, gw = batches.draw_batch(r, a.batch * (2 if phase_vision else 1), VISION_MIX if phase_vision else scenes.MIX, easy)
    half = {k: v.bfloat16() for k, v in p.items()}
    merged, deep, hidden = model.vision(half, cfg, model.patches(images), gh, gw)
    loss = 0
    if dense_weight > 0: loss = dense_weight * dense_loss(p, merged, hidden, batches.dense_batch(batch, gh, gw), stats)
    if not phase_vision:
        answer = answer_loss(half, cfg, merged, deep, batches.text_batch(r, enc, batch, gh, gw, a.questions), stats)
        stats.add("loss", answer.item())
        loss = loss + answer
    loss.backward()
    return len(batch)


def exchange(names, p, world):
    """Averages the gradients over the processes in one buffer and clips them."""
    flat = torch.cat([(p[n].grad if p[n].grad is not None else torch.zeros_like(p[n])).flatten() for n in names])
    if world > 1:
        dist.all_reduce(flat)
        flat /= world
    flat *= min(1.0, 2.0 / (flat.norm().item() + 1e-6))
    at = 0
    for n in names:
        p[n].grad = flat[at:at + p[n].numel()].view_as(p[n])
        at += p[n].numel()


def learning_rate(a, begun, left, step):
    done = begun / (begun + left)
    return a.lr * min(1, (step + 1) / a.warmup) * max(.01, min(1, (1 - done) / a.decay))


def worker(rank, a):
    torch.set_num_threads(1)
    if a.world > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(a.port))
        dist.init_process_group("gloo", rank=rank, world_size=a.world, timeout=datetime.timedelta(minutes=20))
    cfg, p = start_weights(a)
    enc = batches.Encoder(Tokenizer.from_file(os.path.join(a.start, "tokenizer.json")))
    opt, average = Optimizer(p), {k: v.detach().clone() for k, v in p.items()}
    r, stats, seen, step, t0 = random.Random(a.seed * 100 + rank), Stats(), 0, 0, time.time()
    total, last = seconds_until(a.until), time.time()
    while True:
        clock = torch.tensor([time.time() - t0])
        if a.world > 1: dist.broadcast(clock, 0)
        seconds = clock.item()
        if seconds >= total: break
        vision_only = seconds < a.vision_minutes * 60
        dense_weight = 1.0 if vision_only else a.dense * max(0, 1 - seconds / total / .8)
        active = (lambda n: ".visual." in n or n.startswith("head.")) if vision_only else (lambda n: True)
        seen += one_step(a, p, cfg, enc, r, stats, seconds, vision_only, dense_weight)
        names = [n for n in p if active(n)]
        exchange(names, p, a.world)
        opt.step(learning_rate(a, seconds, total - seconds, step), active)
        decay = min(a.average, step / (step + 10))
        with torch.no_grad():
            for k in names: average[k].lerp_(p[k], 1 - decay)
        for w in p.values(): w.grad = None
        step += 1
        if rank == 0 and step % a.log == 0:
            print(f"{seconds:6.0f}s step {step} scenes {seen * a.world} ({seen * a.world / seconds:.0f}/s) {stats.line()}", flush=True)
        if rank == 0 and time.time() - last > 60:
            last = time.time()
            save(a, average, dict(step=step, scenes=seen * a.world, seconds=seconds))
    if rank == 0: save(a, average, dict(step=step, scenes=seen * a.world, seconds=total))


def main():
    q = argparse.ArgumentParser()
    q.add_argument("out"); q.add_argument("start"); q.add_argument("--until", required=True)
    q.add_argument("--vision-minutes", type=float, default=5); q.add_argument("--easy-minutes", type=float, default=4)
    q.add_argument("--batch", type=int, default=32); q.add_argument("--questions", type=int, default=4)
    q.add_argument("--lr", type=float, default=3e-3); q.add_argument("--dense", type=float, default=.5)
    q.add_argument("--warmup", type=int, default=15, help="steps"); q.add_argument("--decay", type=float, default=.7, help="share of the time in which the rate falls")
    q.add_argument("--average", type=float, default=.95)
    q.add_argument("--world", type=int, default=2); q.add_argument("--port", type=int, default=29611)
    q.add_argument("--seed", type=int, default=1); q.add_argument("--log", type=int, default=20); q.add_argument("--resume", action="store_true")
    a = q.parse_args()
    os.makedirs(a.out, exist_ok=True)
    if a.world > 1: mp.spawn(worker, (a,), a.world)
    else: worker(0, a)


if __name__ == "__main__":
    main()
