"""saccade ask, info and the exit codes, on the bundled model and its sample pictures."""
import json
import signal
import subprocess
import time

import pytest
from conftest import BINARY, GOLDEN, ROOT, ask, run

EXAMPLES = ROOT / "examples"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
PICTURE = EXAMPLES / QUESTIONS[0]["file"]


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("entry", QUESTIONS, ids=lambda entry: entry["file"])
def test_the_sample_questions_get_their_answers(entry, language):
    answer = ask(EXAMPLES / entry["file"], entry[f"question_{language}"])
    assert answer["text"] == entry[f"answer_{language}"]


def test_json_has_usage_and_timings():
    answer = ask(PICTURE, QUESTIONS[0]["question_en"])
    usage = answer["usage"]
    assert usage["prompt_tokens"] > usage["image_tokens"] > 0 and usage["completion_tokens"] > 0
    assert set(answer["timings_ms"]) == {"load", "decode_image", "resize", "vision", "prefill", "decode"}
    assert all(value >= 0 for value in answer["timings_ms"].values())
    assert answer["finish_reason"] == "stop"


def test_the_plain_form_prints_the_answer_and_a_newline():
    code, out, err = run("ask", PICTURE, QUESTIONS[0]["question_en"])
    assert (code, out, err) == (0, QUESTIONS[0]["answer_en"] + "\n", "")


def test_a_picture_from_standard_input():
    answer = ask("-", QUESTIONS[0]["question_en"], stdin=PICTURE.read_bytes())
    assert answer["text"] == QUESTIONS[0]["answer_en"]


def test_several_pictures_count_their_tokens():
    one = ask(PICTURE, "?", "--max-tokens", 1)["usage"]["image_tokens"]
    assert ask(PICTURE, PICTURE, "?", "--max-tokens", 1)["usage"]["image_tokens"] == 2 * one


def test_max_tokens_and_the_pixel_limits_are_honoured():
    answer = ask(PICTURE, "?", "--max-tokens", 2, "--ignore-eos", "--max-pixels", 16384, "--min-pixels", 1024)
    assert answer["usage"]["completion_tokens"] == 2 and answer["finish_reason"] == "length"
    assert answer["usage"]["image_tokens"] <= 16


def test_the_same_seed_gives_the_same_text():
    options = ["--temperature", "1.5", "--max-tokens", 12, "--ignore-eos"]
    first, again, other = (ask(PICTURE, "?", *options, "--seed", seed)["text"] for seed in (1, 1, 2))
    assert first == again != other


@pytest.mark.parametrize("arguments, code, words", [
    (["ask", "missing.png", "?"], 3, "missing.png"),
    (["ask", GOLDEN / "bad_images" / "truncated.jpg", "?"], 2, "truncated.jpg"),
    (["ask", GOLDEN / "bad_images" / "decompression_bomb.png", "?"], 2, "pixels"),
    (["ask", GOLDEN / "images" / "too_thin_5x1200.png", "?"], 2, "240"),
    (["ask", "--model", "no-such-folder", PICTURE, "?"], 3, "no-such-folder"),
    (["ask", "--weights", "int3", PICTURE, "?"], 2, "int3"),
    (["ask"], 2, "required"),
    (["fly"], 2, ""),
])
def test_errors_name_the_fault_and_set_the_exit_code(arguments, code, words):
    actual, out, err = run(*arguments)
    assert actual == code and words in err + out, err


def test_every_broken_picture_is_refused():
    for path in sorted((GOLDEN / "bad_images").iterdir()):
        code, _, err = run("ask", path, "?")
        assert code == 2 and path.name in err, path


def test_ctrl_c_stops_cleanly():
    process = subprocess.Popen([BINARY, "ask", "--model", GOLDEN / "tiny-dense", "--ignore-eos", "--max-tokens", "30000",
                                "count"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.read(1)  # the answer has begun
    process.send_signal(signal.SIGINT)
    started = time.monotonic()
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130 and b"interrupted" in err
    assert time.monotonic() - started < 60


def test_info_describes_the_checkpoint():
    code, out, _ = run("info", GOLDEN / "tiny-untied", "--json")
    info = json.loads(out)
    assert code == 0 and info["text"]["tied_head"] is False and info["vision"]["head_dim"] == 72
    sizes = info["weight_bytes"]
    assert sizes["f32"] > sizes["bf16"] > sizes["int8"] > sizes["int4"]


def test_a_wrong_shape_names_tensor_and_shapes(tmp_path):
    for path in (GOLDEN / "tiny-dense").iterdir():
        if path.name != "config.json" and not path.name.startswith("golden_"):
            (tmp_path / path.name).symlink_to(path)
    config = json.loads((GOLDEN / "tiny-dense" / "config.json").read_text(encoding="utf-8"))
    config["text_config"]["intermediate_size"] = 230
    (tmp_path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    code, _, err = run("ask", "--model", tmp_path, "hi")
    assert code == 2 and "mlp.gate_proj.weight" in err and "[224, 96]" in err and "[230, 96]" in err
