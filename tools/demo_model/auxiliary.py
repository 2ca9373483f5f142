"""Dense supervision of the vision tower: what stands in each 32x32 cell. Used while training only.

Each cell names the shape or bar whose centre (for a bar: its top end) lies in it, with colour, value and box, and up
to three glyphs from left to right. Short answers alone give the tower far too little to learn from.
"""
import torch
from torch import nn
from torch.nn import functional as F

import questions
import scenes

KINDS = ["none", *scenes.SHAPE_NAMES, "bar"]
GLYPHS = ["none", *scenes.GLYPHS]
GLYPH_SLOTS = 3
BAR_VALUES = 9
CELL = 32
# Nearly all cells are empty: an empty one counts little.
KIND_WEIGHTS = torch.tensor([.15] + [1.] * (len(KINDS) - 1))
GLYPH_WEIGHTS = torch.tensor([.1] + [1.] * (len(GLYPHS) - 1))


class CellHeads(nn.Module):
    """Linear heads on the merged vision features [batch, cells, hidden]."""

    def __init__(self, hidden: int):
        super().__init__()
        self.kind = nn.Linear(hidden, len(KINDS))
        self.colour = nn.Linear(hidden, len(scenes.COLOUR_NAMES))
        self.value = nn.Linear(hidden, BAR_VALUES)
        self.hundreds = nn.Linear(hidden, 4 * 11)
        self.tens = nn.Linear(hidden, 4 * 10)
        self.glyph = nn.Linear(hidden, GLYPH_SLOTS * len(GLYPHS))

    def forward(self, features, labels: dict):
        """The sum of all losses."""
        kind = F.cross_entropy(self.kind(features).flatten(0, 1), labels["kind"].flatten(), weight=KIND_WEIGHTS)
        full, bar = labels["kind"] > 0, labels["value"] > 0
        colour = box = value = features.sum() * 0
        if full.any():
            colour = F.cross_entropy(self.colour(features[full]), labels["colour"][full])
            sides = labels["box"][full].flatten()
            box = (F.cross_entropy(self.hundreds(features[full]).reshape(-1, 11), sides // 10)
                   + .5 * F.cross_entropy(self.tens(features[full]).reshape(-1, 10), sides % 10))
        if bar.any():
            value = F.cross_entropy(self.value(features[bar]), labels["value"][bar] - 1)
        scores = self.glyph(features).flatten(0, 1).view(-1, len(GLYPHS))
        glyph = F.cross_entropy(scores, labels["glyph"].flatten(), weight=GLYPH_WEIGHTS)
        return kind + colour + .5 * box + .5 * value + glyph


def cell_of(thing: scenes.DrawnObject, rows: int, columns: int) -> int:
    x0, y0, x1, y1 = thing.box
    bottom = min(y1, y0 + 16) if thing.kind == "bar" else y1
    row, column = int((y0 + bottom) / 2 // CELL), int((x0 + x1) / 2 // CELL)
    return min(rows - 1, max(0, row)) * columns + min(columns - 1, max(0, column))


def cell_labels(canvases: list, grid_h: int, grid_w: int) -> dict:
    """Labels of a batch of canvases of one size; boxes are the digits that an answer would write."""
    rows, columns = grid_h // 2, grid_w // 2
    shape = (len(canvases), rows * columns)
    labels = {name: torch.zeros(shape, dtype=torch.long) for name in ("kind", "colour", "value")}
    labels["box"] = torch.zeros(*shape, 4, dtype=torch.long)
    labels["glyph"] = torch.zeros(*shape, GLYPH_SLOTS, dtype=torch.long)
    for i, canvas in enumerate(canvases):
        used = {}
        for thing in sorted(canvas.objects, key=lambda o: o.box[0]):
            cell = cell_of(thing, rows, columns)
            if thing.kind == "glyph":
                slot = used.get(cell, 0)
                used[cell] = slot + 1
                if slot < GLYPH_SLOTS:
                    labels["glyph"][i, cell, slot] = GLYPHS.index(thing.char)
                continue
            labels["kind"][i, cell] = KINDS.index(thing.kind)
            labels["colour"][i, cell] = scenes.COLOUR_NAMES.index(thing.colour)
            labels["value"][i, cell] = thing.value
            labels["box"][i, cell] = torch.tensor(questions.scaled_box(thing.box, canvas.width, canvas.height)) // 10
    return labels
