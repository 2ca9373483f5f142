"""Greedy answers of a checkpoint folder from transformers: the yardstick for training and for the server.

The bfloat16 weights are computed in float32 with eager attention and the folder's own processor settings.
"""
import os
from typing import NamedTuple

import torch
from transformers import AutoImageProcessor, AutoTokenizer, Qwen3VLForConditionalGeneration


class Answer(NamedTuple):
    text: str
    ids: list[int]          # with the end token, if the model gave one
    margins: list[float]    # best minus second logit at each step


class Reference:
    def __init__(self, folder: str):
        self.tokenizer = AutoTokenizer.from_pretrained(folder)
        self.images = AutoImageProcessor.from_pretrained(folder)
        self.model = Qwen3VLForConditionalGeneration.from_pretrained(
            folder, dtype=torch.float32, attn_implementation="eager").eval()
        self.template = None
        if self.tokenizer.chat_template is None:
            with open(os.path.join(folder, "chat_template.jinja"), encoding="utf-8") as file:
                self.template = file.read()

    def inputs(self, image, question: str) -> dict:
        content = [{"type": "text", "text": question}]
        pixels = {}
        if image is not None:
            content.insert(0, {"type": "image"})
            pixels = dict(self.images(images=[image], return_tensors="pt"))
        text = self.tokenizer.apply_chat_template([{"role": "user", "content": content}], tokenize=False,
                                                  add_generation_prompt=True, chat_template=self.template)
        if image is not None:
            tokens = int(pixels["image_grid_thw"].prod()) // 4
            text = text.replace("<|image_pad|>", "<|image_pad|>" * tokens)
        ids = self.tokenizer(text, add_special_tokens=False, return_tensors="pt").input_ids
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids),
                "mm_token_type_ids": (ids == self.model.config.image_token_id).long(), **pixels}

    @torch.no_grad()
    def answer(self, image, question: str, limit: int = 80) -> Answer:
        inputs = self.inputs(image, question)
        out = self.model.generate(**inputs, max_new_tokens=limit, do_sample=False, output_logits=True,
                                  return_dict_in_generate=True, pad_token_id=self.tokenizer.pad_token_id)
        ids = out.sequences[0, inputs["input_ids"].shape[1]:].tolist()
        margins = []
        for logits in out.logits:
            best, second = logits[0].float().topk(2).values.tolist()
            margins.append(round(best - second, 4))
        return Answer(self.tokenizer.decode(ids, skip_special_tokens=True), ids, margins)
