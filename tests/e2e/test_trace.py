"""saccade trace against the tensors of the reference implementation, from files and text on."""
import json
import struct

import numpy as np
import pytest
from conftest import GOLDEN, run

CONVERSATIONS = ["text_only", "one_image", "wide_image", "two_images", "two_turns"]
EXACT = ["input_ids", "image_grid_thw", "pixel_values", "position_ids", "rope_delta"]
DTYPES = {"F32": np.float32, "I32": np.int32, "I64": np.int64}


def load(path):
    data = path.read_bytes()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8:8 + size])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = (8 + size + offset for offset in entry["data_offsets"])
        tensors[name] = np.frombuffer(data[begin:end], DTYPES[entry["dtype"]]).reshape(entry["shape"])
    return tensors


def trace(checkpoint, conversation, folder, *arguments, env=None):
    case = json.loads((GOLDEN / checkpoint / "goldens.json").read_text(encoding="utf-8"))[conversation]
    pictures = iter(case["images"])
    for message in case["messages"]:
        for part in message["content"] if isinstance(message["content"], list) else []:
            if part["type"] == "image":
                part["image"] = str(GOLDEN / "images" / next(pictures))
    chat, out = folder / "chat.json", folder / "trace.safetensors"
    chat.write_text(json.dumps({"messages": case["messages"]}), encoding="utf-8")
    code, _, err = run("trace", GOLDEN / checkpoint, "--chat", chat, "--out", out, "--max-tokens", 48, *arguments, env=env)
    assert code == 0, err
    return load(out)


def relative_error(actual, expected):
    return np.abs(actual - expected).max() / np.abs(expected).max()


def compare(actual, expected, tolerance, least_margin):
    for name, golden in expected.items():
        if name in EXACT:
            rows = len(golden)  # pixel_values of most files hold the first 8 rows
            assert np.array_equal(actual[name][:rows], golden), name
        elif name.startswith(("vision", "hidden", "logits")):
            assert relative_error(actual[name], golden) <= tolerance, name
    unsure = np.flatnonzero(expected["greedy_margin"] < least_margin)
    steps = unsure[0] if len(unsure) else len(expected["greedy_ids"])
    assert np.array_equal(actual["greedy_ids"][:steps], expected["greedy_ids"][:steps])


@pytest.mark.parametrize("conversation", CONVERSATIONS)
@pytest.mark.parametrize("checkpoint", ["tiny-dense", "tiny-untied"])
@pytest.mark.parametrize("setting", ["default", "avx2", "scalar", "1 thread", "2 threads", "bf16"])
def test_every_stage_equals_the_reference(checkpoint, conversation, setting, tmp_path):
    arguments = ["--weights", "f32", "--vision-weights", "f32", "--kv", "f32"]
    env, tolerance, margin = {}, 1e-4, 1e-3
    if setting in ("avx2", "scalar"):
        env = {"SACCADE_FORCE_ISA": setting}
    elif setting.endswith(("thread", "threads")):
        arguments += ["--threads", setting[0]]
    elif setting == "bf16":
        arguments, tolerance, margin = ["--weights", "bf16", "--vision-weights", "bf16", "--kv", "bf16"], 2e-2, 0.5
    expected = load(GOLDEN / checkpoint / f"golden_{conversation}.safetensors")
    compare(trace(checkpoint, conversation, tmp_path, *arguments, env=env), expected, tolerance, margin)


def test_an_unknown_isa_is_an_error(tmp_path):
    code, _, err = run("info", GOLDEN / "tiny-dense", env={"SACCADE_FORCE_ISA": "avx1024"})
    assert code == 2 and "avx1024" in err
