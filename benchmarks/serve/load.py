#!/usr/bin/env python3
"""Load scenarios against a running OpenAI-compatible vision server. One JSON object per scenario on standard output.

  load.py --url http://127.0.0.1:8080 users --users 1,2,4,8,16             own pictures, closed loop
  load.py users --users 8 --same-picture                                   one picture for all
  load.py burst --requests 200                                             all at once: who is refused, and how fast
  load.py soak --requests 1000 --pid PID                                   mixed requests: memory before and after
  load.py arrivals --rate 2 --requests 40 --picture photo.jpg              open loop, the articles' scenario

Needs Python 3.9 and, for drawn pictures, Pillow. Exit status 1 when a request failed that should not have.
"""
import argparse
import base64
import http.client
import io
import json
import pathlib
import random
import sys
import threading
import time
from urllib.parse import urlparse


# ---- pictures

def drawn(width, height, seed):
    """A JPEG that compresses like a photo and differs with every seed."""
    from PIL import Image, ImageDraw
    chance = random.Random(seed)
    picture = Image.effect_noise((width, height), 24).convert("RGB")
    draw = ImageDraw.Draw(picture)
    for _ in range(30):
        x, y, side = chance.randrange(width), chance.randrange(height), chance.randrange(4, max(5, min(width, height) // 4))
        draw.rectangle([x, y, x + side, y + side], fill=tuple(chance.randrange(256) for _ in range(3)))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=88)
    return out.getvalue()


def content(picture, question):
    text = {"type": "text", "text": question}
    if picture is None:
        return [text]
    return [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64," + base64.b64encode(picture).decode()}}, text]


# ---- one request

class Client:
    def __init__(self, options):
        self.options = options
        self.url = urlparse(options.url)

    def body(self, picture, question, **fields):
        return json.dumps({"model": self.options.model, "messages": [{"role": "user", "content": content(picture, question)}],
                           "max_tokens": self.options.max_tokens, "temperature": 0, "stream": True,
                           "stream_options": {"include_usage": True}, **fields})

    def send(self, body):
        """Everything that can be seen of one request from outside, times in seconds."""
        seen = {"status": 0, "first": None, "gaps": [], "tokens": 0, "error": None}
        start = time.perf_counter()
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=self.options.timeout)
        try:
            connection.request("POST", "/v1/chat/completions", body, {
                "Content-Type": "application/json", "Authorization": "Bearer " + self.options.key})
            reply = connection.getresponse()
            seen["status"] = reply.status
            if reply.status != 200:
                seen["error"] = reply.read().decode(errors="replace")[:200]
            else:
                self.read_stream(reply, start, seen)
        except (OSError, http.client.HTTPException) as error:
            seen["error"] = repr(error)
        finally:
            connection.close()
        seen["seconds"] = time.perf_counter() - start
        return seen

    @staticmethod
    def read_stream(reply, start, seen):
        last, done = None, False
        for line in reply:
            if not line.startswith(b"data: "):
                continue
            if line.strip() == b"data: [DONE]":
                done = True
                break
            event = json.loads(line[6:])
            if "error" in event:
                seen["error"] = event["error"]["message"]
                return
            if event.get("usage"):
                seen["tokens"] = event["usage"]["completion_tokens"]
            if any(choice["delta"].get("content") for choice in event["choices"]):
                now = time.perf_counter()
                if last is None:
                    seen["first"] = now - start
                else:
                    seen["gaps"].append(now - last)
                last = now
        if not done:
            seen["error"] = "the stream ended early"

    def get(self, path):
        connection = http.client.HTTPConnection(self.url.hostname, self.url.port, timeout=30)
        connection.request("GET", path, headers={"Authorization": "Bearer " + self.options.key})
        text = connection.getresponse().read().decode()
        connection.close()
        return text


# ---- numbers

def percentile(values, share):
    values = sorted(value for value in values if value is not None)
    return round(values[min(len(values) - 1, int(share * len(values)))], 4) if values else None


def report(name, results, wall, **more):
    good = [result for result in results if result["error"] is None]
    gaps = [gap for result in good for gap in result["gaps"]]
    tokens = sum(result["tokens"] for result in good)
    line = {"scenario": name, "requests": len(results), "failed": len(results) - len(good), "wall_s": round(wall, 2),
            "requests_per_s": round(len(good) / wall, 3), "tokens_per_s": round(tokens / wall, 2)}
    for label, values in (("ttft", [r["first"] for r in good]), ("total", [r["seconds"] for r in good]), ("gap", gaps)):
        line.update({f"{label}_p50": percentile(values, 0.5), f"{label}_p95": percentile(values, 0.95)})
    line["gap_max"] = round(max(gaps), 4) if gaps else None
    line.update(more)
    errors = sorted({result["error"] for result in results if result["error"]})
    if errors:
        line["errors"] = errors[:3]
    print(json.dumps(line), flush=True)
    return line


def side_by_side(jobs):
    """Runs one function per thread, started together; returns what they returned, in order."""
    results, start = [None] * len(jobs), threading.Barrier(len(jobs) + 1)

    def run(index, job):
        start.wait()
        results[index] = job()
    threads = [threading.Thread(target=run, args=item) for item in enumerate(jobs)]
    for thread in threads:
        thread.start()
    start.wait()
    begun = time.perf_counter()
    for thread in threads:
        thread.join()
    return results, time.perf_counter() - begun


class Process:
    """CPU time and memory of the server's process, when it runs on this machine; nothing without a pid."""

    def __init__(self, pid):
        self.pid = pid
        self.cpu, self.time = self.cpu_seconds(), time.perf_counter()

    def cpu_seconds(self):
        if not self.pid:
            return 0
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / 100

    def memory(self, name):
        text = pathlib.Path(f"/proc/{self.pid}/status").read_text(encoding="ascii")
        return round(int(text.split(name + ":")[1].split()[0]) / 1024, 1)

    def numbers(self):
        if not self.pid:
            return {}
        return {"cpu_cores": round((self.cpu_seconds() - self.cpu) / (time.perf_counter() - self.time), 2),
                "resident_mib": self.memory("VmRSS"), "peak_mib": self.memory("VmHWM")}


# ---- scenarios: each returns whether it went as it should

def run_users(client, options):
    width, height = map(int, options.size.split("x"))
    well = True
    for users in map(int, options.users.split(",")):
        def picture(user, turn, users=users):
            if options.text_only:
                return None
            return drawn(width, height, options.seed if options.same_picture else (options.seed, users, user, turn).__repr__())
        bodies = [[client.body(picture(user, turn), options.question, ignore_eos=options.ignore_eos)
                   for turn in range(options.turns)] for user in range(users)]
        process = Process(options.pid)
        results, wall = side_by_side([lambda mine=mine: [client.send(body) for body in mine] for mine in bodies])
        line = report("users", [one for mine in results for one in mine], wall, users=users,
                      same_picture=options.same_picture, **process.numbers())
        well = well and line["failed"] == 0
    return well


def run_burst(client, options):
    bodies = [client.body(None, f"{options.question} {i}", ignore_eos=options.ignore_eos) for i in range(options.requests)]
    results, wall = side_by_side([lambda body=body: client.send(body) for body in bodies])
    refused = [result for result in results if result["status"] == 429]
    accepted = [result for result in results if result["status"] != 429]
    line = report("burst", accepted, wall, refused=len(refused), refused_p50=percentile([r["seconds"] for r in refused], 0.5),
                  refused_p95=percentile([r["seconds"] for r in refused], 0.95),
                  refused_max=percentile([r["seconds"] for r in refused], 1))
    return line["failed"] == 0


def run_soak(client, options):
    """Texts, small and large pictures, repeated ones, streams that are cut; memory after a tenth and at the end."""
    chance = random.Random(options.seed)
    shared = [drawn(320, 240, i) for i in range(4)]

    def one(i):
        kind = i % 5
        if kind == 0:
            return client.send(client.body(None, f"hello {i}"))
        if kind == 1:
            return client.send(client.body(shared[i % 4], options.question))
        if kind == 4:
            return client.send(client.body(drawn(1200, 900, i), options.question))
        return client.send(client.body(drawn(chance.randrange(64, 640), chance.randrange(64, 640), i), f"{options.question} {i}"))

    def some(first, last):
        turns = iter(range(first, last))
        lock, results = threading.Lock(), []

        def user():
            while True:
                with lock:
                    i = next(turns, None)
                if i is None:
                    return
                results.append(one(i))
        side_by_side([user] * options.parallel)
        return results
    begun = time.perf_counter()
    # Caches and allocator arenas fill first: a third of the requests, all kinds of them.
    warm = options.requests // 3
    results = some(0, warm)
    before = Process(options.pid).numbers()
    results += some(warm, options.requests)
    process = Process(options.pid)
    time.sleep(2)
    idle = process.numbers()
    growth = round(idle["resident_mib"] / before["resident_mib"] - 1, 4) if before else None
    line = report("soak", results, time.perf_counter() - begun, resident_before_mib=before.get("resident_mib"),
                  resident_after_mib=idle.get("resident_mib"), growth=growth, idle_cpu_cores=idle.get("cpu_cores"))
    return line["failed"] == 0 and (growth is None or growth <= options.max_growth)


def run_arrivals(client, options):
    picture = pathlib.Path(options.picture).read_bytes() if options.picture else drawn(2000, 1500, 1)
    bodies = [client.body(picture, options.question) for _ in range(options.requests)]
    process, results, threads = Process(options.pid), [], []
    begun = time.perf_counter()
    for i, body in enumerate(bodies):
        time.sleep(max(0, begun + i / options.rate - time.perf_counter()))
        threads.append(threading.Thread(target=lambda body=body: results.append(client.send(body))))
        threads[-1].start()
    for thread in threads:
        thread.join()
    refused = sum(result["status"] == 429 for result in results)
    line = report("arrivals", [r for r in results if r["status"] != 429], time.perf_counter() - begun, rate=options.rate,
                  refused=refused, picture_bytes=len(picture), **process.numbers())
    return line["failed"] == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", default="http://127.0.0.1:8080")
    parser.add_argument("--model", default="default")
    parser.add_argument("--key", default="none")
    parser.add_argument("--pid", type=int, help="of the server, for its memory and CPU time")
    parser.add_argument("--max-tokens", type=int, default=64)
    parser.add_argument("--question", default="What is in this picture?")
    parser.add_argument("--ignore-eos", action="store_true", help="answers of exactly --max-tokens")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    scenarios = parser.add_subparsers(dest="scenario", required=True)
    users = scenarios.add_parser("users")
    users.add_argument("--users", default="1,2,4,8,16")
    users.add_argument("--turns", type=int, default=2, help="requests of each user, one after another")
    users.add_argument("--size", default="448x448")
    users.add_argument("--same-picture", action="store_true")
    users.add_argument("--text-only", action="store_true")
    burst = scenarios.add_parser("burst")
    burst.add_argument("--requests", type=int, default=200)
    soak = scenarios.add_parser("soak")
    soak.add_argument("--requests", type=int, default=1000)
    soak.add_argument("--parallel", type=int, default=8)
    soak.add_argument("--max-growth", type=float, default=0.02)
    arrivals = scenarios.add_parser("arrivals")
    arrivals.add_argument("--rate", type=float, default=2)
    arrivals.add_argument("--requests", type=int, default=40)
    arrivals.add_argument("--picture", help="a file; default: a drawn JPEG")
    options = parser.parse_args()
    run = {"users": run_users, "burst": run_burst, "soak": run_soak, "arrivals": run_arrivals}[options.scenario]
    sys.exit(0 if run(Client(options), options) else 1)


if __name__ == "__main__":
    main()
