"""The sections beside asking: what the server is doing."""
import re
import urllib.request

from conftest import ROOT
from page_driver import ask_and_wait, drop
from playwright.sync_api import expect
from test_page_access import faults

SHAPES = ROOT / "examples" / "shapes.png"


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
    page.get_by_role("link", name="Ask").click()
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
