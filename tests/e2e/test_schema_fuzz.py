"""schemathesis throws requests made from /openapi.json at the server: no 5xx, nothing that the document does not know."""
import subprocess
import sys

from api_schema import httpx
from conftest import GOLDEN, ROOT, Server


def test_no_request_makes_the_server_fail(tmp_path):
    # A small model with a short context: made-up requests ask for the longest answers.
    server = Server("--model", GOLDEN / "tiny-dense", "--kv-tokens", "512")
    # 504 is the answer that a request asks for with a timeout of its own that passes; any other 5xx is a fault.
    (tmp_path / "schemathesis.toml").write_text('[checks]\nnot_a_server_error.expected-statuses = ["2xx", "3xx", "4xx", "504"]\n')
    try:
        done = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "run", server.url + "/openapi.json", "--checks",
             "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance",
             "--phases", "examples,coverage,fuzzing", "--max-examples", "40", "--seed", "1", "--suppress-health-check", "all",
             "--request-timeout", "60"],
            capture_output=True, text=True, timeout=900, check=False, cwd=tmp_path)
        assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
        assert httpx.get(server.url + "/readyz", timeout=30).json() == {"status": "ready", "running": 0, "waiting": 0}
    finally:
        assert server.stop() == 0
