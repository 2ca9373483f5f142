"""The page as people use it, in a real browser, below a path prefix, answered by the bundled model."""
import base64
import io
import json
import os
import re
import shutil
import threading
import urllib.request

import pytest
from conftest import ROOT
from page_driver import answer, ask, ask_and_wait, choose, drop, last_turn, rgb, style
from PIL import Image, ImageDraw
from playwright.sync_api import expect
from relay import CHAT, refuse, stream

EXAMPLES = ROOT / "examples"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
STARS = next(entry for entry in QUESTIONS if entry["file"] == "count.png")
FIRST_LOAD_BYTES = 300_000
IMAGES = "/v1/images"
SMALL_UPLOAD_BYTES = 2000


def entries(name):
    return [entry for entry in QUESTIONS if entry["file"] == name]


def messages_sent(relay):
    return json.loads(relay.sent(CHAT)[-1])["messages"]


def picture_sent(relay):
    """Bytes of the picture of the last question, however they came to the server."""
    url = messages_sent(relay)[0]["content"][0]["image_url"]["url"]
    return base64.b64decode(url.split(",")[1]) if url.startswith("data:") else relay.sent(IMAGES)[-1]


def test_a_dropped_picture_is_asked_about_in_english_and_chinese(page):
    drop(page, EXAMPLES / STARS["file"])
    assert ask_and_wait(page, STARS["question_en"]) == STARS["answer_en"]
    assert ask_and_wait(page, STARS["question_zh"]) == STARS["answer_zh"]
    figures = last_turn(page).locator(".figures").inner_text()
    assert "tokens" in figures and "first" in figures and "picture tokens" in figures


def test_the_answer_appears_while_it_is_written(page, relay):
    release = threading.Event()
    relay.script(CHAT, stream(("comment", "queued 2"), ("comment", "encoding 7/24"), "First half, ", "second half.", release=release))
    drop(page, EXAMPLES / "shapes.png")
    ask(page, "x")
    expect(last_turn(page).locator(".body")).to_have_text("First half,")
    assert page.locator("#send").get_attribute("aria-label") == "Stop"
    release.set()
    assert answer(page) == "First half, second half."


def test_what_the_server_does_is_told_while_waiting(page, relay):
    steps = [("queued 2", "Waiting, 2 ahead"), ("queued 0", "Next in line"), ("encoding 7/24", "Looking at the picture, layer 7 of 24"),
             ("prefill 256/900", "Reading, 256 of 900 tokens")]
    drop(page, EXAMPLES / "shapes.png")
    for comment, shown in steps:
        release = threading.Event()
        relay.script(CHAT, stream(("comment", comment), "Done.", release=release))
        ask(page, comment)
        expect(last_turn(page).locator(".stage-label")).to_contain_text(shown)
        release.set()
        answer(page)


def test_pasted_and_chosen_pictures_are_listed_turned_and_removed(page):
    choose(page, EXAMPLES / "chart.png", EXAMPLES / "word.png")
    page.evaluate("""async () => {
      const canvas = new OffscreenCanvas(200, 100);
      canvas.getContext('2d').fillRect(0, 0, 200, 100);
      const transfer = new DataTransfer();
      transfer.items.add(new File([await canvas.convertToBlob()], 'pasted.png', {type: 'image/png'}));
      document.dispatchEvent(new ClipboardEvent('paste', {clipboardData: transfer, bubbles: true, cancelable: true}));
    }""")
    thumbs = page.locator("#thumbs li")
    expect(thumbs).to_have_count(3)
    expect(page.locator("#picture-line")).to_contain_text("pasted.png · 200 × 100")
    page.get_by_role("button", name="Rotate pasted.png").click()
    expect(page.locator("#picture-line")).to_contain_text("100 × 200")
    for _ in range(3):
        page.get_by_role("button", name="Rotate pasted.png").click()
    expect(page.locator("#picture-line")).to_contain_text("200 × 100")
    page.get_by_role("button", name="Remove pasted.png").click()
    expect(thumbs).to_have_count(2)
    page.get_by_role("button", name="Show chart.png").click()
    expect(page.locator("#picture")).to_have_attribute("alt", "chart.png")


def test_several_pictures_go_together_and_follow_ups_keep_them(page, relay):
    choose(page, EXAMPLES / "shapes.png", EXAMPLES / "word.png")
    relay.script(CHAT, stream("Two pictures."), stream("Still two."))
    ask_and_wait(page, "How many?")
    ask_and_wait(page, "And now?")
    sent = messages_sent(relay)
    assert [part["type"] for part in sent[0]["content"]] == ["image_url", "image_url", "text"]
    assert [message["role"] for message in sent] == ["user", "assistant", "user"]
    assert sent[1]["content"] == "Two pictures." and sent[2]["content"] == [{"type": "text", "text": "And now?"}]


def test_a_picture_is_uploaded_once_and_follow_ups_are_small(page, relay):
    drop(page, EXAMPLES / STARS["file"])
    assert ask_and_wait(page, STARS["question_en"]) == STARS["answer_en"]
    assert relay.sent(IMAGES) == [(EXAMPLES / STARS["file"]).read_bytes()]
    before = sum(len(body) for _, _, body in relay.requests)
    assert ask_and_wait(page, STARS["question_zh"]) == STARS["answer_zh"]
    assert sum(len(body) for _, _, body in relay.requests) - before < SMALL_UPLOAD_BYTES


def test_a_picture_that_the_server_has_forgotten_is_sent_again(page, relay, server):
    drop(page, EXAMPLES / STARS["file"])
    assert ask_and_wait(page, STARS["question_en"]) == STARS["answer_en"]
    kept = messages_sent(relay)[0]["content"][0]["image_url"]["url"].removeprefix("saccade-image:")
    urllib.request.urlopen(urllib.request.Request(f"{server.url}{IMAGES}/{kept}", method="DELETE"), timeout=30).close()
    assert ask_and_wait(page, STARS["question_zh"]) == STARS["answer_zh"]
    assert len(relay.sent(IMAGES)) == 2


def test_a_server_that_keeps_no_pictures_gets_them_with_the_question(page, relay):
    relay.script(IMAGES, refuse(404, "no such path"))
    drop(page, EXAMPLES / STARS["file"])
    assert ask_and_wait(page, STARS["question_en"]) == STARS["answer_en"]
    assert picture_sent(relay) == (EXAMPLES / STARS["file"]).read_bytes()
    assert messages_sent(relay)[0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")


def test_a_turned_picture_is_sent_turned(page, relay):
    choose(page, EXAMPLES / "two_shapes.png")
    width, height = Image.open(EXAMPLES / "two_shapes.png").size
    expect(page.locator("#picture-line")).to_contain_text(f"{width} × {height}")
    page.get_by_role("button", name="Rotate two_shapes.png").click()
    expect(page.locator("#picture-line")).to_contain_text(f"{height} × {width}")
    relay.script(CHAT, stream("Turned."))
    ask_and_wait(page, "?")
    turned = Image.open(io.BytesIO(picture_sent(relay))).convert("RGB")
    upright = Image.open(EXAMPLES / "two_shapes.png").convert("RGB")
    assert turned.tobytes() == upright.transpose(Image.Transpose.ROTATE_270).tobytes()  # a quarter, clockwise, nothing lost


def test_a_photograph_is_taken_with_the_camera(page):
    page.locator("#photo").click()
    page.get_by_role("button", name="Take the picture").click()
    expect(page.locator("#picture")).to_have_attribute("alt", re.compile(r"^photo-.*\.jpg$"))
    expect(page.locator("#camera-dialog")).to_be_hidden()


def test_a_sample_offers_its_questions(page):
    page.get_by_role("button", name="count.png").click()
    page.locator(".chip", has_text=STARS["question_en"]).click()
    assert answer(page) == STARS["answer_en"]


def test_stopping_keeps_what_was_written(page, relay):
    release = threading.Event()
    relay.script(CHAT, stream("Only the beginning", " never shown", release=release))
    drop(page, EXAMPLES / "shapes.png")
    ask(page, "x")
    expect(last_turn(page).locator(".body")).to_have_text("Only the beginning")
    page.get_by_role("button", name="Stop").click()
    expect(last_turn(page).locator(".figures")).to_contain_text("Stopped")
    release.set()
    entry = entries("shapes.png")[0]
    assert ask_and_wait(page, entry["question_en"]) == entry["answer_en"]


def test_the_server_stops_too(page, server):
    """The real one: a long answer ends when the page stops listening."""
    page.locator("#settings").click()
    page.locator("[name=max_tokens]").fill("100000")
    page.keyboard.press("Escape")
    drop(page, EXAMPLES / "shapes.png")
    ask(page, entries("shapes.png")[0]["question_en"])
    answer(page)
    ask(page, "x" * 1500)
    page.keyboard.press("Escape")
    expect(page.locator("#send")).to_have_attribute("aria-label", "Ask")
    page.wait_for_function("""async () => /^saccade_requests_running 0$/m.test(
        await (await fetch(new URL('metrics', document.baseURI))).text())""")


def test_retry_edit_and_copy(page, relay):
    drop(page, EXAMPLES / "shapes.png")
    relay.script(CHAT, stream("One."), stream("Two."), stream("Three."))
    assert ask_and_wait(page, "First?") == "One."
    page.get_by_role("button", name="Try again").click()
    expect(last_turn(page).locator(".body")).to_have_text("Two.")
    answer(page)
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert page.evaluate("navigator.clipboard.readText()") == "Two."
    page.locator(".asked").hover()
    page.get_by_role("button", name="Edit the question").click()
    page.locator(".edit textarea").fill("Second?")
    page.keyboard.press("Enter")
    expect(last_turn(page).locator(".body")).to_have_text("Three.")
    expect(page.locator(".turn")).to_have_count(1)
    sent = messages_sent(relay)
    assert len(sent) == 1 and [part["type"] for part in sent[0]["content"]] == ["image_url", "text"]


MARKDOWN = """## Result

| Item | Price |
|:-----|------:|
| **Tea** | 3 |
| `a|b` | 4 |

1. one
2. two
   - inner

```python
print("x < y")
```

Euler: $e^{i\\pi} = -1$
"""


def test_markdown_is_rendered(page, relay):
    relay.script(CHAT, stream(*[MARKDOWN[at:at + 7] for at in range(0, len(MARKDOWN), 7)]))
    drop(page, EXAMPLES / "shapes.png")
    ask_and_wait(page, "?")
    body = last_turn(page).locator(".body")
    assert body.locator("th").all_inner_texts() == ["Item", "Price"]
    assert body.locator("td").all_inner_texts() == ["Tea", "3", "a|b", "4"]
    assert body.locator("td strong").inner_text() == "Tea"
    assert style(body.locator("td").nth(1), "textAlign") == "right"
    assert body.locator("ol > li").count() == 2 and body.locator("ol ul li").inner_text() == "inner"
    assert body.locator("pre code").inner_text().strip() == 'print("x < y")'
    assert body.locator(".math").inner_text() == "e^{i\\pi} = -1"


BOXES = [("left", (100, 200, 300, 500)), ("right", (620, 400, 900, 950))]  # in thousandths of the picture


def box_picture(path, size=(900, 600)):
    """White, with black frames where BOXES are."""
    picture = Image.new("RGB", size, "white")
    for _, (x1, y1, x2, y2) in BOXES:
        ImageDraw.Draw(picture).rectangle([x1 * size[0] // 1000, y1 * size[1] // 1000, x2 * size[0] // 1000, y2 * size[1] // 1000],
                                          fill="black")
    picture.save(path)
    return path


def extent(image, wanted):
    """Bounding box of the pixels for which wanted(r, g, b) holds."""
    points = [(x, y) for y in range(image.height) for x in range(image.width) if wanted(*image.getpixel((x, y)))]
    xs, ys = [x for x, _ in points], [y for _, y in points]
    return min(xs), min(ys), max(xs), max(ys)


def like(colour, tolerance=12):
    return lambda *pixel: all(abs(a - b) <= tolerance for a, b in zip(pixel, colour))


@pytest.mark.parametrize("width, height, picture_size", [(1280, 800, (900, 600)), (1280, 800, (400, 1100)), (390, 844, (900, 600))])
def test_boxes_lie_on_what_they_name(open_page, relay, tmp_path, width, height, picture_size):
    """Seen in a screenshot: frame and thing differ by less than 3 % of the picture."""
    page = open_page(width, height)
    drop(page, box_picture(tmp_path / "boxes.png", picture_size))
    found = json.dumps([{"bbox_2d": at, "label": label} for label, at in BOXES])
    relay.script(CHAT, stream(f"```json\n{found}\n```"))
    ask_and_wait(page, "Locate.")
    expect(page.locator(".box")).to_have_count(2)
    page.wait_for_function("() => document.getAnimations().every((animation) => animation.playState !== 'running')")
    shot = Image.open(io.BytesIO(page.locator("#canvas").screenshot())).convert("RGB")
    for index, (label, (x1, y1, x2, y2)) in enumerate(BOXES):
        colour = rgb(style(page.locator(".box").nth(index), "borderTopColor"))
        # The label has the same colour, so only rows and columns of the lower right corner and the left edge are read.
        frame = extent(shot, like(colour))
        for seen, wanted, size in [(frame[2], x2, shot.width), (frame[3], y2, shot.height), (frame[0], x1, shot.width)]:
            assert abs(seen / size - wanted / 1000) < 0.03, (label, frame, shot.size)
        inside = shot.getpixel(((x1 + x2) * shot.width // 2000, (y1 + y2) * shot.height // 2000))
        assert max(inside) < 40, "the black rectangle lies inside its frame"
    assert page.locator(".box span").all_inner_texts() == ["left", "right"]


def test_a_click_lights_a_mark_and_its_button(page, relay, tmp_path):
    drop(page, box_picture(tmp_path / "boxes.png"))
    marks = [{"bbox_2d": BOXES[0][1], "label": "left"}, {"point_2d": [760, 675], "label": "dot"}]
    relay.script(CHAT, stream(json.dumps(marks)))
    ask_and_wait(page, "Where?")
    page.locator(".point").click()
    expect(page.locator(".point")).to_have_class(re.compile(r"\blit\b"))
    expect(page.get_by_role("button", name="dot", exact=True)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("button", name="left", exact=True).click()
    expect(page.locator(".box")).to_have_class(re.compile(r"\blit\b"))
    centre = page.locator(".point").evaluate("(e) => { const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }")
    canvas = page.locator("#canvas").bounding_box()
    assert abs((centre[0] - canvas["x"]) / canvas["width"] - 0.76) < 0.01
    assert abs((centre[1] - canvas["y"]) / canvas["height"] - 0.675) < 0.01


def test_conversations_are_kept_reopened_exported_and_deleted(page, relay):
    drop(page, EXAMPLES / STARS["file"])
    ask_and_wait(page, STARS["question_en"])
    page.reload()
    expect(page.locator("#sample-list li").first).to_be_visible()
    page.get_by_role("button", name="Conversations").click()
    with page.expect_download() as saved:
        page.get_by_role("button", name="as Markdown").click()
    text = open(saved.value.path(), encoding="utf-8").read()
    assert STARS["question_en"] in text and STARS["answer_en"] in text and "count.png" in text
    with page.expect_download() as saved:
        page.get_by_role("button", name="as JSON").click()
    record = json.loads(open(saved.value.path(), encoding="utf-8").read())
    assert record["turns"][0]["answer"] == STARS["answer_en"] and record["pictures"][0]["url"].startswith("data:image/png;base64,")
    page.locator(".history-open").click()
    expect(page.locator(".turn .body")).to_have_text(STARS["answer_en"])
    assert ask_and_wait(page, STARS["question_zh"]) == STARS["answer_zh"]  # it goes on with its picture
    page.get_by_role("button", name="Conversations").click()
    expect(page.locator(".history-open")).to_have_count(1)
    page.get_by_role("button", name="Delete " + STARS["question_en"]).click()
    expect(page.locator(".history-open")).to_have_count(0)


def test_settings_reach_the_request_and_last(page, relay):
    page.locator("#settings").click()
    page.locator("[name=system]").fill("Be brief.")
    page.locator("[name=temperature]").fill("0.5")
    page.locator("[name=max_tokens]").fill("33")
    page.locator("[name=max_pixels]").select_option(index=1)
    page.keyboard.press("Escape")
    page.reload()
    drop(page, EXAMPLES / "shapes.png")
    relay.script(CHAT, stream("Ok."))
    ask_and_wait(page, "?")
    sent = json.loads(relay.sent(CHAT)[-1])
    assert (sent["temperature"], sent["max_tokens"], sent["max_pixels"]) == (0.5, 33, 256 * 1024)
    assert sent["messages"][0] == {"role": "system", "content": "Be brief."}


def test_first_load_is_small(open_page, relay):
    page = open_page()
    page.wait_for_function("() => [...document.images].every((image) => image.complete)")
    loaded = {path for _, path, _ in relay.requests}
    assert any("app.js" in path for path in loaded) and any("examples/" in path for path in loaded)
    assert 0 < relay.received_bytes <= FIRST_LOAD_BYTES


def test_screenshot_for_the_readme(open_page):
    """docs/page.png is this picture; SACCADE_SCREENSHOT=1 writes it anew."""
    page = open_page(1280, 800)
    page.get_by_role("button", name="chart_wide.png").click()
    expect(page.locator("#picture-line")).to_be_visible()
    for entry in entries("chart_wide.png")[:2]:
        assert ask_and_wait(page, entry["question_en"]) == entry["answer_en"]
    page.mouse.move(5, 5)
    page.wait_for_function("() => document.getAnimations().every((animation) => animation.playState !== 'running')")
    made = ROOT / "build" / "page.png"
    made.parent.mkdir(exist_ok=True)
    page.screenshot(path=made)
    if os.environ.get("SACCADE_SCREENSHOT"):
        shutil.copy(made, ROOT / "docs" / "page.png")
    assert Image.open(ROOT / "docs" / "page.png").size == Image.open(made).size
    for readme in ("README.md", "README.zh.md"):
        assert "](docs/page.png)" in (ROOT / readme).read_text(encoding="utf-8")
