"""Checks every reply of a server against its own /openapi.json: an httpx transport for the openai client."""
import contextlib
import json
import re

import jsonschema

try:  # whichever the installed openai client is built on
    import httpx2 as httpx
except ImportError:
    import httpx


class Schema:
    """The document of one server."""

    def __init__(self, url):
        self.document = httpx.get(url + "/openapi.json", timeout=30).json()
        self.patterns = [(re.compile("^" + re.sub(r"\{[^}]*\}", ".+", path) + "$"), item)
                         for path, item in sorted(self.document["paths"].items(), key=lambda entry: -len(entry[0]))]

    def _matches(self, path):
        exact = self.document["paths"].get(path)
        return exact or next(item for pattern, item in self.patterns if pattern.match(path))

    def validate(self, instance, schema):
        jsonschema.Draft202012Validator({**schema, "components": self.document["components"]}).validate(instance)

    def content(self, method, path, status, media_type):
        """The schema of an answer; KeyError when the document does not know of such an answer."""
        return self._matches(path)[method.lower()]["responses"][str(status)]["content"][media_type]["schema"]

    def check(self, method, path, status, content_type, body):
        media_type = content_type.split(";")[0]
        if media_type == "text/event-stream":
            chunk = self.content(method, path, status, media_type)
            events = [event[6:] for event in body.decode().split("\n\n") if event.startswith("data: ")]
            for event in events:
                if event == "[DONE]":
                    continue
                data = json.loads(event)
                self.validate(data, {"$ref": "#/components/schemas/Error"} if "error" in data else chunk)
        elif media_type == "application/json":
            self.validate(json.loads(body), self.content(method, path, status, media_type))


class _CheckedStream(httpx.SyncByteStream):
    def __init__(self, inner, check):
        self.inner, self.check, self.seen = inner, check, b""

    def __iter__(self):
        for part in self.inner:
            self.seen += part
            yield part

    def close(self):
        self.inner.close()
        self.check(self.seen)


class CheckedTransport(httpx.BaseTransport):
    """Sends requests and validates what comes back, streams included; counts the replies it has checked."""

    def __init__(self, schema):
        self.schema, self.inner, self.checked = schema, httpx.HTTPTransport(), 0

    def handle_request(self, request):
        reply = self.inner.handle_request(request)

        def check(body):
            self.schema.check(request.method, request.url.path, reply.status_code, reply.headers["content-type"], body)
            self.checked += 1

        return httpx.Response(reply.status_code, headers=reply.headers, stream=_CheckedStream(reply.stream, check),
                              extensions=reply.extensions)

    def close(self):
        self.inner.close()


@contextlib.contextmanager
def checked_api(url, timeout):
    """call(method, path, status, **request): the parsed reply of the server, which has this status and fits the schema."""
    schema = Schema(url)
    with httpx.Client(base_url=url, timeout=timeout) as client:
        def call(method, path, status, **keywords):
            reply = client.request(method, path, **keywords)
            assert reply.status_code == status, reply.text
            schema.check(method, path, status, reply.headers["content-type"], reply.content)
            return reply.json()

        yield call
