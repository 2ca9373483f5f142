"""Answers and held-out scores of the lean model while it trains."""
import torch

import data
import heldout
from judging import Tally


@torch.no_grad()
def lean_answer(model, encoder: data.ChatEncoder, image, question: str, limit: int = 80) -> str:
    """Greedy, without a cache: good enough for pictures of a few hundred patches."""
    grid_h, grid_w = image.height // 16, image.width // 16
    prompt, pixels = encoder.prompt(question, grid_h * grid_w // 4), data.patches_of(image)[None]
    embedding, reply = model.model.language_model.embed_tokens.weight, []
    for _ in range(limit):
        hidden, _ = model(torch.tensor([prompt + reply]), pixels, grid_h, grid_w, len(encoder.before_image))
        best = int((hidden[0, -1] @ embedding.T).argmax())
        if best == encoder.end:
            break
        reply.append(best)
    return encoder.decode(reply)


def score_lean(model, encoder: data.ChatEncoder, count: int, seed: int = 777):
    """Scores by task and the misses."""
    tally = Tally()
    for canvas, (task, question, truth) in heldout.samples(seed, count):
        tally.add(task, question, lean_answer(model, encoder, canvas.finish(), question), truth)
    return tally.scores(), tally.misses
