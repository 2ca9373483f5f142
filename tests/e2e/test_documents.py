"""PDF and multi-page TIFF in requests: pages, questions page by page with citations, and files that mean harm."""
import base64
import random
import subprocess
import zlib

import pytest
from api_schema import checked_api, httpx
from conftest import Server
from documents import drawn, pdf_of, report, small_pdf, tiff_of

READ = "What does the text say?"
# The bundled model knows its questions word by word and is unsure where there is nothing to read.
BY_PAGE = {"mode": "page_by_page", "page_prompt": "", "min_confidence": 0.998}


@pytest.fixture(scope="module")
def api(server):
    with checked_api(server.url, timeout=120) as call:
        yield call


def file_part(data, mime="application/pdf", **more):
    url = f"data:{mime};base64," + base64.b64encode(data).decode()
    return {"type": "file", "file": {"filename": "report.pdf", "file_data": url}, **more}


def ask(api, part, question, status=200, **fields):
    content = [part, {"type": "text", "text": question}]
    reply = api("POST", "/v1/chat/completions", status,
                json={"messages": [{"role": "user", "content": content}], "temperature": 0, **fields})
    return reply["choices"][0]["message"] if status == 200 else reply["error"]


def test_the_page_with_the_word_is_cited(api):
    data, word = report(pages=20, special=13)
    message = ask(api, file_part(data), READ, documents=BY_PAGE)
    assert message["content"] == f"{word} [page 13]"
    assert message["citations"] == [{"page": 13, "document": "report.pdf"}]
    answers = message["page_answers"]
    assert [answer["page"] for answer in answers] == list(range(1, 21))
    assert [answer["page"] for answer in answers if answer["counts"]] == [13]


def test_a_list_has_every_page(api):
    pages = [drawn("word", seed) for seed in (7, 8, 9)]
    words = [next(q.answer for q in asked if q.question == READ or q.question.isascii()) for _, asked in pages]
    message = ask(api, file_part(pdf_of([picture for picture, _ in pages])), READ,
                  documents={"mode": "page_by_page", "page_prompt": "", "combine": "list"})
    if len(set(words)) > 1:
        assert message["content"] == "\n".join(f"[page {i}] {word}" for i, word in enumerate(words, 1))
    assert [place["page"] for place in message["citations"]] == [1, 2, 3]


@pytest.mark.parametrize("make, mime", [(pdf_of, "application/pdf"), (tiff_of, "image/tiff")])
def test_one_chosen_page_is_a_picture_like_any_other(api, make, mime):
    pages = [drawn("word", seed) for seed in (7, 8)]
    data = make([picture for picture, _ in pages])
    for number, (_, asked) in enumerate(pages, 1):
        truth = next(q.answer for q in asked if q.question.isascii())
        message = ask(api, file_part(data, mime, pages=str(number)), READ,
                      documents={"mode": "page_by_page", "page_prompt": ""})
        assert message["content"] == f"{truth} [page {number}]"


def test_an_uploaded_document_is_asked_about_by_its_id(api):
    data, word = report(pages=3, special=2)
    kept = api("POST", "/v1/images", 200, content=data)
    assert kept["kind"] == "PDF"
    part = {"type": "file", "file": {"file_id": kept["id"]}}
    assert ask(api, part, READ, documents=BY_PAGE)["content"] == f"{word} [page 2]"
    url = {"type": "image_url", "image_url": {"url": kept["url"]}}
    assert ask(api, url, READ, documents=BY_PAGE)["content"] == f"{word} [page 2]"


def test_a_stream_tells_how_many_pages_are_done(api, server):
    data, word = report(pages=3, special=2)
    body = {"messages": [{"role": "user", "content": [file_part(data), {"type": "text", "text": READ}]}], "temperature": 0,
            "stream": True, "documents": BY_PAGE}
    text = httpx.post(server.url + "/v1/chat/completions", json=body, timeout=120).text
    assert ": pages 3/3" in text and "[page 2]" in text and word.rstrip(".") in text and '"citations"' in text


def test_five_hundred_pages_are_refused_or_truncated(api):
    data = small_pdf(500)
    error = ask(api, file_part(data), READ, 413)
    assert "500 pages are asked for, the limit is 100" in error["message"]
    message = ask(api, file_part(data), READ, documents={**BY_PAGE, "too_many": "truncate", "max_pages": 2}, max_tokens=4)
    assert len(message["page_answers"]) == 2
    configured = Server("--truncate-documents", "--document-pages", "2")
    try:
        content = [file_part(data), {"type": "text", "text": READ}]
        reply = httpx.post(configured.url + "/v1/chat/completions", timeout=120, json={
            "messages": [{"role": "user", "content": content}], "documents": BY_PAGE, "max_tokens": 4})
        assert len(reply.json()["choices"][0]["message"]["page_answers"]) == 2
    finally:
        assert configured.stop() == 0


def deflated(data):
    return {"content": zlib.compress(data, 9), "more": b"/Filter /FlateDecode"}


BOMBS = {
    "huge page": small_pdf(1, media_box="0 0 1000000000 1000000000"),
    "deep nesting": b"%PDF-1.4\n1 0 obj\n" + b"<< /A [" * 400_000,
    "giant stream": small_pdf(1, **deflated(b"0 0 m 9 9 l S " * 30_000_000)),
    "truncated": report(pages=2, special=1)[0][:3000],
    "empty": b"%PDF-1.7\n",
    "no pages": small_pdf(0),
}


@pytest.mark.parametrize("name", BOMBS)
def test_harmful_files_are_refused_and_the_server_keeps_serving(api, server, name):
    error = ask(api, file_part(BOMBS[name]), READ, 400)
    assert error["message"] and error["param"].startswith("messages[0].content[0].file"), error
    memory = int(next(line.split()[1] for line in open(f"/proc/{server.process.pid}/status", encoding="ascii")
                      if line.startswith("VmRSS")))
    assert memory < 2_000_000  # KiB
    assert api("GET", "/readyz", 200)["status"] == "ready"
    children = subprocess.run(["pgrep", "-P", str(server.process.pid)], capture_output=True, text=True, check=False).stdout
    assert children == ""


def test_encrypted_files_say_that_a_password_is_needed(api, tmp_path):
    plain, locked = tmp_path / "plain.pdf", tmp_path / "locked.pdf"
    plain.write_bytes(small_pdf(1))
    subprocess.run(["qpdf", "--encrypt", "secret", "owner", "256", "--", plain, locked], check=True)
    assert "password" in ask(api, file_part(locked.read_bytes()), READ, 400)["message"]


def test_damaged_files_never_make_the_server_fail(api, server):
    data, _ = report(pages=2, special=1)
    rng = random.Random(11)
    with httpx.Client(base_url=server.url, timeout=120) as client:
        for _ in range(25):
            damaged = bytearray(data)
            for _ in range(rng.randint(1, 30)):
                at = rng.randrange(16, len(damaged))
                kind = rng.randrange(3)
                if kind == 0:
                    damaged[at] = rng.randrange(256)
                elif kind == 1:
                    del damaged[at:at + rng.randrange(200)]
                else:
                    damaged[at:at] = damaged[rng.randrange(len(damaged)):][:rng.randrange(300)]
            reply = client.post("/v1/chat/completions", json={"max_tokens": 1, "messages": [
                {"role": "user", "content": [file_part(bytes(damaged)), {"type": "text", "text": READ}]}]})
            assert reply.status_code in (200, 400, 413), reply.text
    assert api("GET", "/readyz", 200)["status"] == "ready"
