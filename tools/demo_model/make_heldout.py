"""Writes a folder of held-out pictures with questions and true answers.

make_heldout.py OUT [--count N] [--seed S] [--reference FOLDER --referenced K]
OUT gets PNG files and samples.jsonl, one line per picture: file, task, question, answer, rule ("exact" or "iou").
With --reference, the first K lines also carry transformers' greedy answer of that checkpoint (text, ids, margins).
"""
import argparse
import json
import os

import heldout


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out")
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=20270101)
    parser.add_argument("--reference", help="checkpoint folder")
    parser.add_argument("--referenced", type=int, default=100)
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    reference = None
    if options.reference:
        import torch    # neither torch nor transformers is needed without --reference
        from reference import Reference
        torch.set_num_threads(1)
        reference = Reference(options.reference)
    with open(os.path.join(options.out, "samples.jsonl"), "w", encoding="utf-8") as file:
        for i, (canvas, (task, question, answer)) in enumerate(heldout.samples(options.seed, options.count)):
            name = f"{i:04d}_{task}.png"
            image = canvas.finish()
            image.save(os.path.join(options.out, name), optimize=True)
            sample = {"file": name, "task": task, "question": question, "answer": answer,
                      "rule": "iou" if task == "box" else "exact"}
            if reference and i < options.referenced:
                got = reference.answer(image, question)
                sample["reference"] = {"text": got.text, "ids": got.ids, "margins": got.margins}
            file.write(json.dumps(sample, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
