"""Uploaded pictures (POST /v1/images) and boxes in pixels."""
import base64
import io
import json

import pytest
from api_schema import checked_api, httpx
from conftest import ROOT, Server
from PIL import Image

EXAMPLES = ROOT / "examples"
ENTRY = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))[0]
PICTURE = (EXAMPLES / ENTRY["file"]).read_bytes()


@pytest.fixture(scope="module")
def api(server):
    with checked_api(server.url, timeout=60) as call:
        yield call


def ask(api, url, question=ENTRY["question_en"], status=200, **fields):
    content = [{"type": "image_url", "image_url": {"url": url}}, {"type": "text", "text": question}]
    return api("POST", "/v1/chat/completions", status,
               json={"messages": [{"role": "user", "content": content}], "temperature": 0, **fields})


def test_the_ways_to_upload_give_one_id(api):
    raw = api("POST", "/v1/images", 200, content=PICTURE, headers={"content-type": "image/png"})
    encoded = base64.b64encode(PICTURE).decode()
    as_json = api("POST", "/v1/images", 200, json={"image": "data:image/png;base64," + encoded})
    form = api("POST", "/v1/images", 200, files={"file": ("x.png", PICTURE, "image/png")})
    assert raw["id"] == as_json["id"] == form["id"]
    with Image.open(io.BytesIO(PICTURE)) as picture:
        assert (raw["width"], raw["height"], raw["kind"]) == (*picture.size, "PNG")
    assert raw["bytes"] == len(PICTURE) and raw["url"] == "saccade-image:" + raw["id"]
    assert api("GET", "/v1/images/" + raw["id"], 200) == raw


def test_questions_about_an_uploaded_picture_upload_nothing(api):
    url = api("POST", "/v1/images", 200, content=PICTURE)["url"]
    assert ask(api, url)["choices"][0]["message"]["content"] == ENTRY["answer_en"]
    body = json.dumps({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}]})
    assert len(body) < 2000
    again = ask(api, url, ENTRY["question_zh"])
    assert again["choices"][0]["message"]["content"] == ENTRY["answer_zh"]


def test_unknown_and_forgotten_ids_are_named(api):
    error = ask(api, "saccade-image:img_0123", status=404)["error"]
    assert error["param"] == "messages[0].content[0].image_url" and "upload it again" in error["message"]
    kept = api("POST", "/v1/images", 200, content=PICTURE)
    assert api("DELETE", "/v1/images/" + kept["id"], 200)["deleted"] is True
    api("DELETE", "/v1/images/" + kept["id"], 404)
    api("GET", "/v1/images/" + kept["id"], 404)
    ask(api, kept["url"], status=404)


@pytest.mark.parametrize("keywords, param", [
    ({"content": b""}, "image"), ({"content": b"not a picture"}, "image"), ({"content": PICTURE[:30]}, "image"),
    ({"json": {}}, "image"), ({"json": {"image": "!"}}, "image"), ({"json": {"image": "http://127.0.0.1/x.png"}}, "image"),
])
def test_what_is_no_picture_is_not_kept(api, keywords, param):
    assert api("POST", "/v1/images", 400, **keywords)["error"]["param"] == param


def test_the_store_is_bounded():
    running = Server("--upload-mb", "1")
    try:
        with httpx.Client(base_url=running.url, timeout=60) as client:
            first = client.post("/v1/images", content=PICTURE).json()
            for _ in range(2):
                big = io.BytesIO()
                Image.effect_noise((700, 480), 50).convert("RGB").save(big, "PNG", compress_level=0)
                assert client.post("/v1/images", content=big.getvalue()).status_code == 200
            assert client.get("/v1/images/" + first["id"]).status_code == 404
    finally:
        assert running.stop() == 0


def test_boxes_field_is_there_and_its_values_are_checked(api):
    encoded = "data:image/png;base64," + base64.b64encode(PICTURE).decode()
    assert ask(api, encoded, boxes="pixels")["choices"][0]["message"]["boxes"] == []
    assert "boxes" not in ask(api, encoded, boxes="model")["choices"][0]["message"]
    assert ask(api, encoded, boxes="metres", status=400)["error"]["param"] == "boxes"
