"""Draws synthetic pictures for the demonstration model and notes what stands where.

`draw(rng, kind, size)` gives a canvas with the picture, the objects on it (dense labels while training) and the
questions with their true answers; the wording lives in questions.py. Every random choice comes from `rng`: the
same seed draws the same picture, so changing the order of calls changes every held-out set.
"""
import functools
import glob
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

from PIL import Image, ImageDraw, ImageFont

import questions
from questions import COLOUR_NAMES, SHAPE_NAMES, Question

RGB = {"red": (214, 39, 40), "green": (44, 160, 44), "blue": (31, 99, 200), "yellow": (240, 210, 30),
       "purple": (140, 70, 180), "orange": (250, 130, 20), "black": (20, 20, 20), "gray": (127, 127, 127)}
INK = ["black", "blue", "red", "green", "purple"]
WORDS = "TOTAL PAID OPEN SALE EXIT STOP TEXT PAGE YEAR COST RATE PLAN DATE NAME CODE TEAM".split()
GLYPHS = sorted(set("".join(WORDS)) | set("0123456789"))
FONTS = sorted(glob.glob("/usr/share/fonts/truetype/dejavu/DejaVuSans*.ttf"))
CANVASES = [(128, 128), (160, 128), (128, 160), (192, 128), (160, 160)]
# Share of each kind of picture in training, and in held-out sets, which stay the same when training changes.
MIX = {"shapes": .36, "count": .30, "number": .03, "word": .17, "bars": .14}
HELD_OUT_MIX = {"shapes": .44, "count": .20, "number": .02, "word": .17, "bars": .17}

Box = tuple[float, float, float, float]


@dataclass
class DrawnObject:
    """A shape, a bar (with its value) or a glyph (with its character); `box` is left, top, right, bottom in pixels."""
    kind: str
    box: Box
    colour: str = ""
    value: int = 0
    char: str = ""


@functools.lru_cache(2048)
def load_font(path: str, size: int) -> ImageFont.FreeTypeFont:
    return ImageFont.truetype(path, size)


def jitter(rng: random.Random, rgb, by: int = 14) -> tuple[int, ...]:
    return tuple(max(0, min(255, v + rng.randint(-by, by))) for v in rgb)


class Canvas:
    """A picture drawn at `scale` times its final size and shrunk at the end, as a user's larger picture would be."""

    def __init__(self, rng: random.Random, size: tuple[int, int], scale: int | None = None):
        self.rng = rng
        self.width, self.height = size
        self.scale = scale or rng.choice([1, 1, 2, 3])
        light = rng.randint(235, 255) if rng.random() < .8 else rng.randint(205, 235)
        ground = (light, light, min(255, light + rng.randint(-6, 6)))
        self.image = Image.new("RGB", (self.width * self.scale, self.height * self.scale), ground)
        self.pen = ImageDraw.Draw(self.image)
        self.objects: list[DrawnObject] = []
        # Words the questions about what was drawn; `questions` is one such choice.
        self.ask: Callable[[random.Random], list[Question]] | None = None
        self.questions: list[Question] = []

    def scaled(self, *coordinates: float) -> list[float]:
        return [v * self.scale for v in coordinates]

    def finish(self, times: int = 1) -> Image.Image:
        """The picture at `times` its nominal size."""
        if times == self.scale:
            return self.image
        return self.image.resize((self.width * times, self.height * times), Image.BICUBIC)

    def shape(self, kind: str, colour: str, box: Box) -> None:
        x0, y0, x1, y1 = self.scaled(*box)
        centre_x, centre_y, radius = (x0 + x1) / 2, (y0 + y1) / 2, (x1 - x0) / 2
        fill = jitter(self.rng, RGB[colour])
        if kind == "circle":
            self.pen.ellipse([x0, y0, x1, y1], fill=fill)
        elif kind == "square":
            self.pen.rectangle([x0, y0, x1, y1], fill=fill)
        elif kind == "triangle":
            self.pen.polygon([(centre_x, y0), (x1, y1), (x0, y1)], fill=fill)
        elif kind == "star":
            corners = []
            for k in range(10):
                reach = radius if k % 2 == 0 else radius * .42
                angle = k * math.pi / 5
                corners.append((centre_x + reach * math.sin(angle), centre_y - reach * math.cos(angle)))
            self.pen.polygon(corners, fill=fill)
        else:
            arm = radius * .34
            self.pen.rectangle([centre_x - arm, y0, centre_x + arm, y1], fill=fill)
            self.pen.rectangle([x0, centre_y - arm, x1, centre_y + arm], fill=fill)
        self.objects.append(DrawnObject(kind, box, colour=colour))

    def text(self, text: str, x: float, y: float, font_path: str, size: float, fill) -> None:
        """Writes at the left top corner (x, y) and notes where every glyph stands."""
        font = load_font(font_path, round(size * self.scale))
        self.pen.text(self.scaled(x, y), text, font=font, fill=fill)
        for i, char in enumerate(text):
            left, right = font.getlength(text[:i]) / self.scale, font.getlength(text[:i + 1]) / self.scale
            top, bottom = (v / self.scale for v in font.getbbox(char)[1::2])
            self.objects.append(DrawnObject("glyph", (x + left, y + top, x + right, y + bottom), char=char))


def place(rng: random.Random, width: int, height: int, n: int, smallest: int, largest: int) -> list[Box]:
    """n squares that do not touch, from left to right. Shrinks the largest size until they fit."""
    while True:
        squares = []
        for _ in range(n * 40):
            side = rng.randint(smallest, largest)
            x, y = rng.randint(2, width - side - 2), rng.randint(2, height - side - 2)
            if all(x + side + 3 < a or a + b + 3 < x or y + side + 3 < c or c + b + 3 < y for a, c, b in squares):
                squares.append((x, y, side))
            if len(squares) == n:
                return sorted((x, y, x + side, y + side) for x, y, side in squares)
        largest = max(smallest, largest - 4)


def draw_shapes(rng: random.Random, canvas: Canvas) -> None:
    n = rng.choice([1, 1, 2, 2, 3])
    items = []
    largest = min(60, min(canvas.width, canvas.height) // (1 if n == 1 else 2) - 4)
    for box in place(rng, canvas.width, canvas.height, n, 26, largest):
        colour, shape = rng.choice(COLOUR_NAMES), rng.choice(SHAPE_NAMES)
        canvas.shape(shape, colour, box)
        items.append((colour, shape, box))
    canvas.ask = functools.partial(questions.about_shapes, items=items, width=canvas.width, height=canvas.height)


def draw_count(rng: random.Random, canvas: Canvas) -> None:
    n = rng.randint(1, 5)
    colour, shape = rng.choice(COLOUR_NAMES), rng.choice(SHAPE_NAMES)
    for box in place(rng, canvas.width, canvas.height, n, 24, 40):
        canvas.shape(shape, colour, box)
    canvas.ask = functools.partial(questions.about_equal_shapes, colour=colour, shape=shape, n=n)


def draw_number(rng: random.Random, canvas: Canvas, easy: float) -> None:
    digits = rng.choice([1, 2, 3, 4]) if rng.random() >= easy else 1
    text = str(rng.randint(10 ** (digits - 1) if digits > 1 else 0, 10 ** digits - 1))
    write_text(rng, canvas, text, rng.randint(26, 46))
    canvas.ask = functools.partial(questions.about_text, task="number", text=text)


def draw_word(rng: random.Random, canvas: Canvas) -> None:
    text = rng.choice(WORDS)
    write_text(rng, canvas, text, rng.randint(24, 38))
    canvas.ask = functools.partial(questions.about_text, task="word", text=text)


def write_text(rng: random.Random, canvas: Canvas, text: str, size: int) -> None:
    font_path = rng.choice(FONTS)
    while load_font(font_path, round(size * canvas.scale)).getlength(text) > (canvas.width - 8) * canvas.scale:
        size -= 1
    font = load_font(font_path, round(size * canvas.scale))
    box = font.getbbox(text)
    width, top, bottom = font.getlength(text) / canvas.scale, box[1] / canvas.scale, box[3] / canvas.scale
    x, y = rng.uniform(3, canvas.width - width - 3), rng.uniform(2 - top, canvas.height - bottom - 2)
    colour = rng.choice(INK)
    canvas.text(text, x, y, font_path, size, jitter(rng, RGB[colour]))


def draw_bars(rng: random.Random, canvas: Canvas) -> None:
    width, height, line = canvas.width, canvas.height, canvas.scale
    n = rng.randint(2, 4)
    colours = rng.sample([k for k in COLOUR_NAMES if k != "gray"], n)
    values = rng.sample(range(1, 10), n)
    base, top, step = height - 10, 8, (width - 12) / n
    canvas.pen.line(canvas.scaled(6, base, width - 6, base), fill=(60, 60, 60), width=line)
    canvas.pen.line(canvas.scaled(6, top, 6, base), fill=(60, 60, 60), width=line)
    for i, (colour, value) in enumerate(zip(colours, values)):
        left = 8 + i * step
        right, upper = left + step - 5, base - (base - top - 14) * value / 9
        canvas.pen.rectangle(canvas.scaled(left, upper, right, base - 1), fill=jitter(rng, RGB[colour]))
        canvas.objects.append(DrawnObject("bar", (left, upper, right, base), colour=colour, value=value))
        canvas.text(str(value), (left + right) / 2 - 4, upper - 14, FONTS[0], 12, (20, 20, 20))
    canvas.ask = functools.partial(questions.about_bars, colours=colours, values=values)


def draw(rng: random.Random, kind: str, size: tuple[int, int], easy: float = 0.0, scale: int | None = None) -> Canvas:
    """`easy` is the share of one-digit numbers on top of their usual share (a curriculum for reading)."""
    canvas = Canvas(rng, size, scale)
    if kind == "shapes":
        draw_shapes(rng, canvas)
    elif kind == "count":
        draw_count(rng, canvas)
    elif kind == "number":
        draw_number(rng, canvas, easy)
    elif kind == "word":
        draw_word(rng, canvas)
    else:
        draw_bars(rng, canvas)
    canvas.questions = questions.within_repertoire(rng, canvas.ask(rng))
    return canvas


def random_kind(rng: random.Random, mix: dict[str, float]) -> str:
    return rng.choices(list(mix), list(mix.values()))[0]
