"""Weight files, weight types and the bench on the command line."""
import json

import pytest
from conftest import ROOT, ask, run

CHART = ROOT / "examples" / "chart.png"
QUESTION = "Which bar is the tallest?"


@pytest.mark.parametrize("types", [("bf16", "bf16"), ("int8", "int8"), ("int4", "int8")])
def test_a_weight_file_answers_without_the_checkpoint(tmp_path, types):
    path = tmp_path / "demo.saccade"
    code, out, err = run("quantize", "--weights", types[0], "--vision-weights", types[1], "--out", path)
    assert code == 0, err
    assert f"text {types[0]}, vision {types[1]}" in out
    direct = ask("--weights", types[0], "--vision-weights", types[1], CHART, QUESTION)
    from_file = ask("--model", path, CHART, QUESTION)
    assert from_file["text"] == direct["text"]
    code, out, err = run("info", path, "--json")
    assert code == 0, err
    assert json.loads(out)["model_type"] == "qwen3_vl"


def test_the_first_start_writes_the_weight_file_and_the_next_maps_it(tmp_path):
    arguments = ["--weight-cache", tmp_path, CHART, QUESTION]
    first = ask(*arguments)
    files = sorted(tmp_path.glob("*.saccade"))
    assert len(files) == 1
    written = files[0].stat().st_mtime_ns
    assert ask(*arguments)["text"] == first["text"]
    assert files[0].stat().st_mtime_ns == written
    # A damaged file is noticed and replaced.
    with files[0].open("r+b") as file:
        file.seek(files[0].stat().st_size // 2)
        file.write(b"\xff\xfe\xfd")
    assert ask(*arguments)["text"] == first["text"]
    assert files[0].stat().st_mtime_ns != written


def test_a_broken_weight_file_is_an_error_that_says_so(tmp_path):
    path = tmp_path / "broken.saccade"
    path.write_bytes(b"not weights at all" * 100)
    code, _, err = run("ask", "--model", path, CHART, QUESTION)
    assert code == 2
    assert "not a pack file" in err


def test_a_plan_that_cannot_fit_is_refused_with_numbers():
    code, _, err = run("ask", "--kv-tokens", 1 << 29, CHART, QUESTION)
    assert code != 0
    assert "MiB of memory may be used" in err


def test_bench_reports_every_stage_as_a_share_of_the_limit():
    code, out, err = run("bench", "--quick", "--repeats", 1, "--json")
    assert code == 0, err
    report = json.loads(out)
    names = [stage["name"] for stage in report["stages"]]
    assert {"vision 448x448", "prefill 256 tokens", "decode batch 1", "decode batch 16"} <= set(names)
    assert all(0 < stage["percent_of_limit"] < 150 for stage in report["stages"])
    assert report["peak_memory_bytes"] > 1 << 20


def test_info_names_the_kernels_and_the_automatic_choice():
    code, out, err = run("info", "--json", env={"SACCADE_FORCE_ISA": "avx2"})
    assert code == 0, err
    report = json.loads(out)
    assert report["isa"] == "avx2"
    assert any("gemm_int8_int8_4x16_avx2" in line for line in report["kernels"])
    assert report["auto_weights"] == {"text": "bf16", "vision": "bf16"}
