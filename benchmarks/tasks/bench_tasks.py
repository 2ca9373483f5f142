#!/usr/bin/env python3
"""What docs/tasks.md promises, measured: bench_tasks.py [kill] [submit] [flat] [busy]; all of them unless named.

kill    200 tasks, the server killed with SIGKILL at 20 random moments: every task ends with one right answer, empty spool
submit  latency of POST /api/task with 800 KB pictures while the engine is fully busy
flat    submit, poll and claim with 100 and with 10,000 tasks in the queue
busy    share of the time in which the engine computes while it works off a backlog (--tasks, 5,000 unless given)
SACCADE_BINARY names the program, as for tests/e2e; --data-dir a folder on the disk that is meant.
"""
import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import statistics
import sys
import tempfile
import time
import zlib

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "e2e"))
from api_schema import httpx  # noqa: E402
from conftest import Server  # noqa: E402
from test_tasks import EXAMPLES, QUESTIONS, question_body  # noqa: E402


def percentile(values, share):
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def times(values):
    return f"p50 {1000 * statistics.median(values):.1f} ms, p99 {1000 * percentile(values, 0.99):.1f} ms, most {1000 * max(values):.1f} ms"


def timed(function):
    start = time.perf_counter()
    value = function()
    return time.perf_counter() - start, value


def wait_idle(client):
    while True:
        counts = client.get("/api/tasks?limit=1").json()["counts"]
        if counts["queued"] + counts["running"] == 0:
            return counts
        time.sleep(0.2)


def kill(options):
    chance = random.Random(options.seed)
    server = Server("--data-dir", options.data_dir)
    client = httpx.Client(base_url=server.url, timeout=60)
    padding = {"metadata": {"padding": "x" * 40_000}}  # through the spool
    expected = {}
    for _ in range(20):  # hold the places until all 200 are accepted
        client.post("/api/task", json={"question": "Count", "max_tokens": 400, "ignore_eos": True, "priority": 9})
    for i in range(200):
        entry = QUESTIONS[i % len(QUESTIONS)]
        expected[client.post("/api/task", json=question_body(entry, **padding)).json()["task_id"]] = entry["answer_en"]
    open_at_kills = []
    for _ in range(20):
        time.sleep(chance.uniform(0, 0.8))
        counts = httpx.get(server.url + "/api/tasks?limit=1").json()["counts"]
        open_at_kills.append(counts["queued"] + counts["running"])
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
        server = Server("--data-dir", options.data_dir)
    client = httpx.Client(base_url=server.url, timeout=60)
    counts = wait_idle(client)
    tasks = [client.get(f"/api/task/{task_id}").json() for task_id in expected]
    right = sum(task["status"] == "done" and task["answer"] == expected[task["task_id"]] for task in tasks)
    time.sleep(1)
    spooled = len(list((options.data_dir / "spool").iterdir()))
    print(f"kill: open tasks at the kills {open_at_kills}")
    print(f"kill: {right} of 200 done and right, counts {counts}, most attempts {max(task['attempts'] for task in tasks)}, "
          f"{spooled} files in the spool")
    server.stop()


def large_picture():
    """A picture of an example with 800 KB of ancillary data: its bytes count, not its pixels."""
    picture = (EXAMPLES / QUESTIONS[0]["file"]).read_bytes()
    rest = os.urandom(800_000 - len(picture) - 12)
    chunk = b"prVt" + rest
    return picture[:-12] + len(rest).to_bytes(4, "big") + chunk + zlib.crc32(chunk).to_bytes(4, "big") + picture[-12:]


def submit(options):
    server = Server("--data-dir", options.data_dir)
    client = httpx.Client(base_url=server.url, timeout=60)
    picture = large_picture()
    for _ in range(20):  # the engine is busy from here on
        client.post("/api/task", json={"question": "Count", "max_tokens": 4000, "ignore_eos": True, "priority": 9})
    taken = [timed(lambda: client.post("/api/task", data={"question": QUESTIONS[0]["question_en"]},
                                       files={"image": ("a.png", picture)}).raise_for_status())[0] for _ in range(300)]
    print(f"submit, 300 pictures of {len(picture)} bytes: {times(taken)}")
    server.process.kill()


def flat(options):
    server = Server("--data-dir", options.data_dir)
    client = httpx.Client(base_url=server.url, timeout=60)
    for _ in range(18):  # every place is taken: the others wait
        client.post("/api/task", json={"question": "Count", "max_tokens": 8000, "ignore_eos": True, "priority": 9})
    time.sleep(1)
    ids = []
    for goal in (100, 10_000):
        while len(ids) < goal - 100:
            lines = "\n".join(json.dumps({"custom_id": "x", "body": {"question": "x", "max_tokens": 1}}) for _ in range(900))
            reply = client.post("/api/batch", content=lines).json()
            ids += [f"{reply['batch_id']}-{i}" for i in range(900)]
        submits = [timed(lambda: client.post("/api/task", json={"question": "x", "max_tokens": 1})) for _ in range(100)]
        ids += [reply.json()["task_id"] for _, reply in submits]
        polls = [timed(lambda i=i: client.get(f"/api/task/{ids[i]}"))[0] for i in random.sample(range(len(ids)), 100)]
        cancels = [timed(lambda i=i: client.delete(f"/api/task/{ids[i]}"))[0] for i in range(len(ids) - 50, len(ids))]
        print(f"flat, {len(ids)} queued: submit {times([t for t, _ in submits])}; poll {times(polls)}; cancel {times(cancels)}")
    server.process.kill()


def busy(options):
    server = Server("--data-dir", options.data_dir)
    client = httpx.Client(base_url=server.url, timeout=60)
    bodies = [{"custom_id": str(i), "body": question_body(QUESTIONS[i % len(QUESTIONS)], seed=i)} for i in range(options.tasks)]
    for first in range(0, len(bodies), 500):
        client.post("/api/batch", content="\n".join(map(json.dumps, bodies[first:first + 500]))).raise_for_status()
    running, start = [], time.monotonic()
    done_before = client.get("/api/tasks?limit=1").json()["counts"]["done"]
    while client.get("/api/tasks?limit=1").json()["counts"]["queued"] > 20:
        running.append(client.get("/readyz").json()["running"])
        time.sleep(0.05)
    seconds = time.monotonic() - start
    done = client.get("/api/tasks?limit=1").json()["counts"]["done"] - done_before
    share = sum(count > 0 for count in running) / len(running)
    print(f"busy: {done} tasks in {seconds:.1f} s ({done / seconds:.1f} per second); the engine had work in "
          f"{100 * share:.1f} % of {len(running)} looks, {statistics.mean(running):.1f} answers at a time")
    server.process.kill()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parts = {"kill": kill, "submit": submit, "flat": flat, "busy": busy}
    parser.add_argument("parts", nargs="*", choices=[[], *parts], default=[])
    parser.add_argument("--data-dir", type=pathlib.Path, default=None)
    parser.add_argument("--tasks", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    base = options.data_dir or pathlib.Path(tempfile.mkdtemp(prefix="saccade_tasks_"))
    for name in options.parts or parts:
        options.data_dir = base / name
        shutil.rmtree(options.data_dir, ignore_errors=True)
        parts[name](options)
        shutil.rmtree(options.data_dir, ignore_errors=True)


if __name__ == "__main__":
    main()
