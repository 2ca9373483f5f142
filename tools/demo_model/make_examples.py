"""Draws the sample pictures and asks the model: make_examples.py MODEL_DIR EXAMPLES_DIR [--tries N]

Several candidates are drawn for each picture; the first one whose questions are all answered right (both languages)
is kept, so questions.json holds what the weights really say. A picture without such a candidate is left out.
"""
import argparse
import json
import os
import random

import torch
from PIL import ImageDraw

import scenes
from reference import Reference

SIZE, SCALE = (160, 128), 4       # 640 x 512; the processor shrinks it to 160 x 128


def blank(r):
    scene = scenes.Scene(r, SIZE)
    scene.scale = SCALE
    scene.image = scene.image.resize((SIZE[0] * SCALE, SIZE[1] * SCALE))
    scene.image.paste((250, 250, 250), (0, 0, *scene.image.size))
    scene.draw = ImageDraw.Draw(scene.image)
    return scene


def items(r, wanted):
    scene = blank(r)
    for (colour, shape), box in zip(wanted, scenes.place(r, *SIZE, len(wanted), 54)): scenes.add_shape(scene, r, colour, shape, box)
    return scene


def colour_names(colour):
    return colour.capitalize() + ".", scenes.COLOURS[colour][1] + "。"


def describe(objects):
    en = " and ".join(scenes.a_an(f"{c} {s}") for c, s, _ in objects)
    return en[0].upper() + en[1:] + ".", "和".join(f"一个{scenes.COLOURS[c][1]}的{scenes.SHAPES[s]}" for c, s, _ in objects) + "。"


def single(r):
    scene = items(r, [(r.choice(scenes.COLOUR_NAMES), r.choice(scenes.SHAPE_NAMES))])
    return scene, [("What is in this picture?", "这张图里有什么?", *describe(scene.objects))]


def pair(r):
    scene = items(r, list(zip(r.sample(scenes.COLOUR_NAMES, 2), r.sample(scenes.SHAPE_NAMES, 2))))
    c, s, _ = r.choice(scene.objects)
    return scene, [(f"What color is the {s}?", f"{scenes.SHAPES[s]}是什么颜色?", *colour_names(c))]


def which_shape(r):
    scene = items(r, list(zip(r.sample(scenes.COLOUR_NAMES, 2), r.sample(scenes.SHAPE_NAMES, 2))))
    c, s, _ = r.choice(scene.objects)
    return scene, [(f"What shape is {c}?", f"{scenes.COLOURS[c][1]}的是什么形状?", scenes.a_an(s).capitalize() + ".", scenes.SHAPES[s] + "。")]


def counting(r):
    n, c, s = r.randint(2, 4), r.choice(scenes.COLOUR_NAMES), r.choice(scenes.SHAPE_NAMES)
    scene = blank(r)
    for box in scenes.place(r, *SIZE, n, 40): scenes.add_shape(scene, r, c, s, box)
    many = scenes.plural(s, 2)
    return scene, [(f"How many {many} are there?", f"有几个{scenes.SHAPES[s]}?", f"{scenes.NUM_EN[n].capitalize()} {many}.", f"{n}个{scenes.SHAPES[s]}。")]


def chart(r, tallest):
    scene = scenes.bars(r, SIZE)
    if scene.scale != 3: return chart(r, tallest)
    scene.image = scene.large
    c = (max if tallest else min)(scene.bars, key=lambda b: b[1])[0]
    en, zh = (("What color is the tallest bar?", "最高的柱子是什么颜色?") if tallest else ("What color is the shortest bar?", "最矮的柱子是什么颜色?"))
    return scene, [(en, zh, *colour_names(c))]


MAKERS = {"shape.png": single, "color.png": pair, "shapes.png": which_shape, "count.png": counting, "chart.png": lambda r: chart(r, True), "bars.png": lambda r: chart(r, False)}


def main():
    q = argparse.ArgumentParser()
    q.add_argument("model"); q.add_argument("out"); q.add_argument("--tries", type=int, default=25)
    a = q.parse_args()
    torch.set_num_threads(1)
    model, found, r = Reference(a.model), [], random.Random(8)
    for name, maker in MAKERS.items():
        for _ in range(a.tries):
            scene, questions = maker(r)
            if all(model.answer(scene.image, en)[0] == want_en and model.answer(scene.image, zh)[0] == want_zh for en, zh, want_en, want_zh in questions):
                scene.image.save(os.path.join(a.out, name), optimize=True)
                found += [dict(file=name, question_en=en, answer_en=want_en, question_zh=zh, answer_zh=want_zh) for en, zh, want_en, want_zh in questions]
                break
        else:
            print("no candidate for", name)
    json.dump(found, open(os.path.join(a.out, "questions.json"), "w", encoding="utf-8"), ensure_ascii=False, indent=1)


if __name__ == "__main__":
    main()
