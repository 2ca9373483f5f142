"""Trains the small tokenizer: make_tokenizer.py PUBLISHED_TOKENIZER_JSON OUT_JSON

Normaliser, pre-tokeniser, decoder and special tokens are those of the published Qwen3 tokenizer; only the
vocabulary is small, trained on our questions and answers. Any vocabulary of all bytes can write any text.
"""
import json
import random
import sys

from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers, trainers

import scenes

VOCABULARY = 720    # without the special tokens
KEPT_PARTS = ("normalizer", "pre_tokenizer", "decoder", "post_processor")
KEPT_MODEL_KEYS = ("dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix", "fuse_unk",
                   "byte_fallback", "ignore_merges")


def corpus(pictures: int = 20000) -> list[str]:
    rng = random.Random(5)
    lines = ["system\nYou are a helpful assistant.", "user\n", "assistant\n"] * 50
    for _ in range(pictures):
        canvas = scenes.draw(rng, scenes.random_kind(rng, scenes.MIX), rng.choice(scenes.CANVASES))
        question = rng.choice(canvas.questions)
        lines += [question.question, question.answer]
    return lines


def main() -> None:
    with open(sys.argv[1], encoding="utf-8") as file:
        published = json.load(file)
    shape = json.loads(Tokenizer(models.BPE()).to_str())
    shape.update({part: published[part] for part in KEPT_PARTS})
    shape["model"].update({key: published["model"][key] for key in KEPT_MODEL_KEYS if key in published["model"]})
    tokenizer = Tokenizer.from_str(json.dumps(shape))
    tokenizer.train_from_iterator(corpus(), trainers.BpeTrainer(
        vocab_size=VOCABULARY, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False))
    for token in sorted(published["added_tokens"], key=lambda t: t["id"]):
        flags = {name: token[name] for name in ("single_word", "lstrip", "rstrip", "normalized", "special")}
        added = AddedToken(token["content"], **flags)
        if token["special"]:
            tokenizer.add_special_tokens([added])
        else:
            tokenizer.add_tokens([added])
    tokenizer.save(sys.argv[2])


if __name__ == "__main__":
    main()
