"""The sections beside asking: many files as tasks, and what the server is doing."""
import csv
import json
import re
import shutil
import urllib.request

import pytest
from conftest import ROOT, Server, run
from page_driver import ask_and_wait, drop
from playwright.sync_api import expect
from relay import Relay, refuse
from test_page_access import faults

EXAMPLES = ROOT / "examples"
SHAPES = EXAMPLES / "shapes.png"
QUESTION = "What is in this picture?"
QUESTIONS = json.loads((EXAMPLES / "questions.json").read_text(encoding="utf-8"))
ANSWERS = {entry["file"]: entry["answer_en"] for entry in QUESTIONS if entry["question_en"] == QUESTION}
TASK = "/api/task"


def tile(page, title):
    return page.locator(".tile", has=page.get_by_role("heading", name=title, exact=True))


def metric(server, name):
    with urllib.request.urlopen(server.url + "/metrics", timeout=30) as reply:
        return float(re.search(rf"^{name} (\S+)", reply.read().decode(), re.MULTILINE).group(1))


def test_the_dashboard_shows_the_figures_of_the_server(page, server):
    drop(page, SHAPES)
    ask_and_wait(page, "What is in this picture?")
    page.get_by_role("link", name="Server").click()
    finished = metric(server, "saccade_requests_finished_total")
    assert finished >= 1
    expect(tile(page, "Answers").locator("strong")).to_have_text(f"{finished:,.0f}")
    used, total = metric(server, "saccade_kv_pages_used"), metric(server, "saccade_kv_pages")
    expect(tile(page, "KV cache in use").locator("small")).to_contain_text(f"{used:,.0f} of {total:,.0f} pages")
    expect(tile(page, "Memory").locator("strong")).to_have_text(re.compile(r"^[\d.,]+ [MG]B$"))
    page.get_by_role("link", name="Ask", exact=True).click()
    ask_and_wait(page, "What color is the triangle?")
    page.get_by_role("link", name="Server").click()
    expect(tile(page, "Answers").locator("strong")).to_have_text(f"{finished + 1:,.0f}")
    expect(tile(page, "Time to first token").locator("strong")).to_have_text(re.compile(r"^[\d.]+ m?s$"))
    assert faults(page) == []


def test_a_server_that_is_gone_is_told_and_the_figures_come_back(page, relay):
    page.get_by_role("link", name="Server").click()
    expect(tile(page, "Memory").locator("strong")).not_to_be_empty()
    relay.down = True
    expect(page.get_by_text("The figures cannot be read")).to_be_visible()
    relay.down = False
    expect(page.get_by_text("The figures cannot be read")).to_be_hidden()


def test_sections_have_addresses(open_page):
    page = open_page(360, 740, "zh-CN", has_touch=True, is_mobile=True)
    page.get_by_role("link", name="服务器").click()
    assert page.url.endswith("#server")
    page.reload()
    expect(page.get_by_role("heading", name="服务器状态")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.go_back()
    expect(page.locator("#tab-ask")).to_be_visible()
    expect(page.locator("#tab-server")).to_be_hidden()


@pytest.fixture
def task_server(tmp_path):
    running = Server("--data-dir", tmp_path / "data")
    yield running
    assert running.stop() == 0


@pytest.fixture
def relay(request):
    """With the server that keeps tasks, when the test uses it."""
    name = "task_server" if "task_server" in request.fixturenames else "server"
    running = Relay(request.getfixturevalue(name).url)
    yield running
    running.close()


def twenty(folder):
    """20 pictures whose names tell which example each is."""
    names = sorted(ANSWERS)
    paths = [folder / f"{index:02}-{names[index % len(names)]}" for index in range(20)]
    for path in paths:
        shutil.copy(EXAMPLES / path.name[3:], path)
    return paths


def start_job(page, paths, question=QUESTION):
    page.get_by_role("link", name="Tasks").click()
    drop(page, *paths)
    page.locator("#task-question").fill(question)
    page.get_by_role("button", name="Start").click()


def rows(page):
    return page.locator(".job-table tbody tr")


def saved(page, name):
    with page.expect_download() as download:
        page.get_by_role("button", name=name, exact=True).click()
    return open(download.value.path(), encoding="utf-8-sig", newline="").read()


def test_one_question_over_twenty_files(task_server, page, tmp_path):
    paths = twenty(tmp_path)
    start_job(page, paths)
    expect(page.locator(".job [role=status]")).to_contain_text("20 of 20 answered", timeout=60_000)
    shown = rows(page).evaluate_all("(rows) => rows.map((row) => [row.cells[0].textContent, row.cells[2].textContent])")
    assert shown == [[path.name, ANSWERS[path.name[3:]]] for path in paths]
    table = list(csv.DictReader(saved(page, "CSV").splitlines()))
    assert [[line["file"], line["answer"], line["status"]] for line in table] == [[*row, "done"] for row in shown]
    lines = [json.loads(line) for line in saved(page, "JSONL").splitlines()]
    assert [[line["file"], line["answer"]] for line in lines] == shown
    assert all(line["question"] == QUESTION and line["completion_tokens"] > 0 for line in lines)
    assert faults(page) == []


def test_a_job_goes_on_when_the_page_is_closed(task_server, page, tmp_path):
    start_job(page, twenty(tmp_path))
    expect(page.locator("tr[data-status=sending]")).to_have_count(0)
    page.reload()
    expect(page.locator(".job [role=status]")).to_contain_text("20 of 20 answered", timeout=60_000)
    assert len(set(rows(page).locator("td:nth-child(3)").all_inner_texts())) == len(ANSWERS)
    page.get_by_role("button", name="Remove from the list").click()
    expect(page.locator(".job")).to_have_count(0)
    page.reload()
    expect(page.locator(".job")).to_have_count(0)


def test_a_busy_queue_and_a_lost_connection_only_take_longer(task_server, page, relay, tmp_path):
    relay.script(TASK, refuse(429, "too many tasks are queued", retry_after="1"))
    paths = twenty(tmp_path)[:4]
    start_job(page, paths)
    expect(rows(page)).to_have_count(4)
    relay.down = True
    page.wait_for_timeout(1500)
    relay.down = False
    expect(page.locator(".job [role=status]")).to_contain_text("4 of 4 answered", timeout=60_000)
    assert metric(task_server, "saccade_requests_finished_total") == 4, "no file was asked about twice"


def test_what_fails_is_told_and_can_be_asked_again(task_server, page, relay, tmp_path):
    relay.script(TASK, refuse(400, "<img src=x onerror='window.broken = 1'>"))
    start_job(page, [SHAPES])
    expect(rows(page).first).to_have_attribute("data-status", "failed")
    assert rows(page).first.locator("td").nth(2).inner_text() == "<img src=x onerror='window.broken = 1'>"
    assert page.evaluate("window.broken") is None
    page.get_by_role("button", name="Ask again what failed").click()
    expect(rows(page).first.locator("td").nth(2)).to_have_text(ANSWERS["shapes.png"])


def test_the_rest_of_a_job_can_be_cancelled(task_server, page, relay, tmp_path):
    relay.script(TASK, *[refuse(429, "full", retry_after="60")] * 20)
    start_job(page, twenty(tmp_path))
    page.get_by_role("button", name="Cancel the rest").click()
    expect(page.locator("tr[data-status=cancelled]")).to_have_count(20)


def test_a_server_with_keys_is_used_with_the_key_of_the_settings(browser, tmp_path):
    keys = tmp_path / "keys"
    code, out, _ = run("key", "--file", keys, "someone")
    assert code == 0
    secret = re.search(r"sk-\S+", out).group(0)
    server = Server("--api-keys", keys, "--data-dir", tmp_path / "data")
    page = browser.new_page(locale="en-US")
    page.goto(server.url)
    expect(page.locator("#model-name")).to_have_text("API key needed")
    page.locator("#settings").click()
    page.locator("[name=key]").fill(secret)
    page.keyboard.press("Escape")
    expect(page.locator("#model-name")).to_have_text("demo")
    drop(page, SHAPES)
    assert ask_and_wait(page, QUESTION) == ANSWERS["shapes.png"]
    start_job(page, [SHAPES])
    expect(page.locator(".job [role=status]")).to_contain_text("1 of 1 answered", timeout=60_000)
    page.get_by_role("link", name="Server").click()
    expect(tile(page, "Tasks waiting").locator("small")).to_have_text("0 running · 1 finished")
    page.close()
    assert server.stop() == 0


def test_a_server_without_tasks_says_so(page):
    start_job(page, [SHAPES])
    expect(page.locator("#tab-tasks .notice")).to_contain_text("The server takes no tasks.")
    expect(page.locator(".job")).to_have_count(0)


def test_a_table_cell_is_no_formula(page):
    text = page.evaluate("""async () => {
      const script = [...document.scripts].find((one) => one.type === 'module').src;
      const {csv} = await import(new URL('tables.js', script));
      const entry = (name, answer) => ({name, answer, status: 'done'});
      return csv({question: '?', entries: [entry('a.png', '=1+1'), entry('b,"c".png', '-5'), entry('d.png', 'two\\nlines')]});
    }""")
    lines = list(csv.reader(text.removeprefix("\ufeff").splitlines(keepends=True)))
    assert [line[:3] for line in lines[1:]] == [["a.png", "done", "'=1+1"], ['b,"c".png', "done", "-5"], ["d.png", "done", "two\nlines"]]
