"""saccade ask with documents, folders and patterns; conversations; boxes and pictures on the terminal."""
import csv
import io
import json
import shutil

import pytest
from conftest import ROOT, ask, run
from documents import report
from PIL import Image

EXAMPLES = ROOT / "examples"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
READ = "What does the text say?"
BY_PAGE = ["--page-prompt", "", "--min-confidence", "0.998"]


@pytest.fixture
def folder(tmp_path):
    for name in ("word.png", "count.png"):
        shutil.copy(EXAMPLES / name, tmp_path / name)
    (tmp_path / "notes.txt").write_text("no picture")
    return tmp_path


def answer_about(name, question):
    return ask(EXAMPLES / name, question)["text"]


def test_a_document_is_read_page_by_page(tmp_path):
    data, word = report(pages=6, special=4)
    (tmp_path / "r.pdf").write_bytes(data)
    answer = ask(tmp_path / "r.pdf", READ, *BY_PAGE)
    assert answer["text"] == f"{word} [page 4]"
    assert answer["citations"] == [{"page": 4, "document": "r.pdf"}]
    assert ask(tmp_path / "r.pdf", READ, "--pages", "4")["text"] == word
    code, _, err = run("ask", tmp_path / "r.pdf", READ, "--pages", "7")
    assert code == 2 and "no page 7" in err


def test_a_folder_gives_a_line_of_json_for_each_file(folder):
    code, out, err = run("ask", folder, READ)
    assert code == 0, err
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["file"] for line in lines] == [str(folder / "count.png"), str(folder / "word.png")]
    assert lines[1]["text"] == answer_about("word.png", READ)


def test_a_pattern_gives_csv_and_goes_on_after_a_broken_file(folder):
    (folder / "broken.png").write_bytes(b"nothing")
    code, _, err = run("ask", folder / "*.png", READ, "--out", folder / "out.csv")
    assert code == 2 and "1 of 3 files" in err
    rows = list(csv.DictReader(io.StringIO((folder / "out.csv").read_text(encoding="utf-8"))))
    assert [row["file"].rsplit("/", 1)[1] for row in rows] == ["broken.png", "count.png", "word.png"]
    assert rows[0]["error"] and rows[0]["text"] == ""
    assert rows[2]["text"] == answer_about("word.png", READ) and rows[2]["error"] == ""


def test_each_asks_about_the_files_one_by_one():
    code, out, _ = run("ask", "--each", EXAMPLES / "word.png", EXAMPLES / "word.png", READ)
    texts = [json.loads(line)["text"] for line in out.splitlines()]
    assert code == 0 and texts == [answer_about("word.png", READ)] * 2


def test_a_conversation_reads_questions_line_by_line():
    entry = QUESTIONS[0]
    questions = entry["question_en"] + "\n" + entry["question_zh"] + "\n"
    code, out, err = run("ask", "-i", EXAMPLES / entry["file"], "--temperature", 0, "--max-tokens", 30, stdin=questions.encode())
    assert code == 0, err
    lines = out.splitlines()
    assert lines[0] == entry["answer_en"] and len(lines) == 2 and lines[1]


def test_boxes_are_written_even_when_there_are_none(tmp_path):
    code, _, err = run("ask", EXAMPLES / "word.png", READ, "--boxes", tmp_path / "out.png")
    assert code == 0 and "0 boxes" in err
    with Image.open(tmp_path / "out.png") as drawn, Image.open(EXAMPLES / "word.png") as original:
        assert drawn.convert("RGB").tobytes() == original.convert("RGB").tobytes()


def test_the_picture_is_shown_in_the_terminals_own_way():
    shown = run("ask", EXAMPLES / "word.png", READ, "--show", "always", env={"TERM": "xterm-kitty", "KITTY_WINDOW_ID": "1"})
    assert shown[0] == 0 and "\033_Ga=T,f=100" in shown[1]
    blocks = run("ask", EXAMPLES / "word.png", READ, "--show", "always",
                 env={"TERM": "xterm", "KITTY_WINDOW_ID": "", "TERM_PROGRAM": "", "LC_TERMINAL": ""})
    assert "\033[38;2;" in blocks[1]
    assert "\033" not in run("ask", EXAMPLES / "word.png", READ)[1]


@pytest.mark.parametrize("arguments, words", [
    (["/nonexistent/*.png", "?"], "no file matches"),
    (["-i", "--out", "x.csv", str(EXAMPLES / "word.png")], "one question at a time"),
    (["--each", "?"], "no file"),
])
def test_what_does_not_go_together_is_refused(arguments, words):
    code, _, err = run("ask", *arguments)
    assert code != 0 and words in err
