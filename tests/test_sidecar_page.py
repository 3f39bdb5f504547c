"""The live page in a real browser: what it shows, by keyboard too, and that it asks nobody else."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from mode import other_programs

pytest.importorskip("starlette", reason="needs the extra sidecar")
playwright = pytest.importorskip("playwright.sync_api")

import itertools
import re

from http_client import answering
from test_sidecar import replayed
from test_sidecar_polling import watched
from traffic import CONGESTED, HEALTHY, START, in_turn

from int_analyzer.sidecar.polling import Polling
from int_analyzer.sidecar.service import Sidecar

CHROMIUM = shutil.which("chromium")
pytestmark = [pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian package chromium)"), other_programs]


@pytest.fixture(scope="module")
def congested() -> Sidecar:
    return replayed(in_turn(HEALTHY, HEALTHY, HEALTHY, CONGESTED))[0]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    with playwright.sync_playwright() as started:
        launched = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
        )
        yield launched
        launched.close()


@pytest.fixture
def page(browser: Any, congested: Sidecar) -> Iterator[Any]:
    with answering(congested) as client:
        opened = browser.new_page(viewport={"width": 1400, "height": 1000})
        opened.set_default_timeout(15_000)
        opened.asked, opened.said = [], []
        opened.on("request", lambda request: opened.asked.append(request.url))
        opened.on("console", lambda message: opened.said.append(message.text))
        opened.on("pageerror", lambda error: opened.said.append(str(error)))
        opened.home = f"http://127.0.0.1:{client.port}/"
        opened.goto(opened.home)
        opened.wait_for_selector("#queues tr")
        yield opened
        opened.close()


def test_it_names_the_congested_port_first_and_complains_of_nothing(page: Any) -> None:
    assert page.inner_text("#headline") == "CONGESTED node 2 port 2 queue 0"
    assert page.title().startswith("▲ CONGESTED node 2 port 2")
    assert "▲" in page.inner_text("#finding-list h3") and "depth up to 79 raw" in page.inner_text("#finding-list .facts")
    assert page.locator("#graph svg").count() == 1 and "port 2 congested" in page.inner_text("#graph")
    assert page.locator("#heat tr").count() == 6 and page.locator("#heat td.empty").count() > 0
    assert "Trust: low" in page.inner_text("#trust-grade")
    assert page.said == []


def test_it_asks_nobody_but_the_sidecar(page: Any) -> None:
    assert page.asked and all(url.startswith(page.home) for url in page.asked)


def test_evidence_and_culprits_are_there_for_the_keyboard(page: Any) -> None:
    page.keyboard.press("f")
    assert page.evaluate("document.activeElement.id") == "findings"
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    assert page.locator("#finding-list details[open]").count() == 1
    shown = page.inner_text("#finding-list details")
    assert "queue depth up to 79" in shown and "10.0.1.1:49153 > 10.0.3.3:4791" in shown


def test_what_was_opened_stays_open_when_the_next_second_comes(page: Any, congested: Sidecar) -> None:
    page.click("#finding-list summary")
    before, snapshot = page.inner_text("#clock"), congested.snapshot
    assert snapshot is not None
    congested.snapshot = replace(snapshot, now_ns=snapshot.now_ns + 1_000_000_000)
    playwright.expect(page.locator("#clock")).not_to_have_text(before)
    assert page.locator("#finding-list details[open]").count() == 1
    congested.snapshot = snapshot


def test_space_holds_the_page_still(page: Any, congested: Sidecar) -> None:
    page.keyboard.press(" ")
    assert page.get_attribute("#hold", "aria-pressed") == "true"
    before, snapshot = page.inner_text("#clock"), congested.snapshot
    assert snapshot is not None
    congested.snapshot = replace(snapshot, now_ns=snapshot.now_ns + 2_000_000_000)
    page.wait_for_timeout(800)
    assert page.inner_text("#clock") == before
    congested.snapshot = snapshot


def test_a_replay_that_is_over_and_a_connection_that_is_gone_are_told(browser: Any, congested: Sidecar) -> None:
    with answering(congested) as client:
        opened = browser.new_page()
        opened.goto(f"http://127.0.0.1:{client.port}/")
        opened.wait_for_selector("#queues tr")
        assert opened.inner_text("#findings-title") == "Findings that lasted when the replay ended"
        assert "so far" not in opened.inner_text("#finding-list .facts") and opened.inner_text("#link") == "live"
        assert "(the replay is over)" in opened.inner_text("#clock")
    playwright.expect(opened.locator("#link")).to_have_text(re.compile(r"not connected since \d\d:\d\d:\d\d UTC: what is shown is old"))
    opened.close()


def test_silence_is_not_called_calm(browser: Any) -> None:
    sidecar = Sidecar(compiled=False)
    sidecar.tick(START)
    with answering(sidecar) as client:
        opened = browser.new_page()
        opened.goto(f"http://127.0.0.1:{client.port}/")
        playwright.expect(opened.locator("#headline")).to_have_text("No packet yet")
        assert opened.inner_text("#findings-title") == "Findings that last"
        assert opened.locator("#finding-list li").count() == 0
        assert opened.inner_text("#graph") == "no port was seen"
        opened.close()


def test_a_narrow_window_scrolls_nothing_but_its_parts(browser: Any, congested: Sidecar) -> None:
    with answering(congested) as client:
        narrow = browser.new_page(viewport={"width": 420, "height": 800})
        narrow.goto(f"http://127.0.0.1:{client.port}/")
        narrow.wait_for_selector("#queues tr")
        assert narrow.evaluate("document.documentElement.scrollWidth") <= 420
        narrow.close()


def test_every_shade_of_the_heat_map_differs_in_lightness(page: Any) -> None:
    lightness = page.evaluate(
        "[0, 0.1, 0.3, 0.6, 1].map((share) => shade(share).match(/\\d+/g).map(Number))"
        ".map(([r, g, b]) => 0.2126 * r + 0.7152 * g + 0.0722 * b)"
    )
    assert all(a - b > 20 for a, b in itertools.pairwise(lightness))


def test_the_health_of_roce_is_told_as_rates_ratios_and_quantiles_of_the_connections_that_are_followed(browser: Any) -> None:
    with answering(watched(Polling(1, 4))) as client:
        opened = browser.new_page()
        opened.goto(f"http://127.0.0.1:{client.port}/")
        opened.wait_for_selector("#roce dd")
        told = dict(zip(opened.locator("#roce dt").all_inner_texts(), opened.locator("#roce dd").all_inner_texts(), strict=True))
        clocks = opened.inner_text("#clocks")
        opened.close()
    assert told["connections followed"].startswith("polling, 1 of 4 at a time: 100 % of them")
    assert told["packets"] == "270/s, 0 % with telemetry"
    assert re.fullmatch(r"2\d(\.\d)?/s completed", told["messages of these"])
    assert told["completion time (FCT)"] == "p50 2.01 µs, p99 2.01 µs, p99.9 2.01 µs, max 2.01 µs"
    assert told["round trip (RTT)"].startswith("p50 1.00 µs, p99 ")
    assert (told["sent again"], told["congestion notifications"]) == ("0 % of data packets", "0/s")
    assert clocks == "replay: times are of the capture"
