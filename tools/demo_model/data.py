"""Token ids of the published chat template, patches of pictures, and training batches."""
import random
from typing import NamedTuple

import torch
from tokenizers import Tokenizer

import auxiliary
import questions
import scenes

IGNORED = -100      # label of a token that is not trained on


class Batch(NamedTuple):
    """One picture size per batch; rows are padded at the end. `weights` are per answer token."""
    ids: torch.Tensor           # [batch, tokens]
    labels: torch.Tensor        # [batch, tokens]
    weights: torch.Tensor       # [batch, tokens]
    pixels: torch.Tensor        # [pictures, patches, 768]
    grid_h: int
    grid_w: int
    cells: dict                 # labels of auxiliary.CellHeads
    owners: torch.Tensor        # [batch] which picture a row is about


class ChatEncoder:
    """Writes user and assistant turns as the chat template does, with one picture in front of the first question."""

    def __init__(self, tokenizer_path: str):
        self.tokenizer = Tokenizer.from_file(tokenizer_path)
        self.image = self.tokenizer.token_to_id("<|image_pad|>")
        self.end = self.tokenizer.token_to_id("<|im_end|>")
        self.cache: dict[str, list[int]] = {}
        self.before_image = self.encode("<|im_start|>user\n<|vision_start|>")

    def encode(self, text: str) -> list[int]:
        if text not in self.cache:
            if len(self.cache) > 20000:
                self.cache.clear()
            self.cache[text] = self.tokenizer.encode(text, add_special_tokens=False).ids
        return self.cache[text]

    def turn(self, opening: str, question: str) -> list[int]:
        return self.encode(opening + question + "<|im_end|>\n<|im_start|>assistant\n")

    def prompt(self, question: str, image_tokens: int) -> list[int]:
        return self.before_image + [self.image] * image_tokens + self.turn("<|vision_end|>", question)

    def conversation(self, turns: list[questions.Question], image_tokens: int):
        """Ids, labels and token weights. A long answer must not drown the short ones: weight 1 / length ** 0.7."""
        ids = self.before_image + [self.image] * image_tokens
        labels, weights = [IGNORED] * len(ids), [0.] * len(ids)
        for k, (_, question, answer) in enumerate(turns):
            head = self.turn("\n<|im_start|>user\n" if k else "<|vision_end|>", question)
            reply = self.encode(answer) + [self.end]
            ids = ids + head + reply
            labels += [IGNORED] * len(head) + reply
            weights += [0.] * len(head) + [1 / len(reply) ** .7] * len(reply)
        return ids, labels, weights

    def decode(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)


def patches_of(image) -> torch.Tensor:
    """[patches, 768] in the processor's 2x2 block order. Sides are multiples of 32, so there is no resize."""
    grid_h, grid_w = image.height // 16, image.width // 16
    x = torch.frombuffer(bytearray(image.tobytes()), dtype=torch.uint8).view(image.height, image.width, 3)
    x = x.permute(2, 0, 1).float() / 127.5 - 1
    x = x.reshape(3, grid_h // 2, 2, 16, grid_w // 2, 2, 16).permute(1, 4, 2, 5, 0, 3, 6)
    return x.reshape(grid_h * grid_w, 768)


def padded(rows: list[list], fill, dtype) -> torch.Tensor:
    out = torch.full((len(rows), max(len(row) for row in rows)), fill, dtype=dtype)
    for i, row in enumerate(rows):
        out[i, :len(row)] = torch.tensor(row, dtype=dtype)
    return out


def one_conversation(rng: random.Random, kind: str, turns: list[questions.Question]) -> list[list]:
    return [turns[:1 if kind in ("number", "word") else rng.choice([1, 2, 2, 3])]]


def separate_questions(kind: str, canvas: scenes.Canvas, turns: list[questions.Question]) -> list[list]:
    """Each question in a row of its own, more of them the more shapes there are: what lies where is the hard part.

    In one conversation later answers can be copied from earlier ones instead of from the picture.
    """
    most = {1: 1, 2: 4, 3: 6}[len(canvas.objects)] if kind == "shapes" else 2 if kind == "bars" else 1
    return [[turn] for turn in list(dict.fromkeys(turns))[:most]]


def picture_batch(rng: random.Random, encoder: ChatEncoder, size: int, easy: float, separate: bool = False) -> Batch:
    """`size` pictures with one to three questions as turns of one conversation, or with separate questions."""
    canvas_size = rng.choice(scenes.CANVASES)
    grid_w, grid_h = canvas_size[0] // 16, canvas_size[1] // 16
    canvases, rows, owners = [], [], []
    for i in range(size):
        kind = scenes.random_kind(rng, scenes.MIX)
        canvas = scenes.draw(rng, kind, canvas_size, easy)
        turns = list(canvas.questions)
        rng.shuffle(turns)
        for row in separate_questions(kind, canvas, turns) if separate else one_conversation(rng, kind, turns):
            rows.append(encoder.conversation(row, grid_h * grid_w // 4))
            owners.append(i)
        canvases.append(canvas)
    ids, labels, weights = zip(*rows)
    return Batch(padded(ids, 0, torch.long), padded(labels, IGNORED, torch.long), padded(weights, 0., torch.float),
                 torch.stack([patches_of(canvas.finish()) for canvas in canvases]), grid_h, grid_w,
                 auxiliary.cell_labels(canvases, grid_h, grid_w), torch.tensor(owners))


def chat_batch(rng: random.Random, encoder: ChatEncoder, size: int):
    """Small talk without a picture: ids and labels [batch, tokens]."""
    ids, labels = [], []
    for _ in range(size):
        question, answer = questions.small_talk(rng)
        head, reply = encoder.turn("<|im_start|>user\n", question), encoder.encode(answer) + [encoder.end]
        ids.append(head + reply)
        labels.append([IGNORED] * len(head) + reply)
    return padded(ids, 0, torch.long), padded(labels, IGNORED, torch.long)
