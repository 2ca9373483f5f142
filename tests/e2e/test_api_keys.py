"""saccade key and saccade serve --api-keys: who gets in, what is logged, where the server listens."""
import json
import time

import openai
import pytest

from api_schema import httpx
from conftest import GOLDEN, Server, run

MODEL = ("--model", GOLDEN / "tiny-dense")


@pytest.fixture(scope="module")
def key_file(tmp_path_factory):
    return tmp_path_factory.mktemp("keys") / "keys.txt"


@pytest.fixture(scope="module")
def keys(key_file):
    made = {}
    for name, limits in {"plain": [], "narrow": ["max-concurrent=1"], "slow": ["requests-per-minute=2"]}.items():
        code, out, err = run("key", name, *limits, "--file", key_file)
        assert code == 0, err
        made[name] = out.strip()
    assert not any(key in key_file.read_text() for key in made.values())
    assert key_file.stat().st_mode & 0o077 == 0
    return made


@pytest.fixture(scope="module")
def guarded(keys, key_file):
    server = Server(*MODEL, "--api-keys", key_file)
    yield server
    assert server.stop() == 0


def client(server, key):
    return openai.OpenAI(base_url=server.url + "/v1", api_key=key, max_retries=0)


def ask(server, key, content="hello", **fields):
    return client(server, key).chat.completions.create(
        **{"model": "default", "messages": [{"role": "user", "content": content}], "max_tokens": 2, "temperature": 0, **fields})


def test_only_keys_get_in(guarded, keys):
    assert ask(guarded, keys["plain"]).usage.completion_tokens > 0
    for wrong in ("none", keys["plain"][:-1], keys["plain"].upper()):
        with pytest.raises(openai.AuthenticationError):
            ask(guarded, wrong)
    assert httpx.post(guarded.url + "/v1/chat/completions", content=b"{").status_code == 401  # before the body is read
    assert httpx.get(guarded.url + "/v1/models", headers={"x-api-key": keys["plain"]}).status_code == 200
    for path, status in {"/healthz": 200, "/readyz": 200, "/": 200, "/openapi.json": 200, "/metrics": 401, "/v1/models": 401}.items():
        assert httpx.get(guarded.url + path).status_code == status, path


def test_tenants_do_not_share_caches(guarded, keys):
    prompt = "a prompt of its own " * 20
    first = ask(guarded, keys["plain"], prompt).usage.prompt_tokens_details.cached_tokens
    again = ask(guarded, keys["plain"], prompt).usage.prompt_tokens_details.cached_tokens
    other = ask(guarded, keys["narrow"], prompt).usage.prompt_tokens_details.cached_tokens
    assert first < 8 and again > 64  # at most the opening mark of an earlier request
    assert other == 0


def test_limits_of_a_key(guarded, keys):
    stream = ask(guarded, keys["narrow"], stream=True, max_tokens=4000, extra_body={"ignore_eos": True})
    next(iter(stream))
    with pytest.raises(openai.RateLimitError) as raised:
        ask(guarded, keys["narrow"])
    assert raised.value.response.headers["retry-after"] == "1"
    assert ask(guarded, keys["plain"]).usage.completion_tokens > 0
    stream.close()
    for _ in range(5):  # one after another is one at once
        deadline = time.monotonic() + 20
        while True:
            try:
                ask(guarded, keys["narrow"])
                break
            except openai.RateLimitError:
                assert time.monotonic() < deadline
    with pytest.raises(openai.RateLimitError) as raised:
        for _ in range(3):
            ask(guarded, keys["slow"])
    assert 1 <= int(raised.value.response.headers["retry-after"]) <= 30


def test_a_new_key_counts_without_a_restart(guarded, key_file):
    code, out, err = run("key", "late", "--file", key_file)
    assert code == 0, err
    deadline = time.monotonic() + 20
    while True:
        try:
            assert ask(guarded, out.strip()).usage.completion_tokens > 0
            return
        except openai.AuthenticationError:
            assert time.monotonic() < deadline, "the new key was never read"
            time.sleep(0.1)


def test_the_log_has_numbers_and_names_but_no_contents(guarded, keys):
    ask(guarded, keys["plain"], "a very private question", extra_headers={"x-request-id": "logged-1"})
    deadline = time.monotonic() + 20
    while '"id":"logged-1"' not in guarded.log_text():
        assert time.monotonic() < deadline
    lines = [json.loads(line) for line in guarded.log_text().splitlines() if line.startswith("{")]
    line = next(line for line in lines if line.get("id") == "logged-1")
    assert line["key"] == "plain" and line["status"] == 200 and line["completion_tokens"] == 2
    for name in ("ms", "queue_ms", "prefill_ms", "decode_ms", "vision_ms", "first_token_ms"):
        assert isinstance(line[name], (int, float)), name
    text = guarded.log_text()
    assert "private" not in text and not any(key in text for key in keys.values())


def test_metrics_have_what_an_operator_needs(guarded, keys):
    text = httpx.get(guarded.url + "/metrics", headers={"authorization": "Bearer " + keys["plain"]}).text
    for name in ("saccade_queue_seconds", "saccade_time_to_first_token_seconds", "saccade_token_gap_seconds",
                 "saccade_batch_width", "saccade_vision_seconds", "saccade_picture_seconds"):
        assert f"# TYPE {name} histogram" in text and f'{name}_bucket{{le="+Inf"}}' in text, name
    for line in ('saccade_requests_refused_total{reason="unauthenticated"}', 'saccade_requests_refused_total{reason="api_key_limit"}',
                 "process_resident_memory_bytes", "saccade_requests_waiting"):
        assert line in text, line
    width = float(text.split("saccade_batch_width_count ")[1].split()[0])
    assert width > 0


def test_an_open_port_needs_keys_or_a_word(key_file, keys):
    code, _, err = run("serve", *MODEL, "--host", "0.0.0.0", "--port", "0")
    assert code == 2 and "--api-keys" in err and "--insecure-bind" in err
    for arguments in (("--insecure-bind",), ("--api-keys", key_file)):
        assert Server(*MODEL, "--host", "0.0.0.0", *arguments).stop() == 0
    code, _, err = run("serve", *MODEL, "--port", "0", "--api-keys", key_file.with_name("none"))
    assert code != 0 and "none" in err
