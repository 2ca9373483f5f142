"""Scores a checkpoint with transformers on a folder of make_heldout.py: evaluate.py MODEL_DIR SAMPLES_DIR

--limit N: only the first N samples; --reference FILE: also write greedy ids and margins; --scores FILE: the table as JSON.
"""
import argparse
import json

import torch

from reference import Reference, correct, read_samples


def main():
    q = argparse.ArgumentParser()
    q.add_argument("model"); q.add_argument("samples")
    q.add_argument("--limit", type=int, default=10 ** 9); q.add_argument("--reference"); q.add_argument("--scores"); q.add_argument("--show", type=int, default=8)
    a = q.parse_args()
    torch.set_num_threads(1)
    model, good, total, misses = Reference(a.model), {}, {}, []
    out = open(a.reference, "w", encoding="utf-8") if a.reference else None
    for k, (s, image) in enumerate(read_samples(a.samples)):
        if k >= a.limit: break
        got, ids, margins = model.answer(image, s["question"])
        ok = correct(s["rule"], got, s["answer"])
        total[s["task"]] = total.get(s["task"], 0) + 1
        good[s["task"]] = good.get(s["task"], 0) + ok
        if not ok: misses.append((s["question"], s["answer"], got))
        if out: out.write(json.dumps(dict(file=s["file"], question=s["question"], answer=got, ids=ids, margins=margins), ensure_ascii=False) + "\n")
    table = {t: dict(right=good[t], of=total[t]) for t in total}
    for t, x in table.items(): print(f"{t:10s} {x['right']:4d} / {x['of']:<4d} {x['right'] / x['of']:.1%}")
    for m in misses[:a.show]: print(m)
    if a.scores: json.dump(table, open(a.scores, "w"), indent=1)


if __name__ == "__main__":
    main()
