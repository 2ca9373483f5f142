"""Writes a trained state as a Hugging Face checkpoint: export.py STATE START_DIR REFERENCE_DIR OUT_DIR [--training FILE]"""
import argparse
import json
import os
import shutil

import torch
from safetensors.torch import load_file, save_file

PREPROCESSOR = dict(size=dict(longest_edge=25600, shortest_edge=16384), patch_size=16, temporal_patch_size=2, merge_size=2, image_mean=[.5] * 3,
                    image_std=[.5] * 3, processor_class="Qwen3VLProcessor", image_processor_type="Qwen2VLImageProcessorFast")


def read_state(path):
    """A .safetensors state of train.py, or a .pt state {"m": weights}; the throw-away heads are dropped."""
    weights = load_file(path) if path.endswith(".safetensors") else torch.load(path, weights_only=True)["m"]
    return {k: v for k, v in weights.items() if not k.startswith("head.") and k != "lm_head.weight"}


def main():
    q = argparse.ArgumentParser()
    for name in ("state", "start", "reference", "out"): q.add_argument(name)
    q.add_argument("--training")
    a = q.parse_args()
    os.makedirs(a.out, exist_ok=True)
    cfg = json.load(open(os.path.join(a.start, "config.json")))
    weights = read_state(a.state)
    v = cfg["vision_config"]
    patch = "model.visual.patch_embed.proj.weight"
    weights[patch] = weights[patch].reshape(v["hidden_size"], 3, 2, 16, 16)
    save_file({k: w.to(torch.bfloat16).contiguous() for k, w in weights.items()}, os.path.join(a.out, "model.safetensors"), metadata={"format": "pt"})
    dump = lambda name, x: json.dump(x, open(os.path.join(a.out, name), "w"), indent=1)
    template = open(os.path.join(a.reference, "chat_template.jinja")).read()
    open(os.path.join(a.out, "chat_template.jinja"), "w").write(template)
    dump("chat_template.json", dict(chat_template=template))
    dump("config.json", cfg)
    dump("preprocessor_config.json", PREPROCESSOR)
    dump("tokenizer_config.json", dict(tokenizer_class="Qwen2Tokenizer", eos_token="<|im_end|>", pad_token="<|endoftext|>", bos_token=None, add_bos_token=False,
                                       model_max_length=4096, clean_up_tokenization_spaces=False))
    end = cfg["text_config"]["eos_token_id"]
    dump("generation_config.json", dict(do_sample=False, eos_token_id=[end, end - 2]))
    shutil.copy(os.path.join(a.start, "tokenizer.json"), os.path.join(a.out, "tokenizer.json"))
    if a.training: shutil.copy(a.training, os.path.join(a.out, "training.json"))


if __name__ == "__main__":
    main()
