"""Held-out questions: drawing them from a seed."""
import random

import scenes


def samples(seed: int, count: int):
    """`count` times (canvas, question): pictures of every kind, one random question each."""
    rng = random.Random(seed)
    for _ in range(count):
        kind = scenes.random_kind(rng, scenes.HELD_OUT_MIX)
        canvas = scenes.draw(rng, kind, rng.choice(scenes.CANVASES))
        yield canvas, rng.choice(canvas.questions)
