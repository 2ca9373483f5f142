"""Saccade and another engine in turns on the same machine: vision, prefill and decode; see README.md."""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys

VISION = {"vision 448x448": "square_448.jpg", "vision 1500x1000": "photo_like_1500x1000.jpg"}
# Names of `saccade bench` for the same work (1500x1000 is resized to 1504x992).
SACCADE_NAMES = {"vision 448x448": "vision 448x448", "vision 1500x1000": "vision 1504x992",
                 "prefill 256": "prefill 256 tokens", "decode": "decode batch 1"}


def output_of(command, **keywords):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=False, **keywords)
    if done.returncode != 0:
        sys.exit(f"{command[0]} failed:\n{done.stderr[-2000:]}")
    return done.stdout, done.stderr


def run_saccade(options, weights, vision_weights):
    """Milliseconds of the vision stages, tokens per second of the others."""
    out, _ = output_of([options.saccade, "bench", "--model", options.checkpoint, "--weights", weights, "--vision-weights",
                        vision_weights, "--threads", options.threads, "--repeats", 1, "--quick", "--json"])
    stages = {stage["name"]: stage for stage in json.loads(out)["stages"]}
    figures = {}
    for name, ours in SACCADE_NAMES.items():
        figures[name] = stages[ours]["ms"] if name in VISION else stages[ours]["tokens_per_second"]
    return figures


def run_llama(options, text, mmproj):
    figures = {}
    binary = pathlib.Path(options.llama_bin)
    for name, picture in VISION.items():
        _, err = output_of([binary / "llama-mtmd-cli", "-m", options.gguf / text, "--mmproj", options.gguf / mmproj, "--image",
                            options.pictures / picture, "-p", "hi", "-n", 1, "-t", options.threads, "--no-warmup"])
        figures[name] = float(re.search(r"image (?:slice|batch)?\s*encoded in (\d+) ms", err).group(1))
    out, _ = output_of([binary / "llama-bench", "-m", options.gguf / text, "-p", 256, "-n", 64, "-t", options.threads, "-r", 1,
                        "-o", "json"])
    for row in json.loads(out):
        figures["prefill 256" if row["n_prompt"] else "decode"] = row["avg_ts"]
    return figures


def run_openvino(options, *_):
    out, _ = output_of([sys.executable, __file__, "openvino-once", "--export", options.export, "--pictures", options.pictures,
                        "--threads", options.threads])
    return json.loads(out.splitlines()[-1])


def openvino_once(options):
    """One measurement in a process of its own; prints JSON."""
    import numpy
    import openvino
    import openvino_genai
    from PIL import Image
    pipe = openvino_genai.VLMPipeline(str(options.export), "CPU", INFERENCE_NUM_THREADS=int(options.threads))
    figures = {}
    for name, picture in VISION.items():
        pixels = numpy.array(Image.open(options.pictures / picture).convert("RGB"))[None]
        for _ in range(2):
            result = pipe.generate("hi", images=[openvino.Tensor(pixels)], max_new_tokens=33, ignore_eos=True)
        metrics = result.perf_metrics
        figures[name] = metrics.get_prepare_embeddings_duration().mean
        if name == "vision 448x448":
            prefill_ms = metrics.get_ttft().mean - metrics.get_prepare_embeddings_duration().mean
            figures["prefill 256"] = 1000 * metrics.get_num_input_tokens() / prefill_ms
            figures["decode"] = 1000 / metrics.get_tpot().mean
    print(json.dumps(figures))


def compare(title, options, ours, theirs):
    """Alternates the two and prints medians and how many times faster Saccade is."""
    runs = ([], [])
    for turn in range(options.pairs + 1):
        for kept, run in zip(runs, (ours, theirs)):
            figures = run()
            if turn > 0:
                kept.append(figures)
    print(f"\n{title}, {options.pairs} pairs\n\n| | Saccade | peer | Saccade is faster by |\n|---|---|---|---|")
    for name in SACCADE_NAMES:
        mine, other = (statistics.median(figures[name] for figures in kept) for kept in runs)
        unit, ratio = ("ms", other / mine) if name in VISION else ("tokens/s", mine / other)
        print(f"| {name} | {mine:.1f} {unit} | {other:.1f} {unit} | {ratio:.2f} x |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["llama", "openvino", "openvino-once"])
    parser.add_argument("--saccade", default="build/release/saccade")
    parser.add_argument("--checkpoint", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path)
    parser.add_argument("--llama-bin")
    parser.add_argument("--gguf", type=pathlib.Path)
    parser.add_argument("--export", type=pathlib.Path, help="folder of optimum-cli export openvino")
    parser.add_argument("--threads", default=os.cpu_count())
    parser.add_argument("--pairs", type=int, default=3)
    options = parser.parse_args()
    if options.peer == "openvino-once":
        openvino_once(options)
    elif options.peer == "openvino":
        compare("OpenVINO GenAI, int4 export; Saccade int4 text and int8 vision", options,
                lambda: run_saccade(options, "int4", "int8"), lambda: run_openvino(options))
    else:
        for title, ours, theirs in [
                ("llama.cpp Q8_0 and bf16 vision; Saccade int8 and bf16 vision", ("int8", "bf16"), ("text-q8_0.gguf", "mmproj-bf16.gguf")),
                ("llama.cpp Q4_0 and bf16 vision; Saccade int4 and int8 vision", ("int4", "int8"), ("text-q4_0.gguf", "mmproj-bf16.gguf"))]:
            compare(title, options, lambda ours=ours: run_saccade(options, *ours),
                    lambda theirs=theirs: run_llama(options, *theirs))


if __name__ == "__main__":
    main()
