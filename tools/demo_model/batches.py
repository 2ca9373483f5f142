"""Turns scenes into training batches: packed questions, positions, attention mask and the dense labels."""
import numpy as np
import torch

import scenes

PREFIX_END = 7      # the ids of "<|im_start|>user\n<|vision_start|>" in the small vocabulary

READING = [(q, False) for q in scenes.NUMBER_EN + scenes.WORD_EN] + [(q, True) for q in scenes.NUMBER_ZH + scenes.WORD_ZH]


class Encoder:
    """Ids of the published chat template, from the checkpoint's tokenizer."""

    def __init__(self, tokenizer):
        ids = lambda s: tokenizer.encode(s, add_special_tokens=False).ids
        self.cache, self.ids = {}, ids
        self.image, self.end = tokenizer.token_to_id("<|image_pad|>"), tokenizer.token_to_id("<|im_end|>")
        self.user, self.before, self.after = ids("<|im_start|>user\n"), ids("<|im_start|>user\n<|vision_start|>"), ids("<|vision_end|>")
        self.turn, self.reply = ids("\n<|im_start|>user\n"), ids("<|im_end|>\n<|im_start|>assistant\n")
        assert len(self.before) == PREFIX_END

    def text(self, s):
        if s not in self.cache:
            if len(self.cache) > 100000: self.cache.clear()
            self.cache[s] = self.ids(s)
        return self.cache[s]


def pack(r, enc, scene, n_image, max_questions):
    """-> ids, labels, branch numbers, tasks of one sample. Questions are branches that share the picture, or one chain."""
    ids = enc.before + [enc.image] * n_image + enc.after
    label, branch, sees, group, tasks = [-100] * len(ids), [0] * len(ids), [1] * len(ids), [-1] * len(ids), []
    chain = r.random() < .25
    known = [q for q in scene.questions if q[0] in scenes.TASKS]
    turns = [(t, 1) for t in known[:max_questions]]
    if r.random() < .06:
        others = [q for q in scene.questions if q[0] not in scenes.TASKS] or [("other", scenes.vary(r, *r.choice(READING)), "")]
        turns.append((("other",) + scenes.decline(*r.choice(others)[:2])[1:], 1))
    if r.random() < .12: turns.insert(r.randint(0, len(turns)), (scenes.refusal(r), 1 if chain or r.random() < .3 else 0))
    for k, ((task, question, answer), with_image) in enumerate(turns):
        head = (enc.turn if k else []) if chain else ([] if with_image else enc.user)
        q, a = head + enc.text(question) + enc.reply, enc.text(answer) + [enc.end]
        ids += q + a
        label += [-100] * len(q) + a
        group += [-1] * len(q) + [len(tasks)] * len(a)
        branch += [1 if chain else k + 1] * (len(q) + len(a))
        sees += [with_image] * (len(q) + len(a))
        tasks.append(task)
    return ids, label, branch, sees, group, tasks


def text_batch(r, enc, batch, gh, gw, max_questions):
    n_image = gh * gw // 4
    rows = [pack(r, enc, s, n_image, max_questions) for s in batch]
    b, length = len(rows), max(len(x[0]) for x in rows)
    ids, label, group = np.zeros((b, length), np.int64), np.full((b, length), -100), np.full((b, length), -1)
    branch, sees, pos = np.full((b, length), -1), np.zeros((b, length), np.int64), np.zeros((3, b, length), np.int64)
    start = PREFIX_END
    hh, ww = np.meshgrid(np.arange(gh // 2), np.arange(gw // 2), indexing="ij")
    after = start + max(gh, gw) // 2
    tasks = []
    for i, (x, y, br, se, gr, ta) in enumerate(rows):
        n = len(x)
        ids[i, :n], label[i, :n], branch[i, :n], sees[i, :n] = x, y, br, se
        group[i, :n] = [g if g < 0 else g + len(tasks) for g in gr]
        tasks += ta
        pos[:, i, :start] = np.arange(start)
        pos[0, i, start:start + n_image] = start
        pos[1, i, start:start + n_image] = start + hh.ravel()
        pos[2, i, start:start + n_image] = start + ww.ravel()
        pos[:, i, start + n_image] = after
        br = branch[i]
        for k in range(1, br.max() + 1):
            where = np.flatnonzero(br == k)
            pos[:, i, where] = np.arange(len(where)) + (after + 1 if se[where[0]] else 0)
    t = torch.from_numpy
    br = t(branch)
    same = br[:, :, None] == br[:, None, :]
    prefix = (br == 0)[:, None, :] & (t(sees) == 1)[:, :, None]
    mask = (same | prefix) & torch.ones(length, length, dtype=torch.bool).tril()
    mask |= torch.eye(length, dtype=torch.bool)
    return dict(ids=t(ids), label=t(label), group=t(group), pos=t(pos), mask=mask[:, None], tasks=tasks, image=(start, start + n_image))


def cell(v, size, count):
    return min(count - 1, max(0, int(v / size)))


def patch_labels(scene, gh, gw):
    """Per 16-pixel patch: what covers its centre (0 nothing, 1.. shape, 6 bar), its colour, the glyph centred in it."""
    kind, colour, glyph = (np.zeros((gh, gw), np.int64) for _ in range(3))
    boxes = [(scenes.SHAPE_NAMES.index(s) + 1, c, b) for c, s, b in scene.objects] + [(6, c, b) for c, _, b in scene.bars]
    for k, c, (x0, y0, x1, y1) in boxes:
        rows, cols = slice(max(0, round(y0 / 16)), max(1, round(y1 / 16))), slice(max(0, round(x0 / 16)), max(1, round(x1 / 16)))
        kind[rows, cols], colour[rows, cols] = k, scenes.COLOUR_NAMES.index(c) + 1
    for ch, c, x, y in scene.glyphs:
        i, j = cell(y, 16, gh), cell(x, 16, gw)
        glyph[i, j], colour[i, j] = scenes.GLYPHS.index(ch) + 1, scenes.COLOUR_NAMES.index(c) + 1
    return kind, colour, glyph


def cell_labels(scene, gh, gw):
    """Per 32-pixel cell: the shape centred in it, its colour and box; up to two glyphs, left to right; a bar's value and colour."""
    h, w = gh // 2, gw // 2
    shape, colour, first, second, value, barcol = (np.zeros((h, w), np.int64) for _ in range(6))
    box = np.zeros((h, w, 4), np.float32)
    for c, s, (x0, y0, x1, y1) in scene.objects:
        i, j = cell((y0 + y1) / 2, 32, h), cell((x0 + x1) / 2, 32, w)
        shape[i, j], colour[i, j] = scenes.SHAPE_NAMES.index(s) + 1, scenes.COLOUR_NAMES.index(c) + 1
        box[i, j] = np.array([x0 - j * 32, y0 - i * 32, x1 - j * 32, y1 - i * 32]) / 32
    for ch, _, x, y in scene.glyphs:
        i, j = cell(y, 32, h), cell(x, 32, w)
        slot = second if first[i, j] else first
        slot[i, j] = scenes.GLYPHS.index(ch) + 1
    for c, v, (x0, y0, x1, _) in scene.bars:
        i, j = cell(y0, 32, h), cell((x0 + x1) / 2, 32, w)
        value[i, j], barcol[i, j] = v, scenes.COLOUR_NAMES.index(c) + 1
    return shape, colour, first, second, value, barcol, box


def block_order(a):
    gh, gw = a.shape[:2]
    return a.reshape(gh // 2, 2, gw // 2, 2).transpose(0, 2, 1, 3).reshape(-1)


def dense_batch(batch, gh, gw):
    p = [patch_labels(s, gh, gw) for s in batch]
    c = [cell_labels(s, gh, gw) for s in batch]
    t = lambda rows: torch.from_numpy(np.stack(rows))
    out = {name: t([block_order(x[k]) for x in p]) for k, name in enumerate(("kind", "patch_colour", "glyph"))}
    for k, name in enumerate(("shape", "colour", "first", "second", "value", "bar_colour")):
        out[name] = t([x[k].reshape(-1) for x in c])
    out["box"] = t([x[6].reshape(-1, 4) for x in c])
    return out


def draw_batch(r, n, mix, easy):
    size = r.choice(scenes.CANVASES)
    batch = [scenes.sample(r, size, mix, easy) for _ in range(n)]
    images = torch.from_numpy(np.stack([np.asarray(s.image) for s in batch]))
    return batch, images, size[1] // 16, size[0] // 16
