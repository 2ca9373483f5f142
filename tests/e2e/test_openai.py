"""The real openai client against saccade serve. Every reply is validated against /openapi.json."""
import asyncio
import base64
import io
import json
import threading

import openai
import pytest
from PIL import Image, ImageDraw

from api_schema import CheckedTransport, Schema, httpx
from conftest import ROOT, wait_until

EXAMPLES = ROOT / "examples"
QUESTION = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))[0]


@pytest.fixture(scope="module")
def transport(server):
    return CheckedTransport(Schema(server.url))


@pytest.fixture(scope="module")
def client(server, transport):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0,
                         http_client=httpx.Client(transport=transport))


def text(content):
    return [{"role": "user", "content": content}]


def picture_part(data, **fields):
    return {"type": "image_url", "image_url": {"url": data, **fields}}


def base64_of(path):
    return base64.b64encode(path.read_bytes()).decode()


def drawn(size, color="red"):
    picture = Image.new("RGB", size, "white")
    ImageDraw.Draw(picture).rectangle([5, 5, size[0] // 2, size[1] // 2], fill=color)
    out = io.BytesIO()
    picture.save(out, "PNG")
    return "data:image/png;base64," + base64.b64encode(out.getvalue()).decode()


def ask(client, content, **fields):
    fields = {"model": "default", "temperature": 0, "max_tokens": 24, **fields}
    return client.chat.completions.create(messages=text(content), **fields)


def ready(server):
    return httpx.get(server.url + "/readyz", timeout=30).json()


def wait_until_idle(server):
    wait_until(lambda: (ready(server)["running"], ready(server)["waiting"]) == (0, 0))


def long_answer(**fields):
    """A request that goes on for much longer than any test waits."""
    return {"model": "default", "messages": text("tell me everything"), "max_tokens": 4000, "stream": True,
            "extra_body": {"ignore_eos": True}, **fields}


# ---- pictures

def test_every_spelling_of_a_picture_gives_the_same_answer(client):
    plain = base64_of(EXAMPLES / QUESTION["file"])
    spellings = {
        "data URL": picture_part("data:image/png;base64," + plain),
        "bare base64": picture_part(plain),
        "no subtype": picture_part("data:image;base64," + plain),
        "url-safe": picture_part("data:image/png;base64," + plain.replace("+", "-").replace("/", "_")),
        "line breaks": picture_part("data:image/png;base64," + "\r\n".join(plain[i:i + 76] for i in range(0, len(plain), 76))),
        "space after the comma": picture_part("data:image/png;base64, " + plain),
        "no padding": picture_part(plain.rstrip("=")),
        "a string, not an object": {"type": "image_url", "image_url": "data:image/png;base64," + plain},
    }
    for name, part in spellings.items():
        reply = ask(client, [part, {"type": "text", "text": QUESTION["question_en"]}])
        assert reply.choices[0].message.content == QUESTION["answer_en"], name
        assert reply.usage.prompt_tokens_details.image_tokens > 0, name


def test_several_pictures_count_in_order(client):
    one = ask(client, [picture_part(drawn((320, 320)))]).usage.prompt_tokens_details.image_tokens
    both = ask(client, [picture_part(drawn((320, 320))), {"type": "text", "text": "and"}, picture_part(drawn((640, 320), "blue"))])
    other = ask(client, [picture_part(drawn((640, 320), "blue"))]).usage.prompt_tokens_details.image_tokens
    assert both.usage.prompt_tokens_details.image_tokens == one + other
    assert both.usage.prompt_tokens_details.image_tokens < both.usage.prompt_tokens


def test_detail_and_pixels_change_the_cost(client):
    def cost(**fields):
        reply = ask(client, [picture_part(drawn((1024, 768)), **fields)], max_tokens=1, extra_body={"max_pixels": 1 << 20})
        return reply.usage.prompt_tokens_details.image_tokens
    assert cost(detail="high") == cost(detail="auto") == cost()
    assert cost(detail="low") < cost()
    assert cost(max_pixels=200 * 200) < cost(detail="low")
    small = drawn((64, 64))
    grown = ask(client, [picture_part(small)], max_tokens=1, extra_body={"min_pixels": 512 * 512})
    assert grown.usage.prompt_tokens_details.image_tokens > ask(client, [picture_part(small)], max_tokens=1).usage.prompt_tokens_details.image_tokens


def test_auto_fit_answers_what_is_refused_without(client, server):
    context = client.models.retrieve("default").model_extra["context_tokens"]
    pictures = [picture_part(drawn((1600 + 32 * i, 1600))) for i in range(2)]
    side = int((context * 1024) ** 0.5)  # of a picture that alone takes the whole context
    big = {"min_pixels": side * side, "max_pixels": 4 * side * side}
    with pytest.raises(openai.BadRequestError) as raised:
        ask(client, pictures, extra_body=big)
    assert "tokens" in raised.value.message
    reply = httpx.post(server.url + "/v1/estimate", timeout=60,
                       json={"messages": text(pictures), "max_tokens": 8, "auto_fit": True, **big}).json()
    assert context // 2 < reply["prompt_tokens"] <= context - 8
    assert len(reply["pictures"]) == 2 and reply["memory_bytes"]["kv_cache"] > 0


def test_a_second_question_finds_the_prompt_in_the_cache(client):
    picture = picture_part(drawn((640, 480), "green"))
    first = ask(client, [picture, {"type": "text", "text": "What is this?"}])
    again = ask(client, [picture, {"type": "text", "text": "What color is it?"}])
    assert again.usage.prompt_tokens_details.cached_tokens > first.usage.prompt_tokens_details.image_tokens // 2


# ---- forms of answers

def collect(events):
    texts, reasons, usage = {}, {}, None
    for event in events:
        usage = event.usage or usage
        for choice in event.choices:
            texts[choice.index] = texts.get(choice.index, "") + (choice.delta.content or "")
            reasons[choice.index] = choice.finish_reason or reasons.get(choice.index)
    return texts, reasons, usage


def test_stream_and_whole_give_the_same_for_every_choice(client):
    fields = {"n": 3, "seed": 7, "temperature": 1.5, "max_tokens": 12, "extra_body": {"ignore_eos": True}}
    whole = ask(client, "Hello", **fields)
    texts, reasons, usage = collect(ask(client, "Hello", stream=True, stream_options={"include_usage": True}, **fields))
    assert [choice.index for choice in whole.choices] == [0, 1, 2]
    assert {choice.index: choice.message.content for choice in whole.choices} == texts
    assert len(set(texts.values())) > 1, "all choices are alike"
    assert set(reasons.values()) == {"length"}
    assert usage.completion_tokens == whole.usage.completion_tokens == 36
    assert usage.prompt_tokens == whole.usage.prompt_tokens == ask(client, "Hello").usage.prompt_tokens


def test_progress_is_reported_in_chunks_on_request(client):
    stages = set()
    reply = ask(client, [picture_part(drawn((999, 777), "orange"))], stream=True,
                stream_options={"include_usage": True, "include_progress": True})
    for event in reply:
        progress = (event.model_extra or {}).get("progress")
        if progress:
            stages.add(progress["stage"])
    assert "encoding" in stages


def test_logprobs(client):
    reply = ask(client, "Hello", logprobs=True, top_logprobs=3, max_tokens=5)
    entries = reply.choices[0].logprobs.content
    assert len(entries) == reply.usage.completion_tokens
    for entry in entries:
        assert len(entry.top_logprobs) == 3 and entry.logprob <= 0
        assert entry.token == entry.top_logprobs[0].token  # greedy
    assert b"".join(bytes(entry.bytes) for entry in entries).decode() == reply.choices[0].message.content


def test_stop_and_length(client):
    whole = ask(client, "Hello", max_tokens=8, extra_body={"ignore_eos": True})
    assert whole.choices[0].finish_reason == "length" and whole.usage.completion_tokens == 8
    content = whole.choices[0].message.content
    stop = content[len(content) // 2]
    cut = ask(client, "Hello", max_tokens=8, stop=[stop], extra_body={"ignore_eos": True})
    assert cut.choices[0].finish_reason == "stop"
    assert cut.choices[0].message.content == content[:content.index(stop)]


def test_text_completions(client):
    prompt = "The picture shows"
    whole = client.completions.create(model="default", prompt=prompt, temperature=0, max_tokens=6, logprobs=2)
    assert whole.object == "text_completion" and whole.usage.completion_tokens <= 6
    assert whole.choices[0].logprobs.text_offset[0] == 0
    streamed = "".join(event.choices[0].text for event in client.completions.create(
        model="default", prompt=prompt, temperature=0, max_tokens=6, stream=True))
    assert streamed == whole.choices[0].text
    tokens = httpx.post(str(client.base_url.join("/tokenize")), json={"prompt": prompt}).json()["tokens"]
    two = client.completions.create(model="default", prompt=[tokens, [tokens[0]]], temperature=0, max_tokens=6)
    assert len(two.choices) == 2 and two.choices[0].text == whole.choices[0].text


def test_tokens_there_and_back(server, transport):
    with httpx.Client(transport=transport, base_url=server.url) as http:
        for sample in ["Hello", "你好,世界", "<|im_end|>", " a\n\n\tb ", "😀"]:
            reply = http.post("/tokenize", json={"prompt": sample, "return_token_strs": True}).json()
            assert reply["count"] == len(reply["tokens"]) == len(reply["token_strs"])
            assert http.post("/detokenize", json={"tokens": reply["tokens"]}).json() == {"prompt": sample}
        assert http.post("/tokenize", json={"prompt": "<|im_end|>"}).json()["count"] > 1
        assert http.post("/tokenize", json={"prompt": "<|im_end|>", "parse_special": True}).json()["count"] == 1


def test_an_estimate_is_what_the_request_takes(client, server, transport):
    content = [picture_part(drawn((700, 500))), {"type": "text", "text": "What is this?"}]
    with httpx.Client(transport=transport, base_url=server.url) as http:
        estimate = http.post("/v1/estimate", json={"messages": text(content), "max_tokens": 4}).json()
    usage = ask(client, content, max_tokens=4).usage
    assert estimate["prompt_tokens"] == usage.prompt_tokens
    assert estimate["image_tokens"] == usage.prompt_tokens_details.image_tokens
    assert estimate["max_completion_tokens"] == 4


def test_models_and_request_ids(client):
    assert client.models.retrieve("demo").id == client.models.retrieve("default").id == "demo"
    raw = client.chat.completions.with_raw_response.create(
        model="default", messages=text("Hello"), max_tokens=1, extra_headers={"x-request-id": "my-own-id"})
    assert raw.headers["x-request-id"] == raw.parse()._request_id == "my-own-id"


# ---- errors

@pytest.mark.parametrize("fields, error, param", [
    ({"tools": [{"type": "function", "function": {"name": "f"}}]}, openai.BadRequestError, "tools"),
    ({"response_format": {"type": "json_object"}}, openai.BadRequestError, "response_format"),
    ({"n": 0}, openai.BadRequestError, "n"),
    ({"n": 17}, openai.BadRequestError, "n"),
    ({"top_logprobs": 3}, openai.BadRequestError, "top_logprobs"),
    ({"temperature": 2.5}, openai.BadRequestError, "temperature"),
    ({"stream_options": {"include_progress": 1}}, openai.BadRequestError, "stream_options.include_progress"),
    ({"model": "gpt-4o"}, openai.NotFoundError, "model"),
    ({"messages": text([picture_part("https://example.org/a.png")])}, openai.BadRequestError, "messages[0].content[0].image_url"),
    ({"messages": text([picture_part("data:image/png;base64,!!!!")])}, openai.BadRequestError, "messages[0].content[0].image_url"),
    ({"messages": text([picture_part(drawn((40, 40)), detail="best")])}, openai.BadRequestError, "messages[0].content[0].image_url.detail"),
    ({"messages": [{"role": "robot", "content": "x"}]}, openai.BadRequestError, "messages[0].role"),
])
def test_errors(client, fields, error, param):
    with pytest.raises(error) as raised:
        client.chat.completions.create(**{"model": "default", "messages": text("x"), **fields})
    assert raised.value.param == param, raised.value.body


# ---- ends

def test_closing_a_stream_stops_the_answer(client, server):
    stream = client.chat.completions.create(**long_answer())
    next(iter(stream))
    assert ready(server)["running"] == 1
    stream.close()
    wait_until_idle(server)


def test_a_client_timeout_stops_the_answer(client, server):
    with pytest.raises(openai.APITimeoutError):
        client.with_options(timeout=0.2).chat.completions.create(**long_answer(stream=False))
    wait_until_idle(server)


def test_delete_stops_the_answer(client, server):
    stream = client.chat.completions.create(**long_answer())
    events = iter(stream)
    deleted = client.chat.completions.delete(next(events).id)
    assert deleted.deleted is True
    with pytest.raises(openai.APIError) as raised:
        for _ in events:
            pass
    assert raised.value.code == "cancelled"
    wait_until_idle(server)
    with pytest.raises(openai.NotFoundError):
        client.chat.completions.delete("chatcmpl-unknown")


def test_many_at_once_and_async(server):
    async def run():
        async with openai.AsyncOpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0) as client:
            async def one(i):
                reply = await client.chat.completions.create(
                    model="default", messages=text(f"Hello {i % 4}"), temperature=0, max_tokens=8)
                return reply.choices[0].message.content
            return await asyncio.gather(*(one(i) for i in range(24)))
    answers = asyncio.run(run())
    for i, answer in enumerate(answers):
        assert answer == answers[i % 4]
    wait_until_idle(server)


def test_a_full_queue_says_429_and_when_to_come_back():
    from conftest import GOLDEN, Server
    small = Server("--model", GOLDEN / "tiny-dense", "--max-running", "1", "--max-waiting", "1", "--threads", "1")
    try:
        client = openai.OpenAI(base_url=small.url + "/v1", api_key="none", max_retries=0)
        stream = client.chat.completions.create(**long_answer(max_tokens=100000))
        next(iter(stream))
        waiting = threading.Thread(target=lambda: client.chat.completions.create(model="default", messages=text("x"), max_tokens=1))
        waiting.start()
        wait_until(lambda: ready(small)["waiting"] == 1)
        with pytest.raises(openai.RateLimitError) as raised:
            client.chat.completions.create(model="default", messages=text("x"), max_tokens=1)
        assert int(raised.value.response.headers["retry-after"]) >= 1
        stream.close()
        waiting.join(30)
        assert not waiting.is_alive()
    finally:
        small.stop()


def test_replies_were_validated(transport):
    assert transport.checked > 50
