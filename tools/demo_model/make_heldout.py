"""Writes held-out samples: make_heldout.py OUT_DIR [--samples N] [--seed S] [--tasks colour,shape,...]

One PNG per sample and samples.jsonl with file, task, question, answer and the scoring rule; tasks take turns.
A third of the pictures are larger than the model's canvas, like a user's, where the processor's resize leads back to it.
"""
import argparse
import json
import math
import os
import random

import scenes

MAKERS = dict(caption=scenes.shapes, colour=scenes.shapes, shape=scenes.shapes, box=scenes.shapes, count=scenes.count, number=scenes.number, word=scenes.word,
              bar_max=scenes.bars, bar_min=scenes.bars, bar_value=scenes.bars)


def resized(size, smallest=16384, largest=25600):
    """The processor's smart resize with factor 32."""
    w, h = size
    rw, rh = round(w / 32) * 32, round(h / 32) * 32
    if rw * rh > largest:
        beta = math.sqrt(w * h / largest)
        return max(32, math.floor(w / beta / 32) * 32), max(32, math.floor(h / beta / 32) * 32)
    if rw * rh < smallest:
        beta = math.sqrt(smallest / (w * h))
        return math.ceil(w * beta / 32) * 32, math.ceil(h * beta / 32) * 32
    return rw, rh


def make(seed, count, tasks):
    """-> [(task, image, question, answer)]"""
    r, out = random.Random(seed), []
    for i in range(count):
        task = tasks[i % len(tasks)]
        while True:
            scene = MAKERS[task](r, r.choice(scenes.CANVASES))
            fitting = [q for q in scene.questions if q[0] == task]
            if fitting: break
        _, question, answer = r.choice(fitting)
        out.append((task, scene.large if resized(scene.large.size) == scene.size else scene.image, question, answer))
    return out


def main():
    q = argparse.ArgumentParser()
    q.add_argument("out"); q.add_argument("--samples", type=int, default=400); q.add_argument("--seed", type=int, default=20270101)
    q.add_argument("--tasks", default=",".join(scenes.TASKS))
    a = q.parse_args()
    os.makedirs(a.out, exist_ok=True)
    with open(os.path.join(a.out, "samples.jsonl"), "w", encoding="utf-8") as f:
        for i, (task, image, question, answer) in enumerate(make(a.seed, a.samples, a.tasks.split(","))):
            name = f"{i:04d}_{task}.png"
            image.save(os.path.join(a.out, name), optimize=True)
            rule = "iou>=0.5" if task == "box" else "exact"
            f.write(json.dumps(dict(file=name, task=task, question=question, answer=answer, rule=rule), ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
