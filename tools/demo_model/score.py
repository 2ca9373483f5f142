"""Scores any OpenAI-compatible server on a folder written by make_heldout.py.

score.py FOLDER [--url http://127.0.0.1:8080] [--model NAME] [--limit N]
Sends every picture as a data URL at temperature 0. Needs the standard library and Pillow (to refuse broken files).
"""
import argparse
import base64
import json
import os
import time
import urllib.request

from PIL import Image

import judging


def data_url(path: str) -> str:
    with Image.open(path) as image:
        image.verify()
    with open(path, "rb") as file:
        return "data:image/png;base64," + base64.b64encode(file.read()).decode("ascii")


def first_model(url: str, timeout: float) -> str:
    with urllib.request.urlopen(url + "/v1/models", timeout=timeout) as reply:
        return json.load(reply)["data"][0]["id"]


def ask(url: str, model: str, image: str, question: str, timeout: float) -> str:
    body = {"model": model, "temperature": 0, "max_tokens": 80,
            "messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": image}},
                                                      {"type": "text", "text": question}]}]}
    request = urllib.request.Request(url + "/v1/chat/completions", json.dumps(body).encode("utf-8"),
                                     {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=timeout) as reply:
        return json.load(reply)["choices"][0]["message"]["content"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model", help="default: the first one the server lists")
    parser.add_argument("--limit", type=int, help="score only the first N pictures")
    parser.add_argument("--timeout", type=float, default=60)
    options = parser.parse_args()
    url = options.url.rstrip("/").removesuffix("/v1")
    model = options.model or first_model(url, options.timeout)
    with open(os.path.join(options.folder, "samples.jsonl"), encoding="utf-8") as file:
        samples = [json.loads(line) for line in file][:options.limit]
    tally, different, begin = judging.Tally(), [], time.monotonic()
    for sample in samples:
        image = data_url(os.path.join(options.folder, sample["file"]))
        answer = ask(url, model, image, sample["question"], options.timeout)
        tally.add(sample["task"], sample["question"], answer, sample["answer"])
        if "reference" in sample and answer != sample["reference"]["text"]:
            different.append((sample["file"], sample["reference"]["text"], answer, min(sample["reference"]["margins"])))
    print(tally.table())
    referenced = sum("reference" in sample for sample in samples)
    if referenced:
        print(f"\nequal to the reference answer: {referenced - len(different)} of {referenced}")
        for file, want, got, margin in different:
            print(f"{file}: reference {want!r}, server {got!r}, smallest margin {margin}")
    print(f"\n{len(samples)} questions in {time.monotonic() - begin:.1f} s")


if __name__ == "__main__":
    main()
