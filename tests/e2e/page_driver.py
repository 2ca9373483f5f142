"""The page in headless Chromium: fixtures, and what a user does on it."""
import base64
import pathlib
import re
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright
from relay import Relay

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
CAMERA = ["--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream"]
ANSWER_MS = 60_000


@pytest.fixture(scope="session")
def browser():
    assert CHROMIUM, "Chromium is missing; tools/install_packages.sh --with-tests installs it"
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=CHROMIUM, args=CAMERA)
        yield running
        running.close()


@pytest.fixture
def relay(server):
    running = Relay(server.url)
    yield running
    running.close()


@pytest.fixture
def open_page(browser, relay):
    """Opens the page below a path prefix in a browser of its own. At the end: nothing of it has failed unnoticed,
    and it has asked no other host for anything."""
    contexts, faults = [], []

    def open_it(width=1280, height=800, language="en-US", **options):
        context = browser.new_context(viewport={"width": width, "height": height}, locale=language,
                                      permissions=["clipboard-read", "clipboard-write"], **options)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(15_000)
        page.on("pageerror", lambda error: faults.append(f"error: {error}"))
        page.on("console", lambda message: "Content Security Policy" in message.text and faults.append(message.text))
        page.on("dialog", lambda dialog: (faults.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.on("request", lambda request: _is_foreign(request.url, relay.url) and faults.append(f"asked for {request.url}"))
        page.goto(relay.url)
        expect(page.locator("#model")).to_have_attribute("data-state", "ready")
        expect(page.locator("#sample-list li").first).to_be_visible()
        return page

    yield open_it
    for context in contexts:
        context.close()
    assert faults == []


def _is_foreign(address, own):
    return not address.startswith((own, "blob:", "data:"))


@pytest.fixture
def page(open_page):
    return open_page()


def drop(page, *paths, name=None):
    """Drops files on the page as the desktop does."""
    files = [{"name": name or pathlib.Path(path).name, "bytes": base64.b64encode(pathlib.Path(path).read_bytes()).decode()}
             for path in paths]
    page.evaluate("""(files) => {
      const transfer = new DataTransfer();
      for (const {name, bytes} of files) {
        const data = Uint8Array.from(atob(bytes), (char) => char.charCodeAt(0));
        transfer.items.add(new File([data], name, {type: 'image/png'}));
      }
      for (const kind of ['dragenter', 'dragover', 'drop']) {
        document.body.dispatchEvent(new DragEvent(kind, {dataTransfer: transfer, bubbles: true, cancelable: true}));
      }
    }""", files)


def choose(page, *paths):
    """Chooses files with the button, as many clicks as a user needs."""
    with page.expect_file_chooser() as chooser:
        page.locator("#add").click()
    chooser.value.set_files([str(path) for path in paths])


def ask(page, question):
    page.locator("#question").fill(question)
    page.keyboard.press("Enter")


def last_turn(page):
    return page.locator(".turn").last


def answer(page):
    """Text of the newest answer once it is complete."""
    turn = last_turn(page)
    expect(turn.locator(".figures .tool").first).to_be_visible(timeout=ANSWER_MS)
    return turn.locator(".body").inner_text().strip()


def ask_and_wait(page, question):
    ask(page, question)
    expect(last_turn(page).locator(".bubble")).to_have_text(question)
    return answer(page)


def style(locator, name):
    return locator.evaluate("(element, name) => getComputedStyle(element)[name]", name)


def rgb(text):
    """"rgb(1, 2, 3)" -> (1, 2, 3)"""
    return tuple(int(float(value)) for value in re.findall(r"[\d.]+", text)[:3])
