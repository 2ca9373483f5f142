"""What quantised weights cost: held-out scores of the bundled model, errors of the logits, equal greedy tokens.

accuracy.py --binary build/release/saccade [--heldout FOLDER] [--types f32,bf16,int8,int4]

For every weight type: the server answers the held-out questions of the bundled model (FOLDER is made by
tools/demo_model/make_heldout.py), and `saccade trace` runs the reference conversations of tests/golden teacher-forced
along the float32 path. Needs numpy; Pillow for the held-out questions. Prints a Markdown table for docs/accuracy.md.
"""
import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
CONVERSATIONS = ["text_only", "one_image", "wide_image", "two_images", "two_turns"]
CHECKPOINTS = ["tiny-dense", "tiny-untied"]
DTYPES = {"F32": np.float32, "I32": np.int32, "I64": np.int64}
# A step counts as well separated when its two best logits lie this far apart, as a share of the largest logit.
SEPARATED = .05


def load_safetensors(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    tensors = {}
    for name, entry in json.loads(data[8:8 + size]).items():
        if name != "__metadata__":
            begin, end = (8 + size + offset for offset in entry["data_offsets"])
            tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def trace(binary, checkpoint, conversation, weights, folder):
    case = json.loads((GOLDEN / checkpoint / "goldens.json").read_text(encoding="utf-8"))[conversation]
    pictures = iter(case["images"])
    for message in case["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image":
                part["image"] = str(GOLDEN / "images" / next(pictures))
    chat, out = folder / "chat.json", folder / "trace.safetensors"
    chat.write_text(json.dumps({"messages": case["messages"]}), encoding="utf-8")
    subprocess.run([binary, "trace", GOLDEN / checkpoint, "--chat", chat, "--out", out, "--max-tokens", "48",
                    "--weights", weights, "--vision-weights", weights, "--kv", "f32" if weights == "f32" else "bf16"],
                   check=True)
    return load_safetensors(out)


def compare_logits(binary, weights, folder):
    """(largest relative error of the prompt's logits, equal well-separated greedy steps, such steps)."""
    worst, equal, steps = 0., 0, 0
    for checkpoint in CHECKPOINTS:
        for conversation in CONVERSATIONS:
            exact = load_safetensors(GOLDEN / checkpoint / f"golden_{conversation}.safetensors")
            ours = trace(binary, checkpoint, conversation, weights, folder)
            names = [name for name in exact if name.startswith("logits")]
            worst = max([worst] + [float(np.linalg.norm(ours[n] - exact[n]) / np.linalg.norm(exact[n])) for n in names])
            scale = max(float(np.abs(exact[n]).max()) for n in names)
            for step, (mine, right) in enumerate(zip(ours["greedy_ids"], exact["greedy_ids"])):
                if exact["greedy_margin"][step] >= SEPARATED * scale:
                    steps += 1
                    equal += int(mine == right)
                if mine != right:
                    break   # from here on the two continue different texts
    return worst, equal, steps


def held_out_score(binary, weights, heldout):
    server = subprocess.Popen([binary, "serve", "--port", "0", "--weights", weights, "--vision-weights", weights],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    try:
        url = next(found.group(0) for line in server.stdout if (found := re.search(r"http://127\.0\.0\.1:\d+", line)))
        done = subprocess.run([sys.executable, ROOT / "tools" / "demo_model" / "score.py", heldout, "--url", url],
                              check=True, capture_output=True, text=True)
    finally:
        server.terminate()
        server.wait()
    right, total = re.search(r"^all\s+(\d+) / (\d+)", done.stdout, re.M).groups()
    return int(right), int(total)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", default=str(ROOT / "build" / "release" / "saccade"))
    parser.add_argument("--heldout", help="folder of make_heldout.py; without it this column is left out")
    parser.add_argument("--types", default="f32,bf16,int8,int4")
    options = parser.parse_args()
    print("| weights | held-out questions right | error of the logits | equal well-separated greedy steps |")
    print("|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        for weights in options.types.split(","):
            error, equal, steps = compare_logits(options.binary, weights, pathlib.Path(name))
            score = "-"
            if options.heldout:
                right, total = held_out_score(options.binary, weights, options.heldout)
                score = f"{right} of {total} ({100 * right / total:.2f} %)"
            print(f"| {weights} | {score} | {100 * error:.3f} % | {equal} of {steps} |", flush=True)


if __name__ == "__main__":
    main()
