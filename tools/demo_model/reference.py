"""Greedy answers of the real transformers model (float32 compute of the bf16 weights, PIL image processor)."""
import json
import os

import torch
from PIL import Image
from tokenizers import Tokenizer
from transformers import Qwen3VLForConditionalGeneration
from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil


class Reference:
    def __init__(self, folder):
        self.model = Qwen3VLForConditionalGeneration.from_pretrained(folder, dtype=torch.float32, attn_implementation="sdpa").eval()
        self.images = Qwen2VLImageProcessorPil.from_pretrained(folder)
        self.tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
        self.image_id, self.end = self.tokenizer.token_to_id("<|image_pad|>"), self.tokenizer.token_to_id("<|im_end|>")

    @torch.no_grad()
    def answer(self, image, question, limit=56):
        """-> text, ids (with the end mark), gap between best and second logit at each step."""
        prompt, extra = "<|im_start|>user\n", {}
        if image is not None:
            x = self.images(images=[image.convert("RGB")], return_tensors="pt")
            extra = dict(pixel_values=x["pixel_values"], image_grid_thw=x["image_grid_thw"])
            prompt += "<|vision_start|>" + "<|image_pad|>" * (int(x["image_grid_thw"].prod()) // 4) + "<|vision_end|>"
        ids = torch.tensor([self.tokenizer.encode(prompt + question + "<|im_end|>\n<|im_start|>assistant\n", add_special_tokens=False).ids])
        if image is not None: extra["mm_token_type_ids"] = (ids == self.image_id).long()
        out = self.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=False, max_new_tokens=limit, eos_token_id=self.end, pad_token_id=self.end,
                                  output_scores=True, return_dict_in_generate=True, **extra)
        new = out.sequences[0, ids.shape[1]:].tolist()
        margins = [round(float(t[0] - t[1]), 5) for t in (s[0].topk(2).values for s in out.scores)]
        return self.tokenizer.decode([t for t in new if t != self.end], skip_special_tokens=False), new, margins


def overlap(got, want):
    """Intersection over union of the first boxes of two JSON answers; 0 if the labels differ or it is not JSON."""
    try:
        x, y = json.loads(got)[0], json.loads(want)[0]
        p, q = x["bbox_2d"], y["bbox_2d"]
        if x["label"] != y["label"]: return 0.0
        common = max(0, min(p[2], q[2]) - max(p[0], q[0])) * max(0, min(p[3], q[3]) - max(p[1], q[1]))
        area = lambda v: (v[2] - v[0]) * (v[3] - v[1])
        return common / (area(p) + area(q) - common)
    except (ValueError, LookupError, TypeError, ZeroDivisionError):
        return 0.0


def correct(rule, got, want):
    return overlap(got, want) >= .5 if rule == "iou>=0.5" else got == want


def read_samples(folder):
    for line in open(os.path.join(folder, "samples.jsonl"), encoding="utf-8"):
        s = json.loads(line)
        yield s, Image.open(os.path.join(folder, s["file"]))
