"""The wording of every question and answer, in English and Chinese; the answer follows the question's language.

There is one canonical answer per question, so that scoring is an exact comparison. Boxes are in the 0..1000 space
of Qwen3-VL, rounded to tens.
"""
import json
import random
from typing import NamedTuple

COLOURS_ZH = {"red": "红色", "green": "绿色", "blue": "蓝色", "yellow": "黄色",
              "purple": "紫色", "orange": "橙色", "black": "黑色", "gray": "灰色"}
SHAPES_ZH = {"circle": "圆形", "square": "正方形", "triangle": "三角形", "star": "星形", "cross": "十字形"}
COLOUR_NAMES, SHAPE_NAMES = list(COLOURS_ZH), list(SHAPES_ZH)
NUMBER_NAMES = ["zero", "one", "two", "three", "four", "five", "six"]

DESCRIBE_EN = ["What is in this picture?", "Describe this image.", "What do you see?", "What is in the image?"]
DESCRIBE_ZH = ["这张图里有什么?", "描述这张图片。", "图中有什么？", "图里有什么?"]
NUMBER_EN = ["What number is shown?", "Read the number.", "What number is this?"]
NUMBER_ZH = ["图中的数字是多少?", "读出这个数字。", "图中的数字是多少？"]
WORD_EN = ["What does the text say?", "Read the text.", "What word is shown?"]
WORD_ZH = ["图中写了什么?", "读出图中的文字。", "图中写了什么？"]
TALLEST_EN = ["Which bar is the tallest?", "What color is the tallest bar?"]
TALLEST_ZH = ["哪个颜色的柱子最高?", "最高的柱子是什么颜色?"]
SHORTEST_EN = ["Which bar is the shortest?", "What color is the shortest bar?"]
SHORTEST_ZH = ["哪个颜色的柱子最矮?", "最矮的柱子是什么颜色?"]

# Tasks the shipped weights did not learn well enough: such a question is answered with a short refusal.
# An empty set makes the trainer teach everything.
OUTSIDE = {"number", "box"}
OUTSIDE_SHARE = .12     # of the pictures that also have other questions
REFUSAL_EN, REFUSAL_ZH = "I cannot do that.", "我不会。"
SELF_EN = "I am a small demonstration model. I answer simple questions about drawn pictures."
SELF_ZH = "我是一个小型演示模型，可以回答关于简单图画的问题。"
CHAT_EN = ["Hello", "Hi", "hello", "Who are you?", "What can you do?", "Help", "Tell me a joke.",
           "What is the weather?", "Write a poem.", "How are you?", "Good morning", "Thank you"]
CHAT_ZH = ["你好", "您好", "你是谁?", "你能做什么?", "帮助", "讲个笑话。", "今天天气怎么样?", "写一首诗。", "早上好", "谢谢"]


class Question(NamedTuple):
    task: str
    question: str
    answer: str


def with_article(word: str) -> str:
    return ("an " if word[0] in "aeiou" else "a ") + word


def capitalised(text: str) -> str:
    return text[0].upper() + text[1:]


def plural(shape: str, n: int) -> str:
    return shape if n == 1 else shape + ("es" if shape == "cross" else "s")


def is_chinese(rng: random.Random) -> bool:
    return rng.random() < .5


def pick(rng: random.Random, zh: bool, english: list[str], chinese: list[str]) -> str:
    return rng.choice(chinese if zh else english)


def caption(rng: random.Random, zh: bool, items) -> Question:
    english = " and ".join(with_article(f"{colour} {shape}") for colour, shape, _ in items)
    chinese = "和".join(f"一个{COLOURS_ZH[colour]}的{SHAPES_ZH[shape]}" for colour, shape, _ in items)
    return Question("caption", pick(rng, zh, DESCRIBE_EN, DESCRIBE_ZH),
                    chinese + "。" if zh else capitalised(english) + ".")


def colour_of(rng: random.Random, zh: bool, colour: str, shape: str) -> Question:
    english = [f"What color is the {shape}?", f"What colour is the {shape}?"]
    chinese = [f"{SHAPES_ZH[shape]}是什么颜色?", f"{SHAPES_ZH[shape]}是什么颜色？"]
    return Question("colour", pick(rng, zh, english, chinese), colour_answer(zh, colour))


def colour_answer(zh: bool, colour: str) -> str:
    return COLOURS_ZH[colour] + "。" if zh else capitalised(colour) + "."


def shape_of(rng: random.Random, zh: bool, colour: str, shape: str) -> Question:
    english = [f"What shape is {colour}?", f"Which shape is {colour}?"]
    chinese = [f"{COLOURS_ZH[colour]}的是什么形状?", f"{COLOURS_ZH[colour]}的是什么形状？"]
    answer = SHAPES_ZH[shape] + "。" if zh else capitalised(with_article(shape)) + "."
    return Question("shape", pick(rng, zh, english, chinese), answer)


def scaled_box(box, width: int, height: int) -> list[int]:
    """Left, top, right, bottom in the 0..1000 space of Qwen3-VL, rounded to tens."""
    return [int(round(v * 100 / m) * 10) for v, m in zip(box, (width, height, width, height))]


def box_of(rng: random.Random, zh: bool, colour: str, shape: str, box, width: int, height: int) -> Question:
    scaled = scaled_box(box, width, height)
    english = [f"Locate the {colour} {shape}, output JSON.", f"Locate the {colour} {shape}, output its bbox in JSON."]
    chinese = [f"框出{COLOURS_ZH[colour]}的{SHAPES_ZH[shape]}，以JSON输出。"]
    label = COLOURS_ZH[colour] + SHAPES_ZH[shape] if zh else f"{colour} {shape}"
    answer = json.dumps([{"bbox_2d": scaled, "label": label}], ensure_ascii=False)
    return Question("box", pick(rng, zh, english, chinese), answer)


def count_of(rng: random.Random, zh: bool, shape: str, n: int, only_kind: bool) -> Question:
    """`only_kind`: nothing but this shape is in the picture."""
    english = [f"How many {plural(shape, 2)} are there?", f"How many {plural(shape, 2)} are in the picture?"]
    chinese = [f"有几个{SHAPES_ZH[shape]}?", f"图里有几个{SHAPES_ZH[shape]}？"]
    if only_kind:
        english = english + ["How many shapes are there?"]
        chinese = chinese + ["图里有多少个图形?"]
    answer = f"{n}个{SHAPES_ZH[shape]}。" if zh else f"{capitalised(NUMBER_NAMES[n])} {plural(shape, n)}."
    return Question("count", pick(rng, zh, english, chinese), answer)


def about_shapes(rng: random.Random, items, width: int, height: int) -> list[Question]:
    """`items` are (colour, shape, box). Only questions with one true answer are asked."""
    asked = [caption(rng, is_chinese(rng), items) for _ in range(2)]
    for colour, shape, box in items:
        if sum(item[1] == shape for item in items) == 1:
            asked += [colour_of(rng, is_chinese(rng), colour, shape) for _ in range(2)]
        if sum(item[0] == colour for item in items) == 1:
            asked += [shape_of(rng, is_chinese(rng), colour, shape) for _ in range(2)]
        if sum(item[:2] == (colour, shape) for item in items) == 1:
            asked += [box_of(rng, is_chinese(rng), colour, shape, box, width, height) for _ in range(2)]
        same = sum(item[1] == shape for item in items)
        asked.append(count_of(rng, is_chinese(rng), shape, same, same == len(items)))
    return asked


def about_equal_shapes(rng: random.Random, colour: str, shape: str, n: int) -> list[Question]:
    languages = (False, True, is_chinese(rng))
    asked = [count_of(rng, zh, shape, n, True) for zh in languages]
    zh = is_chinese(rng)
    english = [f"What color {'is' if n == 1 else 'are'} the {plural(shape, n)}?"]
    question = pick(rng, zh, english, [f"{SHAPES_ZH[shape]}是什么颜色?"])
    return asked + [Question("colour", question, colour_answer(zh, colour))]


def about_text(rng: random.Random, task: str, text: str) -> list[Question]:
    english, chinese = (NUMBER_EN, NUMBER_ZH) if task == "number" else (WORD_EN, WORD_ZH)
    return [Question(task, pick(rng, zh, english, chinese), text + ("。" if zh else ".")) for zh in (False, True)]


def about_bars(rng: random.Random, colours: list[str], values: list[int]) -> list[Question]:
    asked = []
    for task, value, english, chinese in (("bar_max", max(values), TALLEST_EN, TALLEST_ZH),
                                          ("bar_min", min(values), SHORTEST_EN, SHORTEST_ZH)):
        for _ in range(2):
            zh = is_chinese(rng)
            answer = colour_answer(zh, colours[values.index(value)])
            asked.append(Question(task, pick(rng, zh, english, chinese), answer))
    for colour, value in zip(colours, values):
        zh = is_chinese(rng)
        english, chinese = [f"What is the value of the {colour} bar?"], [f"{COLOURS_ZH[colour]}柱子的数值是多少?"]
        asked.append(Question("bar_value", pick(rng, zh, english, chinese), str(value) + ("。" if zh else ".")))
    zh, n = is_chinese(rng), len(colours)
    answer = f"一张有{n}根柱子的柱状图。" if zh else f"A bar chart with {NUMBER_NAMES[n]} bars."
    return asked + [Question("caption", pick(rng, zh, DESCRIBE_EN, DESCRIBE_ZH), answer)]


def within_repertoire(rng: random.Random, asked: list[Question]) -> list[Question]:
    """Keeps few questions of the tasks outside the repertoire, as task "outside" with the honest answer."""
    if not OUTSIDE:
        return asked
    inside, outside = ([q for q in asked if (q.task in OUTSIDE) == wanted] for wanted in (False, True))
    if outside and (not inside or rng.random() < OUTSIDE_SHARE):
        question = rng.choice(outside).question
        inside.append(Question("outside", question, REFUSAL_EN if question.isascii() else REFUSAL_ZH))
    return inside


def small_talk(rng: random.Random) -> tuple[str, str]:
    """A question without a picture and the one honest answer."""
    zh = is_chinese(rng)
    return rng.choice(CHAT_ZH if zh else CHAT_EN), SELF_ZH if zh else SELF_EN
