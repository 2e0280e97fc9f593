"""A page of `wdelta stats` can be read and used: sorted, narrow, in the dark, without scripts."""

import os

import training
from harness import test
from reports_made import CHANGES, column, expect_quiet, hostile_pair, made, model, sort_states

ENTER, TAB, SPACE = "\ue007", "\ue004", " "

# The texts whose contrast with what is behind them is below 4.5 to 1, as WCAG AA asks. The cell of a map is a rectangle
# before its text; everything else stands on the nearest background that is not transparent.
CONTRAST = """
    const light = (colour) => {
      const parts = colour.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255).map(
          (part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
      return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2];
    };
    const behind = (element) => {
      for (let at = element; at; at = at.parentElement) {
        const colour = getComputedStyle(at).backgroundColor;
        if (colour !== "rgba(0, 0, 0, 0)") return colour;
      }
      return "rgb(255, 255, 255)";
    };
    const faint = [];
    for (const element of document.body.querySelectorAll("*")) {
      if (!element.getClientRects().length || element.closest("title,script")) continue;
      if (![...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim())) continue;
      const style = getComputedStyle(element), cell = element.closest("g")?.querySelector("rect");
      const inPicture = element instanceof SVGElement;
      const ink = light(inPicture ? style.fill : style.color);
      const paper = light(inPicture && cell ? getComputedStyle(cell).fill : behind(element));
      const contrast = (Math.max(ink, paper) + 0.05) / (Math.min(ink, paper) + 0.05);
      if (contrast < 4.5) faint.push([element.localName, element.textContent.slice(0, 40), contrast]);
    }
    return faint;"""


@test("a click on a heading sorts by that figure, the largest first, and another click turns it round")
def _(t, browser):
    browser.open(made(t))
    unsorted = [int(figure) for figure in column(browser, "Changed")]
    assert sorted(unsorted) == sorted([*CHANGES.values(), *[0] * (len(unsorted) - len(CHANGES))]), unsorted
    heading = browser.run("""return [...document.querySelectorAll("table.sortable th")].findIndex(
        (cell) => cell.textContent.trim() === "Changed") + 1""")
    selector = "table.sortable th:nth-child(%d) button" % heading
    browser.click(selector)
    # 100 comes before 20 and 9: they are figures, not words.
    assert [int(figure) for figure in column(browser, "Changed")] == sorted(unsorted, reverse=True)
    assert column(browser, "Name")[0] == "lm_head.weight"
    browser.click(selector)
    assert [int(figure) for figure in column(browser, "Changed")] == sorted(unsorted)
    states = sort_states(browser)
    assert states[heading - 1] == "ascending" and states.count("none") == len(states) - 1, states
    expect_quiet(browser)


@test("the table is sorted by keyboard alone, and says how")
def _(t, browser):
    browser.open(made(t))
    browser.run("document.querySelector('table.sortable th button').focus()")
    names = column(browser, "Name")
    browser.press(ENTER)
    assert column(browser, "Name") == sorted(names), column(browser, "Name")
    assert sort_states(browser)[0] == "ascending"
    browser.press(SPACE)
    assert column(browser, "Name") == sorted(names, reverse=True)
    assert sort_states(browser)[0] == "descending"
    browser.press(TAB)
    assert browser.run("return document.activeElement.closest('th').cellIndex") == 1
    browser.press(ENTER)
    assert sort_states(browser)[:2] == ["none", "ascending"], sort_states(browser)


@test("without scripts the page still has its table, and its headings do not pretend to be buttons")
def _(t, browser):
    address = made(t)
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    browser.open(address)
    root = browser.command("DOM.getDocument")["root"]["nodeId"]

    def count(selector):
        return len(browser.command("DOM.querySelectorAll", nodeId=root, selector=selector)["nodeIds"])

    assert count("table.sortable tbody tr") == len(model({})), count("table.sortable tbody tr")
    assert count("th button") == 0
    assert count("svg.heat") >= 3


@test("no page is wider than the window, on a desk and on a telephone")
def _(t, browser):
    training.history(t, 1, 2, 3)
    t.good("stats", training.url(t), "--format", "html", "-o", "history.html")
    made(t, "html", tensors=hostile_pair())
    os.rename(t.path("report.html"), t.path("hostile.html"))
    made(t, "html", "--compare-encodings")
    for name in ("history.html", "hostile.html", "report.html"):
        address = "file://" + t.path(name)
        for width in (1280, 400):
            browser.size(width, 800)
            browser.open(address)
            inner, needed = browser.run("""
                const page = document.documentElement;
                return [page.clientWidth, page.scrollWidth];""")
            assert needed <= inner <= width, (address, width, inner, needed)


@test("a history has a point, a column and a row for each delta")
def _(t, browser):
    training.history(t, 1, 2, 3, 4)
    t.good("stats", training.url(t), "--format", "html", "-o", "history.html")
    browser.open("file://" + t.path("history.html"))
    points, columns, rows = browser.run("""
        return ["svg.chart circle", "svg.chart rect.column", "table.sortable tbody tr"].map(
            (selector) => document.querySelectorAll(selector).length)""")
    assert (points, columns, rows) == (3, 3, 4), (points, columns, rows)
    browser.click("table.sortable th:nth-child(1) button")
    assert column(browser, "Number") == ["4", "3", "2", "1"], column(browser, "Number")


@test("of thousands of tensors the page has as many as are sensible, and says so")
def _(t, browser):
    pair = tuple({"t%05d" % i: ("U8", [2], bytes([value, i % 251])) for i in range(6000)} for value in (1, 2))
    browser.open(made(t, "html", tensors=pair))
    names = column(browser, "Name")
    assert len(names) == 5000, len(names)
    assert "5,000 of 6,000 rows" in browser.run("return document.body.textContent")
    browser.click("table.sortable th:first-child button")
    browser.click("table.sortable th:first-child button")
    assert column(browser, "Name") == sorted(names, reverse=True)


@test("every text can be read, in the light and in the dark")
def _(t, browser):
    address = made(t, "html", "--fail-if", "nan>0")
    papers = set()
    for colours in ("light", "dark"):
        browser.prefer(colours)
        browser.open(address)
        papers.add(browser.run("return getComputedStyle(document.body).backgroundColor"))
        faint = browser.run(CONTRAST)
        assert not faint, (colours, faint)
    assert len(papers) == 2, papers


@test("the same report makes the same page")
def _(t, browser):
    made(t)
    first = t.tree("report.html")
    os.unlink(t.path("report.html"))
    made(t)
    assert t.tree("report.html") == first
