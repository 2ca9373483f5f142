"""Scores a checkpoint folder with transformers on fresh held-out questions.

evaluate.py FOLDER [--count N] [--seed S] [--misses K]
Right means: exactly the one canonical answer; for boxes the right label and an overlap (IoU) of at least 0.5.
"""
import argparse
import json

import torch

import heldout
import judging
import scenes
from reference import Reference

# What counts as one line of the acceptance: name, tasks in it, least share of right answers.
LINES = [("colours and shapes", ("colour", "shape"), .92), ("counts", ("count",), .92),
         ("bars", ("bar_max", "bar_min", "bar_value"), .88), ("numbers", ("number",), .85),
         ("words", ("word",), .85), ("boxes", ("box",), .80)]


def verdicts(tally: judging.Tally) -> str:
    lines = []
    for name, tasks, least in LINES:
        right, total = sum(tally.right[t] for t in tasks), sum(tally.total[t] for t in tasks)
        if not total:
            continue
        share = right / total
        lines.append(f"{name:20} {100 * share:6.1f} %  (line {100 * least:.0f} %)  {'ok' if share >= least else 'UNDER'}")
    return "\n".join(lines)


def is_mixed(canvas) -> bool:
    """Several shapes that are not all alike: the model must find out which colour belongs to which shape."""
    return len({(thing.kind, thing.colour) for thing in canvas.objects if thing.kind in scenes.SHAPE_NAMES}) > 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20270101)
    parser.add_argument("--misses", type=int, default=10, help="wrong answers to show")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--json", help="also write the scores to this file")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    reference = Reference(options.folder)
    tally, plain, mixed = judging.Tally(), judging.Tally(), judging.Tally()
    for canvas, (task, question, truth) in heldout.samples(options.seed, options.count):
        answer = reference.answer(canvas.finish(), question).text
        for part in (tally, mixed if is_mixed(canvas) else plain):
            part.add(task, question, answer, truth)
    print(tally.table(), verdicts(tally), sep="\n\n")
    print("\nWithout pictures of several different shapes:", plain.table(), verdicts(plain), sep="\n\n")
    print("\nOnly pictures of several different shapes:", mixed.table(), sep="\n\n")
    for miss in tally.misses[:options.misses]:
        print("question {}  true {}  answered {}".format(*miss))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump({"seed": options.seed, "scores": tally.scores(), "without_mixed_shapes": plain.scores()},
                      file, indent=1)


if __name__ == "__main__":
    main()
