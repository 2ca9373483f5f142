"""Compares the lean model with transformers on one checkpoint: check_model.py FOLDER.

Prints the largest difference of the logits over a few held-out pictures; fails above 1e-3.
"""
import sys

import torch
from safetensors.torch import load_file

import data
import heldout
from model import LeanQwen3VL
from reference import Reference


@torch.no_grad()
def main() -> None:
    folder = sys.argv[1]
    torch.set_num_threads(1)
    reference = Reference(folder)
    lean = LeanQwen3VL(reference.model.config.to_dict())
    weights = load_file(f"{folder}/model.safetensors")
    lean.load_state_dict({name: value.float() for name, value in weights.items()})
    encoder, worst = data.ChatEncoder(f"{folder}/tokenizer.json"), 0.0
    for canvas, (_, question, _) in heldout.samples(5, 10):
        image = canvas.finish()
        inputs = reference.inputs(image, question)
        grid_h, grid_w = inputs["image_grid_thw"][0, 1:].tolist()
        prompt = encoder.prompt(question, grid_h * grid_w // 4)
        assert prompt == inputs["input_ids"][0].tolist(), "the prompts differ"
        before = len(encoder.before_image)
        hidden, _ = lean(torch.tensor([prompt]), data.patches_of(image)[None], grid_h, grid_w, before)
        logits = hidden @ lean.model.language_model.embed_tokens.weight.T
        worst = max(worst, (logits - reference.model(**inputs).logits).abs().max().item())
    print(f"largest difference of the logits: {worst:.2e}")
    sys.exit(worst > 1e-3)


if __name__ == "__main__":
    main()
