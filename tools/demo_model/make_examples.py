"""Draws the sample pictures and notes what the model really answers: make_examples.py CHECKPOINT OUT

Every picture is drawn several times larger than the model sees it. Of many seeds the first is kept whose wanted
questions are answered right in both languages, by a clear margin, from the saved file.
"""
import argparse
import json
import os
import random
from typing import NamedTuple

import torch
from PIL import Image

import judging
import scenes
from reference import Reference

TIMES = 4               # the saved picture, in units of what the model sees
SUPERSAMPLED = 12       # drawn at this scale and shrunk, for smooth edges
LEAST_MARGIN = .3       # of the best logit over the second: kernels that round otherwise give the same answer


class Wanted(NamedTuple):
    file: str
    kind: str
    size: tuple[int, int]
    objects: range          # how many shapes, bars or characters
    tasks: dict[str, int]   # how many questions of each task, all of them answered right


WANTED = [Wanted("two_shapes.png", "shapes", (160, 128), range(2, 3), {"caption": 1, "colour": 1, "shape": 1, "count": 1}),
          Wanted("shapes.png", "shapes", (160, 160), range(1, 2), {"caption": 1, "colour": 1, "shape": 1}),
          Wanted("count.png", "count", (160, 128), range(4, 6), {"count": 1, "colour": 1}),
          Wanted("word.png", "word", (160, 128), range(4, 6), {"word": 1}),
          Wanted("chart.png", "bars", (160, 128), range(3, 4), {"bar_max": 1, "bar_min": 1, "bar_value": 1, "caption": 1}),
          Wanted("chart_wide.png", "bars", (192, 128), range(4, 5), {"bar_max": 1, "bar_min": 1, "caption": 1})]


class OneLanguage(random.Random):
    """Makes the wording functions choose one language (and always the same phrase)."""

    def __init__(self, zh: bool):
        super().__init__(0)
        self.fixed = 0.0 if zh else .5

    def random(self) -> float:
        return self.fixed


def both_languages(canvas: scenes.Canvas):
    english = [q for q in canvas.ask(OneLanguage(False)) if q.question.isascii()]
    chinese = [q for q in canvas.ask(OneLanguage(True)) if not q.question.isascii()]
    return dict.fromkeys(zip(english, chinese))


def answered(reference: Reference, image, question) -> str | None:
    """The model's answer if it is right by a clear margin."""
    got = reference.answer(image, question.question)
    clear = question.task == "box" or min(got.margins) >= LEAST_MARGIN
    return got.text if clear and judging.is_right(question.task, got.text, question.answer) else None


def entries_of(reference: Reference, wanted: Wanted, canvas: scenes.Canvas, image) -> list[dict] | None:
    """Entries of questions.json, or None if the model fails on something wanted."""
    left, entries = dict(wanted.tasks), []
    for english, chinese in both_languages(canvas):
        if not left.get(english.task):
            continue
        answers = answered(reference, image, english), answered(reference, image, chinese)
        if None in answers:
            continue
        left[english.task] -= 1
        entries.append({"file": wanted.file, "question_en": english.question, "answer_en": answers[0],
                        "question_zh": chinese.question, "answer_zh": answers[1]})
    return None if any(left.values()) else entries


def suitable(wanted: Wanted, canvas: scenes.Canvas) -> bool:
    kinds = [thing.kind for thing in canvas.objects]
    count = kinds.count("bar") if wanted.kind == "bars" else len(kinds)
    colours = {thing.colour for thing in canvas.objects if thing.kind != "glyph"}
    varied = wanted.kind != "shapes" or len(colours) == count
    if colours & {"gray", "black"}:     # colourful samples please more
        return False
    least = 32 if wanted.kind == "shapes" else 0
    return count in wanted.objects and varied and all(t.box[2] - t.box[0] >= least for t in canvas.objects)


def make(reference: Reference, wanted: Wanted, out: str, first_seed: int, tries: int) -> list[dict]:
    path = os.path.join(out, wanted.file)
    for seed in range(first_seed, first_seed + tries):
        canvas = scenes.draw(random.Random(seed), wanted.kind, wanted.size, scale=SUPERSAMPLED)
        if not suitable(wanted, canvas):
            continue
        canvas.finish(TIMES).save(path, optimize=True)
        with Image.open(path) as file:
            entries = entries_of(reference, wanted, canvas, file.convert("RGB"))
        if entries:
            print(f"{wanted.file}: seed {seed}, {os.path.getsize(path)} bytes")
            return entries
    if os.path.exists(path):
        os.remove(path)
    print(f"{wanted.file}: left out, nothing suitable in {tries} seeds")
    return []


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint")
    parser.add_argument("out")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tries", type=int, default=300)
    options = parser.parse_args()
    torch.set_num_threads(1)
    os.makedirs(options.out, exist_ok=True)
    reference, entries = Reference(options.checkpoint), []
    for wanted in WANTED:
        entries += make(reference, wanted, options.out, options.seed, options.tries)
    with open(os.path.join(options.out, "questions.json"), "w", encoding="utf-8") as file:
        json.dump(entries, file, ensure_ascii=False, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
