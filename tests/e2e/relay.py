"""A small reverse proxy in front of the real server: it puts the page under a path prefix, counts what the page
uploads, and answers chosen requests from a script (errors, boxes, hostile text, a connection that breaks)."""
import http.client
import http.server
import json
import threading
import time
import urllib.parse

PREFIX = "/tools/saccade"
CHAT = "/v1/chat/completions"


class Relay:
    """`scripts` maps a path behind the prefix to a list of functions; each answers one request to that path, when the
    list is empty requests go through to the server. `requests` holds (method, path, body) in order, `received_bytes` counts
    the bodies that the server gave."""

    def __init__(self, server_url):
        self.target = urllib.parse.urlsplit(server_url)
        self.scripts, self.requests, self.headers, self.received_bytes = {}, [], [], 0
        self.down = False  # connections are closed without an answer
        handler = type("Handler", (_Handler,), {"relay": self})
        self.http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}{PREFIX}/"
        threading.Thread(target=self.http.serve_forever, daemon=True).start()

    def script(self, path, *answers):
        self.scripts.setdefault(path, []).extend(answers)

    def sent(self, path):
        """Bodies of the requests to this path."""
        return [body for _, requested, body in self.requests if requested == path]

    def headers_of(self, path):
        """Headers of the requests to this path, names in lower case."""
        return [headers for requested, headers in self.headers if requested == path]

    def close(self):
        self.http.shutdown()
        self.http.server_close()


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    relay = None

    def log_message(self, *_):
        pass

    def handle_any(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.relay.down:
            self.close_connection = True
            return
        if not self.path.startswith(PREFIX + "/"):
            self.send_error(404)  # an address that forgot the prefix
            return
        path = self.path[len(PREFIX):]
        self.relay.requests.append((self.command, path, body))
        self.relay.headers.append((path, {name.lower(): value for name, value in self.headers.items()}))
        answers = self.relay.scripts.get(path.split("?")[0])
        if answers:
            answers.pop(0)(self)
        else:
            self.forward(path, body)

    do_GET = do_POST = do_DELETE = do_PUT = handle_any

    def forward(self, path, body):
        connection = http.client.HTTPConnection(self.relay.target.netloc, timeout=60)
        headers = {name: value for name, value in self.headers.items()
                   if name.lower() not in ("host", "connection", "content-length", "accept-encoding")}
        connection.request(self.command, path, body or None, headers)
        reply = connection.getresponse()
        self.send_response(reply.status)
        for name, value in reply.getheaders():
            if name.lower() not in ("transfer-encoding", "connection", "content-length", "date", "server"):
                self.send_header(name, value)
        self.begin_chunks()
        try:
            while piece := reply.read1(65536):
                self.relay.received_bytes += len(piece)
                self.chunk(piece)
            self.end_chunks()
        except OSError:
            self.close_connection = True  # the page stopped listening; the server is told by the close below
        finally:
            connection.close()

    def begin_chunks(self):
        if self.bodiless():
            self.send_header("Content-Length", "0")
        else:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def bodiless(self):
        return b" 304 " in b"".join(self._headers_buffer[:1])

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_chunks(self):
        self.wfile.write(b"0\r\n\r\n")


def refuse(status, message, **headers):
    """An error as the server writes it; retry_after="2" becomes Retry-After: 2."""
    def answer(handler):
        body = json.dumps({"error": {"message": message, "type": "x", "param": None, "code": "x"}}).encode()
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.send_header("Content-Type", "application/json")
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)
    return answer


def stream(*pieces, broken=False, release=None):
    """A streamed answer of these pieces; ("comment", text) sends a progress comment, a dict is sent as it is. `broken`: the connection
    is cut in place of the end. `release`: an event to wait for before the last piece, or before the cut."""
    def answer(handler):
        handler.send_response(200)
        handler.send_header("Content-Type", "text/event-stream; charset=utf-8")
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            for index, piece in enumerate(pieces):
                if release is not None and index == len(pieces) - 1 and not broken:
                    release.wait(60)
                _write_piece(handler, piece)
            if broken:
                if release is not None:
                    release.wait(60)
                handler.close_connection = True
                return
            _write_end(handler)
        except OSError:
            handler.close_connection = True
    return answer


def _event(handler, choices, **more):
    body = {"id": "x", "object": "chat.completion.chunk", "created": int(time.time()), "model": "scripted",
            "choices": choices, **more}
    handler.chunk(b"data: " + json.dumps(body, ensure_ascii=False).encode() + b"\n\n")


def _write_piece(handler, piece):
    if isinstance(piece, tuple):
        handler.chunk(f": {piece[1]}\n\n".encode())
    elif isinstance(piece, dict):
        handler.chunk(b"data: " + json.dumps(piece).encode() + b"\n\n")
    else:
        _event(handler, [{"index": 0, "delta": {"content": piece}, "finish_reason": None}])


def _write_end(handler):
    _event(handler, [{"index": 0, "delta": {}, "finish_reason": "stop"}],
           timings_ms={"decode_image": 1, "resize": 1, "queue": 1, "vision": 40, "prefill": 20, "decode": 500,
                       "first_token": 70})
    _event(handler, [], usage={"prompt_tokens": 120, "completion_tokens": 11, "total_tokens": 131,
                               "prompt_tokens_details": {"cached_tokens": 0, "image_tokens": 100}})
    handler.chunk(b"data: [DONE]\n\n")
    handler.end_chunks()
