"""The page in a real browser, against a real server on loopback with scripted models.

Every scene leaves a screenshot in pytest's folder (``--basetemp=FOLDER`` says where that is).
"""

from __future__ import annotations

import re
import shutil
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

from seem.models.fakes import ScriptedExtractor, ScriptedJudge
from seem.types import Event, Extraction, Fact, TimeSpan
from serving.app import create_app
from serving.keys import SCOPES
from serving.routes import page as routes
from serving.service import Service
from tests.serving.house import make_service

CHROMIUM = shutil.which("chromium")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking"]
# The machine may be busy with other things, and importing torch and its kin then takes very long.
PATIENCE_MS = 120_000
LOADING_SECONDS = 1500.0
expect.set_options(timeout=PATIENCE_MS)
PHONE, DESK = {"width": 360, "height": 740}, {"width": 1280, "height": 860}

TUESDAY = TimeSpan("last Tuesday", "2024-02-27", "2024-02-27")
SIGNED = "I signed up for the pottery class on Elm Street last Tuesday, because I want to make my own bowls."
SHAKY = "No, I was wrong: I signed up for pottery on Oak Street, and with a shaky hand."
TEACHER = "The pottery class on Elm Street is taught by Ingrid Solheim."
TARTU = "I live in Tartu, right behind the botanical garden."
NARVA = "I moved to Narva in May for a job at the city library."
LAKE = "Ben and I cycled along the river to Lake Peipus on Sunday."
HOSTILE = "<script>window.ran = 1</script><img src=x onerror='window.ran = 2'> said the pottery forum"
STORY: dict[str, Extraction | Exception] = {
    SIGNED: Extraction(
        "",
        (
            Event(
                ("Ana",),
                "signed up for the pottery class",
                TUESDAY,
                "Elm Street",
                "I want to make my own bowls",
            ),
        ),
        (Fact("Ana", "takes", "pottery class", TUESDAY), Fact("pottery class", "is on", "Elm Street")),
    ),
    SHAKY: Extraction(
        "",
        (Event(("Ana",), "signed up for pottery", location="Oak Street", manner="with a shaky hand"),),
        (Fact("pottery class", "is on", "Oak Street"),),
    ),
    TEACHER: Extraction(
        "",
        (Event(("Ingrid Solheim",), "taught", location="Elm Street"),),
        (Fact("Ingrid Solheim", "teaches", "pottery class"),),
    ),
    TARTU: Extraction(
        "",
        (Event(("Ana",), "live in Tartu", location="right behind the botanical garden"),),
        (Fact("Ana", "lives in", "Tartu"),),
    ),
    NARVA: Extraction(
        "",
        (Event(("Ana",), "moved to Narva", TimeSpan("in May", "2024-05", "2024-05"), "Narva", "a job"),),
        (
            Fact("Ana", "lives in", "Narva", TimeSpan("in May", "2024-05", "2024-05")),
            Fact("Ana", "works at", "the city library"),
            Fact("city library", "is in", "Narva"),
        ),
    ),
    LAKE: Extraction(
        "",
        (
            Event(
                ("Ben", "Ana"),
                "cycled along the river",
                TimeSpan("on Sunday", "2024-06-09", "2024-06-09"),
                "Lake Peipus",
            ),
        ),
        (Fact("Ana", "cycles with", "Ben"),),
    ),
}
SAID = [
    ("Ana", SIGNED, "2024-03-02T18:20:00+01:00"),
    ("Ana", SHAKY, "2024-03-03T09:05:00+01:00"),
    ("Ben", TEACHER, "2024-03-03T09:06:00+01:00"),
    ("Ana", TARTU, "2024-03-04T12:00:00+01:00"),
    ("Ana", NARVA, "2024-05-20T20:15:00+02:00"),
    ("Ana", LAKE, "2024-06-10T08:30:00+02:00"),
    ("Mallory", HOSTILE, "2024-06-11T08:30:00+02:00"),
]


@dataclass
class Running:
    """A server that listens, with what the story became."""

    service: Service
    url: str
    key: str
    ids: dict[str, str]
    frames: dict[str, str]

    def ask(self, method: str, path: str, key: str = "", **more: Any) -> httpx.Response:
        headers = {"Authorization": f"Bearer {key or self.key}"}
        return httpx.request(method, f"{self.url}{path}", headers=headers, timeout=60, **more)


@contextmanager
def listening(service: Service) -> Iterator[str]:
    door = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(create_app(service), log_config=None, access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [door]})
    thread.start()
    try:
        until = time.monotonic() + LOADING_SECONDS
        while not service.models.loaded:
            assert time.monotonic() < until and not service.broken, service.broken
            time.sleep(0.02)
        yield f"http://127.0.0.1:{door.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    service = make_service(
        tmp_path_factory.mktemp("data"),
        {"tenant": {"requests_per_minute": 100_000}},
        extractor=ScriptedExtractor(STORY),
        judge=ScriptedJudge({frozenset({SIGNED, SHAKY}): 0.9}),
    )
    _, key = service.keys.create("acme", scopes=SCOPES)
    with listening(service) as url:
        running = Running(service, url, key, {}, {})
        for name, text, at in SAID:
            message = {"role": "user", "name": name, "content": text, "timestamp": at}
            told = running.ask("POST", "/v1/memories", json={"messages": [message], "user_id": "ana"}).json()
            item = told["results"][0]
            running.ids[text], running.frames[text] = item["id"], item["frame"]["id"]
        yield running


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS, timeout=PATIENCE_MS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def shots(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("shots")


@dataclass
class Reader:
    """Somebody before the page."""

    page: Page
    server: Running
    shots: Path
    errors: list[str] = field(default_factory=list)

    def open(self, place: str = "search?user_id=ana", key: str | None = None) -> None:
        """Go to a place with a key in the tab, as if it had been typed in."""
        if not self.page.url.startswith(self.server.url):
            self.page.goto(f"{self.server.url}/ui/")
        self.page.evaluate("key => sessionStorage.setItem('seem.key', key)", self.server.key if key is None else key)
        # By way of another page: going to where one is does nothing.
        self.page.goto("about:blank")
        self.page.goto(f"{self.server.url}/ui/#/{place}")
        self.settled()

    def settled(self) -> None:
        self.page.locator("#view > *").first.wait_for(state="attached")

    def shot(self, name: str) -> None:
        self.page.screenshot(path=self.shots / f"{name}.png")

    def widest(self) -> int:
        return int(self.page.evaluate("document.documentElement.scrollWidth"))


@contextmanager
def reading(browser: Browser, server: Running, shots: Path, **options: Any) -> Iterator[Reader]:
    """Open a tab; what it complains of while nothing is refused fails the test."""
    context = browser.new_context(**{"viewport": DESK, "reduced_motion": "reduce", **options})
    context.set_default_timeout(PATIENCE_MS)
    page = context.new_page()
    reader = Reader(page, server, shots)

    def note(said: ConsoleMessage) -> None:
        # That there is no network is what a test may have asked for; the browser says so when it likes.
        if said.type in ("error", "warning") and "ERR_INTERNET_DISCONNECTED" not in said.text:
            reader.errors.append(said.text)

    page.on("console", note)
    page.on("pageerror", lambda error: reader.errors.append(str(error)))
    yield reader
    context.close()
    assert reader.errors == []


def test_files_come_with_headers_that_let_nothing_else_run(server: Running) -> None:
    home = server.ask("GET", "/")
    assert (home.status_code, home.headers["location"]) == (307, "ui/")
    index = server.ask("GET", "/ui/")
    policy = index.headers["content-security-policy"]
    assert "default-src 'none'" in policy and "unsafe" not in policy and "http" not in policy
    assert index.headers["content-type"].startswith("text/html")
    again = httpx.get(f"{server.url}/ui/", headers={"If-None-Match": index.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
    for path in routes.FOLDER.iterdir():
        told = httpx.get(f"{server.url}/ui/{path.name}")
        assert told.content == path.read_bytes() and told.headers["x-content-type-options"] == "nosniff"
    for outside in ("..%2f..%2fapp.py", "%2e%2e%2fapp.py", "nothing.js"):
        refused = httpx.get(f"{server.url}/ui/{outside}")
        assert refused.status_code == 404 and "import" not in refused.text


def test_search_lights_the_evidence_and_says_why(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        reader.open()
        page = reader.page
        page.fill("#question", "When did Ana sign up for pottery?")
        page.press("#question", "Enter")
        source = page.locator(f"#{server.ids[SIGNED]}")
        expect(source.locator(".words")).to_have_text(SIGNED)
        assert "pottery" in source.locator("mark").all_inner_texts()
        assert "signed" in " ".join(source.locator(".words mark").all_inner_texts())
        time_slot = source.locator(".slot[data-slots~=time]")
        expect(time_slot).to_have_text("last Tuesday")
        source.locator("summary", has_text="Why found").click()
        expect(source.locator(".why")).to_contain_text(re.compile(r"words \d"))
        expect(source.locator(".episode a")).to_contain_text("signed up for the pottery class")
        reader.shot("search")
        page.click("#answer")
        expect(page.locator(".answer")).to_contain_text("pottery")
        assert page.evaluate("document.activeElement.tagName") == "H2"


def test_texts_stay_texts(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        for place in (
            "search?user_id=ana&q=pottery+forum",
            "timeline?user_id=ana",
            f"frame/{server.frames[HOSTILE]}?user_id=ana",
        ):
            reader.open(place)
            expect(reader.page.locator("#view")).to_contain_text("<script>window.ran = 1</script>")
        assert reader.page.evaluate("window.ran") is None
        assert reader.page.locator("#view script, #view img").count() == 0
        with pytest.raises(Exception, match="TrustedHTML"):
            reader.page.evaluate("document.body.insertAdjacentHTML('beforeend', '<b>x</b>')")
        reader.page.evaluate(
            """() => new Promise((done) => {
                 const image = document.createElement('img');
                 image.onload = image.onerror = done;
                 image.src = 'http://127.0.0.1:9/x.png';
                 document.body.append(image);
               })"""
        )
        assert len(reader.errors) >= 1 and all(
            "Content Security Policy" in told or "TrustedHTML" in told for told in reader.errors
        )
        reader.errors.clear()


def test_a_frame_shows_its_slots_and_who_said_them(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        reader.open(f"frame/{server.frames[SIGNED]}?user_id=ana")
        page = reader.page
        assert server.frames[SIGNED] == server.frames[SHAKY]
        for slot, words in {"participants": "Ana", "time": "27 Feb 2024", "location": "Oak Street"}.items():
            expect(page.locator(f"[data-slot={slot}]").first).to_contain_text(words)
        sources = page.locator(".told .source .words").all_inner_texts()
        assert sources == [SIGNED, SHAKY]
        why = page.locator("[data-slot=causality]")
        expect(why.locator(".says")).to_have_text("1")
        where = page.locator("[data-slot=location]")
        expect(where.locator("dd > .says")).to_have_text("2")
        expect(where.locator(".lost")).to_have_text("Elm Street1")
        why.focus()
        lit = page.locator(".slot[data-slots~=causality]")
        expect(lit).to_have_text("I want to make my own bowls")
        assert lit.evaluate("e => getComputedStyle(e).backgroundColor") != "rgba(0, 0, 0, 0)"
        expect(page.locator(".facts")).to_contain_text("Elm Street")
        reader.shot("frame")
        page.click(".told .source .open >> nth=0")
        expect(page.locator(".eyebrow")).to_have_text("Passage")
        expect(page.locator(".changes")).to_contain_text("Remembered")


def test_episodes_stand_in_the_order_in_which_they_happened(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        reader.open("timeline?user_id=ana")
        months = reader.page.locator(".timeline h2").all_inner_texts()
        assert [month.lower() for month in months] == ["february 2024", "march 2024", "may 2024", "june 2024"]
        assert reader.page.locator(".timeline li").count() == 6
        reader.shot("timeline")
        reader.page.click("text=moved to Narva")
        expect(reader.page.locator("h1")).to_contain_text("moved to Narva")


def test_the_graph_leads_from_name_to_name(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        reader.open("graph?user_id=ana")
        page = reader.page
        expect(page.locator(".ring0 text")).to_have_text("Ana")
        assert set(page.locator(".ring1 text").all_text_contents()) >= {"pottery class", "Narva", "Tartu"}
        expect(page.locator(".fact.closed")).to_contain_text("Tartu")
        page.check("#hops")
        expect(page.locator(".ring2 text", has_text="Ingrid Solheim")).to_be_visible()
        reader.shot("graph")
        page.locator(".node[aria-label^='pottery class']").focus()
        page.keyboard.press("Enter")
        expect(page.locator(".ring0 text")).to_have_text("pottery class")
        page.fill("#entity", "Nobody Known")
        reader.errors.clear()
        page.press("#entity", "Enter")
        expect(page.locator(".nothing")).to_contain_text("Nobody Known")
        refused(reader, 404)


def test_a_key_stays_out_of_the_address_and_a_wrong_one_gives_a_sentence(
    browser: Browser, server: Running, shots: Path
) -> None:
    with reading(browser, server, shots) as reader:
        page = reader.page
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.url}/")
        expect(page.locator("h1")).to_have_text("Your key")
        reader.shot("key")
        page.fill("#api-key", "seem_0_wrong")
        page.press("#api-key", "Enter")
        expect(page.get_by_role("alert")).to_have_text(
            "The key is unknown, expired or revoked; ask the operator for another."
        )
        refused(reader, 401)
        page.fill("#api-key", server.key)
        page.press("#api-key", "Enter")
        page.click("text=user ana")
        expect(page.locator("#question")).to_be_focused()
        assert server.key not in page.url and all(server.key not in url for url in asked)
        assert page.evaluate("[localStorage.length, document.cookie]") == [0, ""]
        page.click("#key")
        page.click("text=Forget the key now")
        expect(page.locator("#api-key")).to_be_visible()
        assert page.evaluate("sessionStorage.length") == 0


def test_refusals_and_emptiness_are_sentences(browser: Browser, server: Running, shots: Path) -> None:
    _, slow = server.service.keys.create("slow")
    server.service.keys.limit("slow", requests_per_minute=6)
    _, writer = server.service.keys.create("acme", scopes=["write"])
    with reading(browser, server, shots) as reader:
        page, alert = reader.page, reader.page.get_by_role("alert")
        reader.open("search?user_id=nobody")
        expect(page.locator(".nothing")).to_contain_text("Nothing is remembered here yet.")
        reader.open("timeline?user_id=nobody")
        expect(page.locator(".nothing")).to_contain_text("Nothing is remembered here yet.")
        reader.open("search?user_id=ana", key=writer)
        expect(alert).to_contain_text("lacks the scope 'read'")
        refused(reader, 403)
        reader.open("timeline?user_id=ana", key=slow)
        expect(alert).to_contain_text("6 requests a minute")
        expect(alert.get_by_role("button")).to_be_disabled()
        expect(alert.get_by_role("button")).to_contain_text("Try again in")
        reader.shot("refused")
        refused(reader, 429)
        server.service.broken = "the models lie elsewhere"
        reader.open("timeline?user_id=ana")
        expect(alert).to_contain_text("The models lie elsewhere.")
        refused(reader, 503)
        server.service.broken = ""
        page.context.set_offline(True)
        page.evaluate("location.hash = '#/graph?user_id=ana'")
        expect(alert).to_contain_text("The server cannot be reached.")
        reader.errors.clear()
        page.context.set_offline(False)
        expect(alert.get_by_role("button")).to_be_enabled()
        alert.get_by_role("button").click()
        expect(page.locator(".ring0 text")).to_have_text("Ana")


def test_the_keyboard_is_enough(browser: Browser, server: Running, shots: Path) -> None:
    with reading(browser, server, shots) as reader:
        reader.open("timeline?user_id=ana")
        page = reader.page
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("#view")).to_be_focused()
        expect(page.locator(".timeline")).to_be_visible()
        page.keyboard.press("/")
        expect(page.locator("#question")).to_be_focused()
        page.keyboard.type("Who teaches pottery?")
        page.keyboard.press("Enter")
        expect(page.locator(".summing h2")).to_be_focused()
        page.keyboard.press("j")
        page.keyboard.press("j")
        expect(page.locator(".source").nth(1)).to_be_focused()
        page.keyboard.press("k")
        page.keyboard.press("Enter")
        expect(page.locator(".eyebrow")).to_have_text("Passage")
        page.go_back()
        expect(page.locator("#question")).to_have_value("Who teaches pottery?")


VIEWS = {
    "search": "search?user_id=ana&q=When+did+Ana+sign+up+for+pottery%3F",
    "timeline": "timeline?user_id=ana",
    "frame": "frame/{frame}?user_id=ana",
    "graph": "graph?user_id=ana&entity=Ana&hops=2",
    "forgotten": "forgotten?user_id=ana",
    "choose": "choose",
}
# Of every piece of text that is less than readable (WCAG 2 AA), its colours and words.
FAINT = """() => {
  const rgb = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = (c) => c.slice(0, 3).map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
    .reduce((sum, v, n) => sum + v * [0.2126, 0.7152, 0.0722][n], 0);
  const under = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const faint = [];
  for (const e of document.querySelectorAll('body *:not(svg *):not(option)')) {
    const said = [...e.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data.trim()).join('');
    if (!said || !e.checkVisibility()) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(under(e))];
    if ((Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05) < 4.5) faint.push(`${getComputedStyle(e).color}: ${said}`);
  }
  return faint;
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [PHONE, DESK], ids=["360", "1280"])
def test_every_view_fits_a_phone_and_can_be_read_by_day_and_night(
    browser: Browser, server: Running, shots: Path, size: dict[str, int], scheme: str
) -> None:
    with reading(browser, server, shots, viewport=size, color_scheme=scheme) as reader:
        for name, place in VIEWS.items():
            reader.open(place.format(frame=server.frames[SIGNED]))
            reader.shot(f"{name}-{size['width']}-{scheme}")
            assert reader.widest() <= size["width"], name
            assert reader.page.evaluate(FAINT) == [], name
        if size is PHONE:
            small = reader.page.locator("button, .tabs a").evaluate_all(
                "all => all.filter(e => e.getBoundingClientRect().height < 40).map(e => e.textContent)"
            )
            assert small == []


def test_what_was_forgotten_is_told_without_its_words(browser: Browser, server: Running, shots: Path) -> None:
    message = {"role": "user", "name": "Eve", "content": "my locker opens with 7731"}
    told = server.ask("POST", "/v1/memories", json={"messages": [message], "user_id": "eve"}).json()
    gone = told["results"][0]["id"]
    assert server.ask("DELETE", f"/v1/memories/{gone}").status_code == 200
    with reading(browser, server, shots) as reader:
        reader.open("forgotten?user_id=eve")
        page = reader.page
        expect(page.locator(".trail li b")).to_contain_text("1 passage, 1 episode")
        page.fill("#item", gone)
        page.press("#item", "Enter")
        expect(page.locator(".changes")).to_contain_text("Deleted")
        assert "7731" not in page.locator("body").inner_text()
        reader.shot("forgotten")
        _, usual = server.service.keys.create("acme")
        reader.open("forgotten?user_id=eve", key=usual)
        expect(page.locator("#no-trail")).to_contain_text("audit")
        refused(reader, 403)


def test_the_graph_is_told_of_a_tenants_own_facts_only(server: Running) -> None:
    names = server.ask("GET", "/v1/graph/entities", params={"user_id": "ana", "limit": 3}).json()
    assert names["results"][0]["name"] == "Ana" and len(names["results"]) == 3 and not names["partial"]
    around = server.ask("GET", "/v1/graph", params={"user_id": "ana", "entity": " the  CITY library"}).json()
    assert around["entity"] == {"name": "city library", "aliases": ["the city library"], "facts": 2}
    assert {one["name"]: one["distance"] for one in around["entities"]} == {"Ana": 1, "Narva": 1}
    # The facts between the neighbours too: Ana lives in Narva.
    assert {(f["source"], f["relation"], f["target"]) for f in around["facts"]} == {
        ("Ana", "works at", "city library"),
        ("city library", "is in", "Narva"),
        ("Ana", "lives in", "Narva"),
    }
    cut = server.ask("GET", "/v1/graph", params={"user_id": "ana", "entity": "ana", "hops": 2, "limit": 2}).json()
    assert len(cut["entities"]) == 2 and cut["more"] >= 3
    assert {f["source"] for f in cut["facts"]} | {f["target"] for f in cut["facts"]} <= {
        cut["entity"]["name"],
        *(one["name"] for one in cut["entities"]),
    }
    _, stranger = server.service.keys.create("strangers")
    _, writer = server.service.keys.create("acme", scopes=["write"])
    asked = {"user_id": "ana", "entity": "Ana"}
    assert server.ask("GET", "/v1/graph", stranger, params=asked).status_code == 404
    assert server.ask("GET", "/v1/graph/entities", stranger, params={"user_id": "ana"}).json()["results"] == []
    assert server.ask("GET", "/v1/graph", writer, params=asked).status_code == 403
    assert server.ask("GET", "/v1/graph", params={"entity": "Ana"}).status_code == 422
    assert server.ask("GET", "/v1/graph", params={**asked, "hops": 3}).status_code == 422
    assert {"/v1/graph", "/v1/graph/entities"} <= set(server.ask("GET", "/openapi.json").json()["paths"])


def refused(reader: Reader, status: int) -> None:
    """Take note that the browser told of a refusal, which is all that it may have told."""
    assert reader.errors and all(str(status) in told for told in reader.errors)
    reader.errors.clear()
