"""Too many clients, clients that leave, and a server that is told to stop."""
import json
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from urllib.parse import urlparse

import openai
import pytest

from api_schema import httpx
from conftest import GOLDEN, ROOT, Server, wait_until

MODEL = ("--model", GOLDEN / "tiny-dense")
LOAD = ROOT / "benchmarks" / "serve" / "load.py"
LONG = {"model": "default", "messages": [{"role": "user", "content": "tell me everything"}], "stream": True,
        "extra_body": {"ignore_eos": True}}


def metric(server, name):
    for line in httpx.get(server.url + "/metrics", timeout=60).text.splitlines():
        if line.startswith(name + " "):
            return float(line.split()[1])
    raise KeyError(name)


def load(server, *arguments):
    done = subprocess.run([sys.executable, LOAD, "--url", server.url, "--pid", str(server.process.pid), *map(str, arguments)],
                          capture_output=True, text=True, timeout=600, check=False)
    return done.returncode, [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def client(server):
    return openai.OpenAI(base_url=server.url + "/v1", api_key="none", max_retries=0)


def test_clients_that_leave_at_any_moment_leave_nothing_behind():
    server = Server(*MODEL, "--max-running", "4")
    try:
        address = urlparse(server.url)
        body = json.dumps({"messages": [{"role": "user", "content": "hello"}], "max_tokens": 200, "stream": True,
                           "ignore_eos": True}).encode()
        request = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n\r\n" % len(body) + body

        def leave(seed):
            chance = random.Random(seed)
            with socket.create_connection((address.hostname, address.port), timeout=60) as connection:
                sent = len(request) if chance.random() < 0.7 else chance.randrange(len(request))
                connection.sendall(request[:sent])
                time.sleep(chance.random() * 0.2)
                if sent == len(request) and chance.random() < 0.5:
                    connection.recv(chance.randrange(1, 4096))

        for batch in range(10):
            threads = [threading.Thread(target=leave, args=(batch * 50 + i,)) for i in range(50)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
        for name in ("saccade_requests_running", "saccade_requests_waiting", "saccade_kv_pages_used"):
            wait_until(lambda name=name: metric(server, name) == 0, 60)
        wait_until(lambda: metric(server, "saccade_http_connections") == 1, 60)
        assert client(server).chat.completions.create(**{**LONG, "stream": False}, max_tokens=3).usage.completion_tokens == 3
    finally:
        assert server.stop() == 0


def test_a_burst_is_answered_or_refused_and_nothing_in_between():
    server = Server(*MODEL, "--max-waiting", "32", "--max-running", "4")
    try:
        code, (line,), err = load(server, "--max-tokens", 20, "--ignore-eos", "burst", "--requests", 200)
        assert code == 0, (line, err)
        assert line["failed"] == 0
        assert line["requests"] + line["refused"] == 200 and line["requests"] >= 32 and line["refused"] > 0
        assert metric(server, 'saccade_requests_refused_total{reason="queue_full"}') == line["refused"]
    finally:
        assert server.stop() == 0


def test_mixed_requests_all_finish():
    server = Server(*MODEL)
    try:
        code, (line,), err = load(server, "--max-tokens", 8, "soak", "--requests", 60, "--max-growth", 10)
        assert code == 0 and line["failed"] == 0, (line, err)
        assert metric(server, "saccade_kv_pages_used") == 0
    finally:
        assert server.stop() == 0


def test_sigterm_lets_running_answers_finish_and_takes_no_new_ones():
    server = Server(*MODEL)
    stream = iter(client(server).chat.completions.create(**LONG, max_tokens=300))
    next(stream)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "stopping" in server.log_text(), 60)

    def refused():
        try:
            client(server).with_options(timeout=5).chat.completions.create(**LONG, max_tokens=1)
        except (openai.APIConnectionError, openai.InternalServerError):
            return True
        return False
    wait_until(refused, 60)
    reasons = [event.choices[0].finish_reason for event in stream]
    assert reasons[-1] == "length"
    assert server.process.wait(30) == 0
    server.stop()


def test_a_second_signal_stops_at_once_with_a_last_message():
    server = Server(*MODEL, "--drain-seconds", "600", "--kv-tokens", "40000")
    stream = iter(client(server).chat.completions.create(**LONG, max_tokens=100000))
    next(stream)
    server.process.send_signal(signal.SIGTERM)
    wait_until(lambda: "stopping" in server.log_text(), 60)
    server.process.send_signal(signal.SIGTERM)
    with pytest.raises(openai.APIError) as raised:
        for _ in stream:
            pass
    assert "stopping" in str(raised.value)
    assert server.process.wait(30) == 0
    server.stop()


def test_a_timeout_ends_an_answer_and_frees_its_pages():
    server = Server(*MODEL)
    try:
        with pytest.raises(openai.APIStatusError) as raised:
            client(server).chat.completions.create(**{**LONG, "stream": False}, max_tokens=100000,
                                                   extra_headers={"x-request-timeout": "0.3"})
        assert raised.value.status_code == 504 and raised.value.body["code"] == "deadline_exceeded"
        wait_until(lambda: metric(server, "saccade_kv_pages_used") == 0, 60)
    finally:
        assert server.stop() == 0
