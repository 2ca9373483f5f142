"""The built binary, run as a user runs it. SACCADE_BINARY names it; the default is the build of ./test.sh."""
import json
import os
import pathlib
import re
import subprocess
import tempfile
import time

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
BINARY = pathlib.Path(os.environ.get("SACCADE_BINARY", ROOT / "build" / "relcheck" / "saccade"))


def run(*arguments, stdin=b"", env=None, timeout=120):
    """Runs one command; returns (exit code, standard output, standard error) as text."""
    done = subprocess.run([BINARY, *map(str, arguments)], input=stdin, capture_output=True, timeout=timeout,
                          env={**os.environ, **(env or {})}, check=False)
    return done.returncode, done.stdout.decode(), done.stderr.decode()


def ask(*arguments, **keywords):
    """saccade ask --json: the parsed object."""
    code, out, err = run("ask", "--json", *arguments, **keywords)
    assert code == 0, err
    return json.loads(out)


def wait_until(condition, seconds=30):
    """Waits for a condition and returns its value, which is true."""
    end = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < end, "never came true"
        time.sleep(0.02)
    return value


class Server:
    """saccade serve on a free port unless one is given; the address comes from the line it prints."""

    def __init__(self, *arguments, env=None, port=0):
        # A file, not a pipe: nobody reads the log, and a full pipe would stop the server.
        self.log = tempfile.NamedTemporaryFile()
        self.process = subprocess.Popen([BINARY, "serve", "--port", str(port), *map(str, arguments)], stdout=subprocess.PIPE,
                                        stderr=self.log, text=True, env={**os.environ, **(env or {})})
        self.url = None
        for line in self.process.stdout:
            found = re.search(r"http://127\.0\.0\.1:\d+", line)
            if found:
                self.url = found.group(0)
                break
        assert self.url, self.log_text()

    def stop(self):
        self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()
            self.process.stdout.close()
            self.log.close()

    def log_text(self):
        # Opened anew: the server writes where the position of self.log is.
        return pathlib.Path(self.log.name).read_text(encoding="utf-8", errors="replace")


@pytest.fixture(scope="session")
def server():
    running = Server()
    yield running
    assert running.stop() == 0


# Fixtures for the tests of the page.
from page_driver import browser, open_page, page, relay  # noqa: E402,F401  pylint: disable=wrong-import-position
