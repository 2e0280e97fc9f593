"""A page or a picture of `wdelta stats` does nothing but show itself, whatever the files say that it is about."""

import http.server
import threading

from harness import test
from reports_made import HOSTILE, column, expect_quiet, hostile_pair, made


class Counting:
    """A server on this machine that gives out one folder and remembers what it was asked for."""

    def __init__(self, folder):
        asked = self.asked = []

        class Handler(http.server.SimpleHTTPRequestHandler):
            def __init__(self, *arguments):
                super().__init__(*arguments, directory=folder)

            def log_request(self, *_):
                asked.append(self.path)

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = "http://127.0.0.1:%d/" % self.server.server_port

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


@test("a page fetches nothing but itself and the console stays empty")
def _(t, browser):
    made(t)
    with Counting(t.folder) as server:
        browser.open(server.address + "report.html")
        assert browser.run("return performance.getEntriesByType('resource').length") == 0
        asked = [address for address in browser.requests() if not address.startswith("data:")]
        assert asked == [server.address + "report.html"], asked
        assert server.asked == ["/report.html"], server.asked
    expect_quiet(browser)


@test("a page could not fetch anything even if it wanted to")
def _(t, browser):
    made(t)
    with Counting(t.folder) as server:
        browser.open(server.address + "report.html")
        outcome = browser.run("""
            const image = document.createElement("img");
            image.src = "/stolen.png";
            const style = document.createElement("link");
            style.rel = "stylesheet", style.href = "/stolen.css";
            document.body.append(image, style);
            return fetch("/stolen.json").then(() => "fetched", () => "refused");""")
        assert outcome == "refused", outcome
        assert server.asked == ["/report.html"], server.asked


@test("names that are markup are shown as they are and do nothing")
def _(t, browser):
    file = '"><img src=x onerror=window.harmed=1><title>.safetensors'
    browser.open(made(t, tensors=hostile_pair(), base=file))
    found = browser.run("""
        for (const element of document.querySelectorAll("*")) {
          for (const kind of ["mouseover", "focus", "load", "error"]) element.dispatchEvent(new Event(kind));
        }
        const odd = [...document.querySelectorAll("*")].filter(
            (element) => [...element.attributes].some((attribute) => attribute.name.startsWith("on")));
        return [window.harmed ?? 0, document.scripts.length, document.images.length, odd.length, document.title];""")
    assert found[:4] == [0, 1, 0, 0] and file in found[4], found
    shown = column(browser, "Name")
    assert len(shown) == len(HOSTILE), shown
    for name in HOSTILE[:7]:
        assert name in shown, (name, shown)
    assert any("\\u202e" in name for name in shown) and not any("\u202e" in name for name in shown), shown
    assert any("\\x1b" in name and "\\t" in name for name in shown), shown
    assert max(len(name) for name in shown) < 200
    expect_quiet(browser)


@test("the picture opens alone, with every cell and nothing else")
def _(t, browser):
    browser.open(made(t, "svg"))
    root, scripts, cells, links = browser.run("""
        const all = [...document.querySelectorAll("*")];
        return [document.documentElement.localName, document.querySelectorAll("script,foreignObject").length,
                [...document.querySelectorAll("g > title")].map((title) => title.textContent),
                all.filter((element) => element.hasAttribute("href") || element.hasAttribute("xlink:href")).length];""")
    assert (root, scripts, links) == ("svg", 0, 0), (root, scripts, links)
    assert any(cell.startswith("layer 0, mlp.up_proj: 20 of 1,000 elements changed (2.00 %)") for cell in cells), cells
    assert any(cell.startswith("lm_head: 100 of 1,000 elements") for cell in cells), cells
    browser.open(made(t, "svg", tensors=hostile_pair(), base="]]><script>window.harmed=1<!--.safetensors"))
    assert browser.run("return [document.documentElement.localName, window.harmed ?? 0]") == ["svg", 0]
    assert browser.run("return document.querySelectorAll('script,parsererror').length") == 0
    expect_quiet(browser)
