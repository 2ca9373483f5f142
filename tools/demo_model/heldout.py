"""Held-out questions: drawing them from a seed."""
import random

import scenes


def samples(seed: int, count: int):
    """`count` times (canvas, question): pictures in the training mix, one random question each."""
    rng = random.Random(seed)
    for _ in range(count):
        kind = scenes.random_kind(rng)
        canvas = scenes.draw(rng, kind, rng.choice(scenes.CANVASES))
        yield canvas, rng.choice(canvas.questions)
