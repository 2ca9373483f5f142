"""Durable tasks as clients meet them: accepted, polled, streamed, cancelled, killed with the server and finished."""
import base64
import functools
import json
import random
import re
import signal
import subprocess
import sys
import time
import uuid

import pytest
from api_schema import CheckedTransport, Schema, httpx
from conftest import BINARY, GOLDEN, ROOT, Server, run, wait_until

EXAMPLES = ROOT / "examples"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
FINAL = {"done", "failed", "cancelled", "expired"}
PATIENCE = 120


def data_url(path):
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()


def question_body(entry, **fields):
    return {"question": entry["question_en"], "image": data_url(EXAMPLES / entry["file"]), "temperature": 0, **fields}


wait_for = functools.partial(wait_until, seconds=PATIENCE)


class Client:
    """Every reply is checked against /openapi.json."""

    def __init__(self, server):
        self.http = httpx.Client(base_url=server.url, transport=CheckedTransport(Schema(server.url)), timeout=60)

    def submit(self, status=202, **keywords):
        reply = self.http.post("/api/task", **keywords)
        assert reply.status_code == status, reply.text
        return reply.json()

    def get(self, task_id):
        reply = self.http.get(f"/api/task/{task_id}")
        assert reply.status_code == 200, reply.text
        return reply.json()

    def end_of(self, task_id):
        return wait_for(lambda: (task := self.get(task_id))["status"] in FINAL and task)

    def counts(self):
        return self.http.get("/api/tasks").json()["counts"]


def events_of(reply):
    """(id, event, data) of a stream."""
    fields = {}
    for line in reply.iter_lines():
        if not line and fields:
            yield fields.get("id"), fields["event"], json.loads(fields["data"])
            fields = {}
        elif line and not line.startswith(":"):
            name, _, value = line.partition(": ")
            fields[name] = value


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory):
    return tmp_path_factory.mktemp("tasks")


@pytest.fixture(scope="module")
def task_server(data_dir):
    server = Server("--data-dir", data_dir)
    yield server
    assert server.stop() == 0


@pytest.fixture(scope="module")
def client(task_server):
    return Client(task_server)


def spool_of(data_dir):
    return list((data_dir / "spool").iterdir())


@pytest.mark.parametrize("form", ["json", "messages", "multipart"])
def test_a_task_is_answered_like_a_chat(client, form):
    entry = QUESTIONS[0]
    path = EXAMPLES / entry["file"]
    if form == "json":
        request = {"json": question_body(entry)}
    elif form == "messages":
        request = {"json": {"temperature": 0, "messages": [{"role": "user", "content": [
            {"type": "image_url", "image_url": {"url": data_url(path)}}, {"type": "text", "text": entry["question_en"]}]}]}}
    else:
        request = {"data": {"question": entry["question_en"], "temperature": "0"},
                   "files": {"image": (path.name, path.read_bytes(), "image/png")}}
    accepted = client.submit(**request)
    assert accepted["status"] == "queued" and accepted["created"]
    task = client.end_of(accepted["task_id"])
    assert task["status"] == "done" and task["answer"] == entry["answer_en"]
    assert task["result"]["usage"]["completion_tokens"] > 0 and task["attempts"] == 1
    assert task["created_at"] <= task["started_at"] <= task["finished_at"]


def test_mistakes_are_refused_at_once(client):
    for body, param in [({}, "messages"), ({"question": "x", "temperature": 9}, "temperature"),
                        ({"question": "x", "priority": "high"}, "priority"),
                        ({"question": "x", "deadline": -1}, "deadline"),
                        ({"question": "x", "model": "other"}, "model"),
                        ({"question": "x", "image": "data:image/png;base64,AAAA"}, "messages[0].content[0].image_url")]:
        reply = client.http.post("/api/task", json=body)
        assert reply.status_code in (400, 404) and reply.json()["error"]["param"] == param, reply.text
    assert client.http.post("/api/task", content=b"{").status_code == 400
    assert client.http.post("/api/task", content=b"--x\r\n", headers={"content-type": "multipart/form-data; boundary=x"}
                            ).status_code == 400
    assert client.http.get("/api/task/task_unknown").status_code == 404
    assert client.http.get("/api/tasks?status=lost").status_code == 400


def test_a_picture_that_cannot_be_decoded_fails_the_task(client, data_dir):
    picture = (EXAMPLES / QUESTIONS[0]["file"]).read_bytes()
    broken = picture[:len(picture) // 2]
    task = client.end_of(client.submit(data={"question": "?"}, files={"image": ("a.png", broken)})["task_id"])
    assert task["status"] == "failed" and task["error"]["code"] == "invalid_argument"
    assert task["error"]["param"] == "messages[0].content[0].image_url"
    wait_for(lambda: not spool_of(data_dir))


def test_the_same_idempotency_key_is_one_task(client):
    key = uuid.uuid4().hex
    first = client.submit(json={"question": "Hello", "max_tokens": 4, "idempotency_key": key})
    again = client.submit(json={"question": "Hello", "max_tokens": 4, "idempotency_key": key})
    assert again["task_id"] == first["task_id"] and first["created"] and not again["created"]
    assert client.end_of(first["task_id"])["status"] == "done"


def occupy(client, tokens=300, count=18):
    """Long answers before everything that is submitted later; ids of the tasks."""
    ids = [client.submit(json={"question": f"Count {i}", "max_tokens": tokens, "ignore_eos": True})["task_id"]
           for i in range(count)]
    wait_for(lambda: client.get(ids[0])["status"] != "queued")
    return ids


def test_cancel_in_every_state_priority_and_deadline(client):
    running = occupy(client, tokens=3000)
    late = client.submit(json={"question": "late", "deadline": 0.05})["task_id"]
    low, high = (client.submit(json={"question": "x", "max_tokens": 2, "priority": p})["task_id"] for p in (0, 5))
    assert client.get(low)["position"] > client.get(high)["position"]
    cancelled = client.submit(json={"question": "x"})["task_id"]
    assert client.http.delete(f"/api/task/{cancelled}").json()["status"] == "cancelled"
    expired = client.end_of(late)
    assert expired["status"] == "expired" and expired["attempts"] == 0
    assert client.get(running[0])["progress"]["stage"] in ("preparing", "queued", "prefill", "answering")
    for task_id in running:
        assert client.http.delete(f"/api/task/{task_id}").json()["status"] == "cancelled"
    done = client.end_of(low)
    assert client.http.delete(f"/api/task/{low}").json()["answer"] == done["answer"]
    assert client.end_of(high)["finished_at"] <= done["finished_at"]
    assert client.get(cancelled)["status"] == "cancelled" and client.get(running[0])["status"] == "cancelled"


def test_lists_come_in_pages(client):
    ids = [client.submit(json={"question": "x", "max_tokens": 1})["task_id"] for _ in range(5)]
    for task_id in ids:
        client.end_of(task_id)
    seen, after = [], ""
    while True:
        page = client.http.get(f"/api/tasks?status=done&limit=2&after={after}").json()
        seen += [task["task_id"] for task in page["data"]]
        if not (after := page["next"]):
            break
    assert seen[:5] == ids[::-1] and len(seen) == len(set(seen)) == page["counts"]["done"]


def test_events_follow_a_task_and_resume(client):
    entry = QUESTIONS[0]
    accepted = client.submit(json=question_body(entry))
    with client.http.stream("GET", f"/api/task/{accepted['task_id']}/events") as reply:
        events = list(events_of(reply))
    assert events[-1][1] == "done" and events[-1][2]["answer"] == entry["answer_en"]
    texts = [(event_id, data["text"]) for event_id, event, data in events if event == "text"]
    assert "".join(text for _, text in texts) == entry["answer_en"]
    claim = texts[-1][0].split(".")[0]
    with client.http.stream("GET", f"/api/task/{accepted['task_id']}/events",
                            headers={"last-event-id": f"{claim}.2"}) as reply:
        rest = list(events_of(reply))
    assert [data["text"] for _, event, data in rest if event == "text"] == [entry["answer_en"][2:]]
    with client.http.stream("GET", f"/api/task/{accepted['task_id']}/events",
                            headers={"last-event-id": "77.2"}) as reply:
        other = [event for _, event, _ in events_of(reply)]
    assert other == ["restart", "text", "done"]


def test_batch_in_and_out_as_lines(client):
    entries = QUESTIONS[:6]
    lines = [json.dumps({"custom_id": f"q{i}", "method": "POST", "url": "/v1/chat/completions",
                         "body": {"model": "default", **question_body(entry)}}) for i, entry in enumerate(entries)]
    reply = client.http.post("/api/batch", content="\n".join(lines))
    assert reply.status_code == 202 and reply.json()["counts"]["total"] == len(lines)
    batch = reply.json()["batch_id"]
    wait_for(lambda: client.http.get(f"/api/batch/{batch}").json()["status"] == "completed")
    results = [json.loads(line) for line in client.http.get(f"/api/batch/{batch}/results").text.splitlines()]
    assert [line["custom_id"] for line in results] == [f"q{i}" for i in range(len(lines))]
    for line, entry in zip(results, entries):
        assert line["response"]["body"]["choices"][0]["message"]["content"] == entry["answer_en"]
    before = client.counts()
    reply = client.http.post("/api/batch", content="\n".join(lines[:2] + ['{"custom_id": "bad", "body": {}}']))
    assert reply.status_code == 400 and "line 3" in reply.json()["error"]["message"]
    assert client.counts() == before
    assert client.http.get("/api/batch/batch_2_none").status_code == 404


def test_with_api_keys_everybody_has_their_own_tasks(tmp_path):
    keys = []
    for name in ("one", "two"):
        code, out, err = run("key", name, "--file", tmp_path / "keys")
        assert code == 0, err
        keys.append({"authorization": "Bearer " + re.search(r"sk-[-\w]+", out).group(0)})
    server = Server("--model", GOLDEN / "tiny-dense", "--data-dir", tmp_path / "data", "--api-keys", tmp_path / "keys")
    http = httpx.Client(base_url=server.url, transport=CheckedTransport(Schema(server.url)), timeout=60)
    body = {"question": "x", "max_tokens": 1, "idempotency_key": "same"}
    mine, yours = (http.post("/api/task", json=body, headers=key).json()["task_id"] for key in keys)
    assert mine != yours
    assert http.post("/api/task", json=body).status_code == 401
    for method, path in [("GET", f"/api/task/{mine}"), ("DELETE", f"/api/task/{mine}"), ("GET", f"/api/task/{mine}/events")]:
        assert http.request(method, path, headers=keys[1]).status_code == 404
    assert http.get(f"/api/task/{mine}", headers=keys[0]).status_code == 200
    assert [task["task_id"] for task in http.get("/api/tasks", headers=keys[1]).json()["data"]] == [yours]
    lines = json.dumps({"custom_id": "a", "body": {"question": "x", "max_tokens": 1}})
    batch = http.post("/api/batch", content=lines, headers=keys[0]).json()["batch_id"]
    assert http.get(f"/api/batch/{batch}", headers=keys[0]).status_code == 200
    assert http.get(f"/api/batch/{batch}/results", headers=keys[1]).status_code == 404
    assert server.stop() == 0


def test_a_full_disk_stores_nothing(tmp_path):
    # No file of the server may grow beyond 200 KB: what a full disk is to the spool and to the database.
    code = ("import os, resource, sys; resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000)); "
            "os.execv(sys.argv[1], sys.argv[1:])")
    process = subprocess.Popen([sys.executable, "-c", code, BINARY, "serve", "--port", "0", "--data-dir", tmp_path,
                                "--model", GOLDEN / "tiny-dense"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    url = re.search(r"http://127\.0\.0\.1:\d+", next(line for line in process.stdout if "http://" in line)).group(0)
    reply = httpx.post(url + "/api/task", json={"question": "x", "max_tokens": 1, "metadata": {"padding": "x" * 400_000}})
    assert reply.status_code == 507 and reply.json()["error"]["code"] == "insufficient_storage", reply.text
    assert not spool_of(tmp_path)
    assert httpx.get(url + "/api/tasks").json()["data"] == []
    assert httpx.post(url + "/api/task", json={"question": "x", "max_tokens": 1}).status_code == 202
    process.kill()
    process.wait()
    process.stdout.close()


def test_metrics_tell_the_queue(client):
    text = client.http.get("/metrics").text
    assert "\nsaccade_tasks_queued 0\n" in text and "saccade_tasks_finished_total" in text


def test_two_servers_cannot_share_a_data_directory(task_server, data_dir):
    with pytest.raises(AssertionError, match="another server uses"):
        Server("--data-dir", data_dir, "--model", GOLDEN / "tiny-dense")


def test_without_a_data_directory_tasks_are_refused(server):
    reply = httpx.post(server.url + "/api/task", json={"question": "x"})
    assert reply.status_code == 404 and "--data-dir" in reply.text


def test_sigterm_gives_running_tasks_back(tmp_path):
    server = Server("--data-dir", tmp_path, "--drain-seconds", "0")
    ids = occupy(Client(server), tokens=3000)
    assert server.stop() == 0
    server = Server("--data-dir", tmp_path)
    client = Client(server)
    for task_id in ids:
        task = client.get(task_id)
        assert task["status"] in ("queued", "running") and task["attempts"] <= 1
        client.http.delete(f"/api/task/{task_id}")
    assert server.stop() == 0


def test_killed_servers_lose_nothing_and_answer_once(tmp_path):
    chance = random.Random(3)
    # A body above the inline limit goes through the spool.
    padding = {"metadata": {"padding": "x" * 40_000}}
    server = Server("--data-dir", tmp_path)
    client = Client(server)
    ids = {client.submit(json=question_body(entry, **padding))["task_id"]: entry["answer_en"] for entry in QUESTIONS[:30]}
    assert len(spool_of(tmp_path)) > 0
    for _ in range(5):
        time.sleep(chance.uniform(0, 0.4))
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server = Server("--data-dir", tmp_path)
    client = Client(server)
    for task_id, answer in ids.items():
        task = client.end_of(task_id)
        assert task["status"] == "done" and task["answer"] == answer, task
    assert client.counts()["done"] == len(ids)
    wait_for(lambda: not spool_of(tmp_path))
    assert server.stop() == 0
