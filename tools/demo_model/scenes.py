"""Synthetic pictures with questions, true answers and dense labels, for the small demonstration model.

A scene is drawn once and carries several questions. Questions come in English and Chinese; the answer follows the
language of the question and has one canonical form. Boxes are in the 0..1000 space of Qwen3-VL.
"""
import functools
import glob
import json
import math
import random

from PIL import Image, ImageDraw, ImageFont

COLOURS = {"red": ((214, 39, 40), "红色"), "green": ((44, 160, 44), "绿色"), "blue": ((31, 99, 200), "蓝色"),
           "yellow": ((240, 210, 30), "黄色"), "purple": ((140, 70, 180), "紫色"), "orange": ((250, 130, 20), "橙色"),
           "black": ((20, 20, 20), "黑色"), "gray": ((127, 127, 127), "灰色")}
SHAPES = {"circle": "圆形", "square": "正方形", "triangle": "三角形", "star": "星形", "cross": "十字形"}
COLOUR_NAMES, SHAPE_NAMES = list(COLOURS), list(SHAPES)
GLYPHS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
NUM_EN = ["zero", "one", "two", "three", "four", "five", "six"]
WORDS = "TOTAL PAID OPEN SALE EXIT STOP TEXT PAGE YEAR COST RATE PLAN DATE NAME CODE TEAM".split()
FONTS = sorted(f for f in glob.glob("/usr/share/fonts/truetype/dejavu/DejaVuS*.ttf") if "ExtraLight" not in f)
CANVASES = [(128, 128), (128, 128), (160, 128), (160, 128), (128, 160), (192, 128), (192, 96), (160, 160)]
INK = ["black", "blue", "red", "green", "purple"]
REFUSAL_EN = "I am a small demonstration model. I can name shapes, colors, counts and bars in a picture."
REFUSAL_ZH = "我是一个小型演示模型，可以说出图片中的形状、颜色、数量和柱子。"

CAPTION_EN = ["What is in this picture?", "Describe this image.", "What do you see?", "What is in this image?", "Describe the picture.",
              "What is this?", "What does the picture show?"]
CAPTION_ZH = ["这张图里有什么?", "描述这张图片。", "图中有什么？", "图片里有什么？", "你看到了什么？", "这是什么？"]
NUMBER_EN = ["What number is shown?", "Read the number.", "What is the number?", "Which number is in the picture?", "What number is this?"]
NUMBER_ZH = ["图中的数字是多少?", "读出这个数字。", "这个数字是多少？", "图里的数字是什么？", "这是什么数字？"]
WORD_EN = ["What does the text say?", "Read the text.", "Read the word.", "What word is shown?", "What does it say?"]
WORD_ZH = ["图中写了什么?", "读出图中的文字。", "图里的单词是什么？", "写的是什么？", "读出这个单词。"]
MAX_EN = ["Which bar is the tallest?", "What color is the tallest bar?", "What colour is the tallest bar?", "Which bar is the highest?"]
MAX_ZH = ["哪个颜色的柱子最高?", "最高的柱子是什么颜色?", "哪根柱子最高？"]
MIN_EN = ["Which bar is the shortest?", "What color is the shortest bar?", "What colour is the shortest bar?", "Which bar is the lowest?"]
MIN_ZH = ["哪个颜色的柱子最矮?", "最矮的柱子是什么颜色?", "哪根柱子最矮？"]
OTHER_EN = ["Hello", "Hi", "Hello!", "Who are you?", "What can you do?", "Help", "Tell me a joke.", "What is the capital of France?", "Write a poem.",
            "How are you?", "Thank you", "What time is it?", "Translate this.", "Who is this person?", "Is it raining?", "Good morning", "What is 2+2?"]
OTHER_ZH = ["你好", "你好！", "你是谁？", "你能做什么？", "帮助", "讲个笑话。", "法国的首都是哪里？", "写一首诗。", "谢谢", "现在几点？", "早上好", "这个人是谁？"]


@functools.lru_cache(1024)
def load_font(path, size):
    return ImageFont.truetype(path, size)


class Scene:
    """One picture: the drawing, the questions [(task, question, answer)] and what lies where (for the dense labels)."""

    def __init__(self, r, size):
        self.size, self.scale = size, r.choice([1, 2, 2, 3])
        v = r.randint(235, 255) if r.random() < .8 else r.randint(205, 235)
        w, h = size
        self.image = Image.new("RGB", (w * self.scale, h * self.scale), (v, v, min(255, v + r.randint(-6, 6))))
        self.draw = ImageDraw.Draw(self.image)
        self.questions, self.objects, self.glyphs, self.bars = [], [], [], []

    def ask(self, r, task, english, chinese, answer_en, answer_zh):
        if r.random() < .5:
            self.questions.append((task, vary(r, r.choice(chinese), True), answer_zh + "。" if not answer_zh.endswith("]") else answer_zh))
        else:
            self.questions.append((task, vary(r, r.choice(english), False), answer_en + "." if not answer_en.endswith("]") else answer_en))

    def finish(self):
        self.large = self.image
        if self.scale > 1:
            self.image = self.image.resize(self.size, Image.BICUBIC)
        return self


def vary(r, q, zh):
    """The ways people type: other case, no question mark, full-width or plain marks."""
    x = r.random()
    if zh:
        if x < .12: return q.rstrip("?？。")
        return q.replace("?", "？") if x < .5 else q.replace("？", "?") if x < .7 else q
    if x < .12: return q.rstrip("?.")
    return q.lower() if x < .24 else q[0].lower() + q[1:] if x < .3 else q


def jitter(r, c):
    return tuple(max(0, min(255, v + r.randint(-14, 14))) for v in c)


def draw_shape(d, kind, box, fill):
    x0, y0, x1, y1 = box
    cx, cy, s = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2
    if kind == "circle":
        d.ellipse(box, fill=fill)
    elif kind == "square":
        d.rectangle(box, fill=fill)
    elif kind == "triangle":
        d.polygon([(cx, y0), (x1, y1), (x0, y1)], fill=fill)
    elif kind == "star":
        radius = [s if k % 2 == 0 else s * .42 for k in range(10)]
        d.polygon([(cx + q * math.sin(k * math.pi / 5), cy - q * math.cos(k * math.pi / 5)) for k, q in enumerate(radius)], fill=fill)
    else:
        t = s * .34
        d.rectangle([cx - t, y0, cx + t, y1], fill=fill)
        d.rectangle([x0, cy - t, x1, cy + t], fill=fill)


def place(r, w, h, n, largest):
    """n non-overlapping square boxes, left to right by their left edges."""
    while True:
        out = []
        for _ in range(n * 40):
            s = r.randint(26, min(largest, h - 8))
            x, y = r.randint(2, w - s - 2), r.randint(2, h - s - 2)
            clear = all(x + s + 3 < a or a + b + 3 < x or y + s + 3 < c or c + b + 3 < y for a, c, b in out)
            if clear and all(abs(x - a) > 6 for a, c, b in out): out.append((x, y, s))
            if len(out) == n: return sorted([(x, y, x + s, y + s) for x, y, s in out])


def add_shape(scene, r, colour, shape, box):
    draw_shape(scene.draw, shape, [v * scene.scale for v in box], jitter(r, COLOURS[colour][0]))
    scene.objects.append((colour, shape, box))


def a_an(word):
    return ("an " if word[0] in "aeiou" else "a ") + word


def plural(shape, n):
    return shape + ("" if n == 1 else "es" if shape == "cross" else "s")


def box_answer(box, size, label):
    scaled = [int(round(v * 100 / size[k % 2]) * 10) for k, v in enumerate(box)]
    return json.dumps([{"bbox_2d": scaled, "label": label}], ensure_ascii=False)


def shapes(r, size):
    scene = Scene(r, size)
    n = r.choice([1, 1, 2, 2, 3])
    for b in place(r, *size, n, 64 if n == 1 else 56):
        add_shape(scene, r, r.choice(COLOUR_NAMES), r.choice(SHAPE_NAMES), b)
    items = scene.objects
    caption_en = " and ".join(a_an(f"{c} {s}") for c, s, _ in items)
    scene.ask(r, "caption", CAPTION_EN, CAPTION_ZH, caption_en[0].upper() + caption_en[1:], "和".join(f"一个{COLOURS[c][1]}的{SHAPES[s]}" for c, s, _ in items))
    for c, s, b in r.sample(items, n):
        zc, zs = COLOURS[c][1], SHAPES[s]
        if sum(i[1] == s for i in items) == 1:
            scene.ask(r, "colour", [f"What color is the {s}?", f"What colour is the {s}?", f"Which color is the {s}?"], [f"{zs}是什么颜色?", f"{zs}的颜色是什么？"], c.capitalize(), zc)
        if sum(i[0] == c for i in items) == 1:
            scene.ask(r, "shape", [f"What shape is {c}?", f"Which shape is {c}?"], [f"{zc}的是什么形状?", f"哪个形状是{zc}的？"], a_an(s).capitalize(), zs)
        if sum(i[:2] == (c, s) for i in items) == 1:
            scene.ask(r, "box", [f"Locate the {c} {s}, output JSON.", f"Find the {c} {s}.", f"Where is the {c} {s}?"], [f"框出{zc}的{zs}，以JSON输出。", f"找出{zc}的{zs}。"],
                      box_answer(b, size, f"{c} {s}"), box_answer(b, size, zc + zs))
    if n == 1:
        scene.ask(r, "colour", ["What color is it?", "What color is the shape?", "What colour is this?"], ["它是什么颜色？", "这是什么颜色?"], items[0][0].capitalize(), COLOURS[items[0][0]][1])
        scene.ask(r, "shape", ["What shape is it?", "What shape is this?"], ["它是什么形状？", "这是什么形状?"], a_an(items[0][1]).capitalize(), SHAPES[items[0][1]])
    return scene.finish()


def count(r, size):
    scene = Scene(r, size)
    n, c, s = r.randint(1, 5), r.choice(COLOUR_NAMES), r.choice(SHAPE_NAMES)
    for b in place(r, *size, n, 40 if n > 3 else 50):
        add_shape(scene, r, c, s, b)
    many, zs = plural(s, 2), SHAPES[s]
    for _ in range(2):
        scene.ask(r, "count", [f"How many {many} are there?", "How many shapes are there?", f"Count the {many}.", f"How many {many} do you see?"],
                  [f"有几个{zs}?", "图里有多少个图形?", f"有多少个{zs}？", "有几个图形？"], f"{NUM_EN[n].capitalize()} {plural(s, n)}", f"{n}个{zs}")
    scene.ask(r, "colour", ["What color are they?", "What color are the shapes?"] if n > 1 else ["What color is it?"], ["它们是什么颜色？"] if n > 1 else ["它是什么颜色？"], c.capitalize(), COLOURS[c][1])
    return scene.finish()


def write(scene, r, text, easy, largest):
    """One line of text; an easy one is large and centred."""
    w, h = scene.size
    path, size = r.choice(FONTS), r.randint(max(26, largest - 10), largest) if easy else r.randint(26, largest)
    while load_font(path, size).getlength(text) > w - 8: size -= 1
    f = load_font(path, size * scene.scale)
    width = f.getlength(text) / scene.scale
    x, y = r.uniform(3, w - width - 3), r.uniform(2, h - size * 1.25)
    if easy: x, y = (w - width) / 2 + r.uniform(-4, 4), h / 2 - size * .6 + r.uniform(-4, 4)
    colour = r.choice(INK)
    scene.draw.text((x * scene.scale, y * scene.scale), text, font=f, fill=jitter(r, COLOURS[colour][0]))
    left = x
    for k, ch in enumerate(text):
        right = x + f.getlength(text[:k + 1]) / scene.scale
        scene.glyphs.append((ch, colour, (left + right) / 2, y + size * .58))
        left = right


def number(r, size, easy=False):
    scene = Scene(r, size)
    digits = r.choice([1, 2, 2, 3, 3])
    text = str(r.randint(10 ** (digits - 1) if digits > 1 else 0, 10 ** digits - 1))
    write(scene, r, text, easy, 48)
    for _ in range(2): scene.ask(r, "number", NUMBER_EN, NUMBER_ZH, text, text)
    return scene.finish()


def word(r, size, easy=False):
    scene = Scene(r, size)
    text = r.choice(WORDS)
    write(scene, r, text, easy, 44)
    for _ in range(2): scene.ask(r, "word", WORD_EN, WORD_ZH, text, text)
    return scene.finish()


def letters(r, size):
    """Random characters: never asked about, only used with the dense labels."""
    scene = Scene(r, size)
    write(scene, r, "".join(r.choice(GLYPHS) for _ in range(r.randint(1, 5))), False, 48)
    return scene.finish()


def bars(r, size):
    scene = Scene(r, size)
    (w, h), k, d = size, scene.scale, scene.draw
    n = r.randint(2, 4)
    colours, values = r.sample([c for c in COLOURS if c != "gray"], n), r.sample(range(1, 10), n)
    base, top, step = h - 10, 8, (w - 12) / n
    d.line([6 * k, base * k, (w - 6) * k, base * k], fill=(60, 60, 60), width=k)
    d.line([6 * k, top * k, 6 * k, base * k], fill=(60, 60, 60), width=k)
    f = load_font(FONTS[0] if r.random() < .5 else r.choice(FONTS), 14 * k)
    for i, (c, v) in enumerate(zip(colours, values)):
        x0, y = 8 + i * step, base - (base - top - 16) * v / 9
        x1 = x0 + step - 5
        d.rectangle([x0 * k, y * k, x1 * k, (base - 1) * k], fill=jitter(r, COLOURS[c][0]))
        d.text((((x0 + x1) / 2 - 4.5) * k, (y - 17) * k), str(v), font=f, fill=(20, 20, 20))
        scene.bars.append((c, v, (x0, y, x1, base)))
    hi, lo = colours[values.index(max(values))], colours[values.index(min(values))]
    scene.ask(r, "bar_max", MAX_EN, MAX_ZH, hi.capitalize(), COLOURS[hi][1])
    scene.ask(r, "bar_min", MIN_EN, MIN_ZH, lo.capitalize(), COLOURS[lo][1])
    for i in r.sample(range(n), 2):
        c, z = colours[i], COLOURS[colours[i]][1]
        scene.ask(r, "bar_value", [f"What is the value of the {c} bar?", f"How high is the {c} bar?", f"What value has the {c} bar?"], [f"{z}柱子的数值是多少?", f"{z}柱子的值是多少？"], str(values[i]), str(values[i]))
    if r.random() < .6:
        scene.ask(r, "caption", CAPTION_EN, CAPTION_ZH, f"A bar chart with {NUM_EN[n]} bars", f"一张有{n}根柱子的柱状图")
    return scene.finish()


def refusal(r):
    """A question that has nothing to do with the repertoire, and the fixed honest answer."""
    zh = r.random() < .5
    return "other", vary(r, r.choice(OTHER_ZH if zh else OTHER_EN), zh), REFUSAL_ZH if zh else REFUSAL_EN


ALL_TASKS = ["caption", "colour", "shape", "box", "count", "number", "word", "bar_max", "bar_min", "bar_value"]
TASKS = ["caption", "colour", "shape", "count", "bar_max", "bar_min"]       # the repertoire that is trained and tested
MIX = [(shapes, .45), (count, .25), (bars, .3)]                              # with reading: number .2, word .12


def decline(task, question):
    """A question outside the repertoire gets the honest fixed answer in its own language."""
    return task, question, REFUSAL_ZH if any(ord(ch) > 0x2fff for ch in question) else REFUSAL_EN


def sample(r, size=None, mix=MIX, easy=0.0):
    """One scene with its questions in random order; `easy` is the share of large centred text."""
    size = size or r.choice(CANVASES)
    maker = r.choices([m for m, _ in mix], [p for _, p in mix])[0]
    scene = maker(r, size, r.random() < easy) if maker in (number, word) else maker(r, size)
    r.shuffle(scene.questions)
    return scene
