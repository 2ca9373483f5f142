"""saccade serve as its users meet it: health, models, chat with the real openai client, the page."""
import base64
import json
import urllib.error
import urllib.request

import openai
import pytest
from conftest import ROOT, GOLDEN, Server

EXAMPLES = ROOT / "examples"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))


def get(server, path):
    with urllib.request.urlopen(server.url + path, timeout=30) as reply:
        return reply.status, reply.headers, reply.read()


def data_url(path):
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def picture_message(path, question):
    return [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": data_url(path)}},
                                         {"type": "text", "text": question}]}]


@pytest.fixture(scope="module")
def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def test_health_ready_and_models(server, client):
    assert get(server, "/healthz")[0] == 200
    assert get(server, "/readyz")[0] == 200
    assert [model.id for model in client.models.list()] == ["demo"]


def test_chat_answers_whole_and_streamed_alike(client):
    entry = QUESTIONS[0]
    messages = picture_message(EXAMPLES / entry["file"], entry["question_en"])
    whole = client.chat.completions.create(model="default", messages=messages, temperature=0)
    assert whole.choices[0].message.content == entry["answer_en"]
    assert whole.choices[0].finish_reason == "stop"
    assert whole.usage.prompt_tokens > 0 and whole.usage.completion_tokens > 0
    text, usage = "", None
    for event in client.chat.completions.create(model="demo", messages=messages, temperature=0, stream=True,
                                                stream_options={"include_usage": True}):
        usage = event.usage or usage
        if event.choices:
            text += event.choices[0].delta.content or ""
    assert text == entry["answer_en"] and usage.total_tokens == whole.usage.total_tokens


def test_a_conversation_goes_on(client):
    entry = QUESTIONS[0]
    messages = picture_message(EXAMPLES / entry["file"], entry["question_en"])
    messages += [{"role": "assistant", "content": entry["answer_en"]}, {"role": "user", "content": entry["question_zh"]}]
    reply = client.chat.completions.create(model="default", messages=messages, temperature=0, max_tokens=20)
    assert reply.choices[0].message.content


@pytest.mark.parametrize("messages, fields, status, param", [
    ([], {}, 400, "messages"),
    ([{"role": "user", "content": "x"}], {"temperature": -1}, 400, "temperature"),
    ([{"role": "user", "content": "x"}], {"max_tokens": 0}, 400, "max_tokens"),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "http://127.0.0.1/x.png"}}]}], {}, 400,
     "messages[0].content[0].image_url"),
    ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]}], {}, 400,
     "messages[0].content[0].image_url"),
])
def test_errors_name_the_part_at_fault(client, messages, fields, status, param):
    with pytest.raises(openai.APIStatusError) as raised:
        client.chat.completions.create(model="default", messages=messages, extra_body=fields)
    assert raised.value.status_code == status
    assert raised.value.body["param"].startswith(param), raised.value.body


def test_every_broken_picture_gets_400(client):
    for path in sorted((GOLDEN / "bad_images").iterdir()):
        with pytest.raises(openai.BadRequestError):
            client.chat.completions.create(model="default", messages=picture_message(path, "?"))


def test_an_unknown_model_is_404(client):
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.create(model="other", messages=[{"role": "user", "content": "x"}])


def test_the_page_is_served_with_a_strict_policy(server):
    status, headers, body = get(server, "/")
    assert status == 200 and b"<html" in body
    assert "'unsafe-inline'" not in headers["Content-Security-Policy"]
    with pytest.raises(urllib.error.HTTPError) as raised:
        get(server, "/no-such-page")
    assert raised.value.code == 404


def test_sigterm_stops_the_server():
    assert Server("--model", GOLDEN / "tiny-dense").stop() == 0


def test_an_overlong_prompt_says_how_many_tokens_fit(client):
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model="default", messages=[{"role": "user", "content": "7 " * 9000}])
    assert "tokens" in str(raised.value)
