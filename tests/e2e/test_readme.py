"""Runs the examples of README.md as they stand, against the built binary instead of ./run.sh."""
import os
import re
import shlex
import subprocess
import sys

import pytest
from conftest import BINARY, ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(bash|python)\n(.*?)^```", README, re.MULTILINE | re.DOTALL)
ASKS = [line.split(" #")[0] for kind, block in BLOCKS if kind == "bash" for line in block.splitlines()
        if line.startswith("./run.sh ask ")]
CURLS = [block for kind, block in BLOCKS if kind == "bash" and block.startswith("curl ")]
PYTHON = [block for kind, block in BLOCKS if kind == "python"]


def test_readme_has_the_three_kinds():
    assert ASKS and CURLS and PYTHON


@pytest.mark.parametrize("command", ASKS)
def test_command_line(command):
    arguments = shlex.split(command)[1:]
    done = subprocess.run([BINARY, *arguments], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip()


@pytest.mark.parametrize("block", CURLS)
def test_curl(block, server):
    block = block.replace("http://127.0.0.1:8080", server.url)
    done = subprocess.run(["bash", "-c", block], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True)
    assert '"content"' in done.stdout and '"error"' not in done.stdout


@pytest.mark.parametrize("block", PYTHON)
def test_python(block, server):
    block = block.replace("http://127.0.0.1:8080", server.url)
    done = subprocess.run([sys.executable, "-c", block], cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
                          env=os.environ)
    assert done.stdout.strip()
