"""What can go wrong on the page: hostile text and names, refusals, lost connections. It explains them and goes on."""
import json
import re
import threading

from conftest import ROOT, Server
from page_driver import answer, ask, ask_and_wait, drop, last_turn
from playwright.sync_api import expect
from relay import CHAT, refuse, stream

SHAPES = ROOT / "examples" / "shapes.png"
HOSTILE = """<script>window.broken = 1</script>
<img src=x onerror="window.broken = 2"> <svg onload="window.broken = 3"></svg>

[click](javascript:window.broken=4) [click](data:text/html,<script>window.broken=5</script>) ![spy](https://spy.invalid/a.png)

<iframe srcdoc="<script>parent.broken = 6</script>"></iframe>

<table><tr><td onclick="window.broken = 7"><img src=x onerror="window.broken = 8">cell</td></tr></table>

| <img src=x onerror="window.broken = 9"> | b |
|---|---|
| `<script>window.broken = 10</script>` | <b onmouseover="window.broken = 11">x</b> |

```<img src=x onerror="window.broken=12">
</code></pre><script>window.broken = 13</script>
```

$<img src=x onerror="window.broken = 14">$
"""
HOSTILE_MARK = json.dumps([{"bbox_2d": [1, 2, 300, 400], "label": "<img src=x onerror='window.broken = 15'>"}])
NAME = "<img src=x onerror='window.broken = 16'>.png"


def test_nothing_in_an_answer_or_a_file_name_runs_or_loads(page, relay):
    drop(page, SHAPES, name=NAME)
    relay.script(CHAT, stream(HOSTILE, HOSTILE_MARK))
    ask_and_wait(page, "<img src=x onerror='window.broken = 17'>")
    turn = last_turn(page)
    for link in turn.locator(".body a").all():
        link.click(modifiers=["Control"])
    turn.locator("td").first.click()
    page.get_by_role("button", name="Conversations").click()  # the title and the name appear here again
    expect(page.locator(".history-open strong")).to_have_text("<img src=x onerror='window.broken = 17'>")
    page.keyboard.press("Escape")
    assert page.evaluate("window.broken") is None
    assert turn.locator("script, iframe, svg[onload], .body img").count() == 0
    assert page.evaluate("[...document.querySelectorAll('*')].every((e) => [...e.attributes].every((a) => !a.name.startsWith('on')))")
    for address in turn.locator("a").evaluate_all("(links) => links.map((link) => link.href)"):
        assert address.startswith("https://")
    expect(page.locator(".box span")).to_have_text("<img src=x onerror='window.broken = 15'>")
    assert NAME in page.locator("#picture-line").inner_text()


def test_an_error_message_of_the_server_is_only_text(page, relay):
    relay.script(CHAT, refuse(400, "<img src=x onerror='window.broken = 1'>"))
    drop(page, SHAPES)
    ask(page, "?")
    expect(last_turn(page).locator(".failure")).to_contain_text("<img src=x")
    assert page.evaluate("window.broken") is None


def test_a_busy_server_is_asked_again_by_itself(page, relay):
    relay.script(CHAT, refuse(429, "too many requests wait", retry_after="1"), stream("At last."))
    drop(page, SHAPES)
    ask(page, "?")
    failure = last_turn(page).locator(".failure")
    expect(failure).to_contain_text("The server is busy.")
    expect(failure).to_contain_text("Trying again in")
    expect(page.locator(".turn")).to_have_count(1)
    expect(last_turn(page).locator(".body")).to_have_text("At last.")
    assert relay.sent(CHAT)[0] == relay.sent(CHAT)[1]


def test_waiting_for_a_busy_server_can_be_given_up(page, relay):
    relay.script(CHAT, refuse(429, "too many requests wait", retry_after="30"))
    drop(page, SHAPES)
    ask(page, "?")
    page.get_by_role("button", name="Cancel").click()
    expect(last_turn(page).locator(".failure")).not_to_contain_text("Trying again in")
    relay.script(CHAT, stream("By hand."))
    page.get_by_role("button", name="Try again").click()
    expect(last_turn(page).locator(".body")).to_have_text("By hand.")


def test_a_refused_request_says_why_and_the_next_one_goes_through(page, relay):
    relay.script(CHAT, refuse(400, "temperature must be at most 2"))
    drop(page, SHAPES)
    ask(page, "Bad?")
    failure = last_turn(page).locator(".failure")
    expect(failure).to_contain_text("could not use this request")
    expect(failure).to_contain_text("temperature must be at most 2")
    relay.script(CHAT, stream("Good."))
    assert ask_and_wait(page, "Good?") == "Good."
    sent = json.loads(relay.sent(CHAT)[-1])["messages"]
    assert len(sent) == 1, "the refused question is not part of the conversation"
    assert sent[0]["content"][0]["type"] == "image_url", "its picture belongs to the next question"


def test_a_picture_that_the_server_cannot_read(page, tmp_path):
    broken = tmp_path / "broken.png"
    broken.write_bytes(SHAPES.read_bytes()[:16] + b"?" * 500)
    drop(page, broken)
    expect(page.locator("#no-preview")).to_be_visible()
    ask(page, "What?")
    expect(last_turn(page).locator(".failure")).to_contain_text("could not use this request")


def test_a_missing_key_is_asked_for(page, relay):
    relay.script(CHAT, refuse(401, "no key"), stream("Open."))
    drop(page, SHAPES)
    ask(page, "?")
    expect(last_turn(page).locator(".failure")).to_contain_text("API key")
    page.locator("#settings").click()
    page.locator("[name=key]").fill("secret")
    page.keyboard.press("Escape")
    page.get_by_role("button", name="Try again").click()
    assert answer(page) == "Open."
    assert relay.headers_of(CHAT)[-1]["authorization"] == "Bearer secret"
    assert "authorization" not in relay.headers_of(CHAT)[0]


def test_an_answer_that_breaks_off_keeps_its_beginning(page, relay):
    cut = threading.Event()
    relay.script(CHAT, stream("The beginning", broken=True, release=cut), stream("All of it."))
    drop(page, SHAPES)
    ask(page, "?")
    expect(last_turn(page).locator(".body")).to_have_text("The beginning")
    cut.set()
    expect(last_turn(page).locator(".failure")).to_contain_text("broke off")
    expect(last_turn(page).locator(".body")).to_have_text("The beginning")
    page.get_by_role("button", name="Try again").click()
    assert answer(page) == "All of it."


def test_an_error_in_the_middle_of_the_stream_is_explained(page, relay):
    relay.script(CHAT, stream("Some", {"error": {"message": "out of pages", "type": "server_error"}}))
    drop(page, SHAPES)
    ask(page, "?")
    expect(last_turn(page).locator(".failure")).to_contain_text("out of pages")


def test_a_lost_server_is_noticed_and_found_again(page, relay):
    drop(page, SHAPES)
    relay.down = True
    ask(page, "?")
    expect(last_turn(page).locator(".failure")).to_contain_text("connection to the server was lost")
    expect(page.locator("#model[data-state=offline]")).to_be_visible()
    relay.down = False
    expect(page.locator("#model[data-state=ready]")).to_be_visible()
    relay.script(CHAT, stream("Back."))
    page.get_by_role("button", name="Try again").click()
    assert answer(page) == "Back."


def test_the_real_server_may_go_away_and_come_back(browser):
    """The same without a relay: the process ends in the middle of a conversation."""
    server = Server()
    page = browser.new_page(locale="en-US")
    page.goto(server.url)
    expect(page.locator("#model[data-state=ready]")).to_be_visible()
    drop(page, SHAPES)
    assert server.stop() == 0
    ask(page, "?")
    expect(last_turn(page).locator(".failure")).to_contain_text("connection to the server was lost")
    server = Server(port=server.url.rsplit(":", 1)[1])
    expect(page.locator("#model[data-state=ready]")).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Try again").click()
    assert answer(page)
    page.close()
    assert server.stop() == 0


def test_what_is_not_a_picture_is_refused_at_once(page, tmp_path):
    text = tmp_path / "notes.txt"
    text.write_text("x")
    page.locator("#files").set_input_files(str(text))
    expect(page.locator("#notice")).to_have_text("notes.txt is not a picture.")
    page.locator("#question").press("Enter")
    expect(page.locator("#notice")).to_have_text("Type a question first.")


def test_a_new_conversation_drops_the_running_answer(page, relay):
    release = threading.Event()
    relay.script(CHAT, stream("Half", " whole", release=release), stream("New."))
    drop(page, SHAPES)
    ask(page, "?")
    expect(last_turn(page).locator(".body")).to_have_text("Half")
    page.get_by_role("button", name="New conversation").click()
    release.set()
    expect(page.locator(".turn")).to_have_count(0)
    expect(page.locator("#send")).to_have_attribute("aria-label", re.compile("Ask"))
    drop(page, SHAPES)
    assert ask_and_wait(page, "!") == "New."
