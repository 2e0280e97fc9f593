// How the page looks, and the little that it does.
#include "stats/stats_page.h"

namespace wdelta {

const char* const kPageStyle = R"css(
:root{color-scheme:light dark;--paper:#fff;--soft:#f5f7f9;--line:#dce1e6;--ink:#1c2128;--muted:#57606a;--accent:#0b5cad;
--second:#a4480b;--bar:#b9d3ee;--good:#1a6e31;--bad:#b3261e;--badsoft:#fdf0ef}
@media screen and (prefers-color-scheme:dark){:root{--paper:#101418;--soft:#171c21;--line:#2c343c;--ink:#e6e9ed;
--muted:#9aa4af;--accent:#79b8ff;--second:#f2a66f;--bar:#234a73;--good:#6fd08c;--bad:#ff8f87;
--badsoft:#2c1917}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,-apple-system,"Segoe UI",Roboto,
"DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums;-webkit-text-size-adjust:100%}
main{max-width:1160px;margin:0 auto;padding:48px 32px 72px}
h1{font-size:34px;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:4px 0 12px;text-wrap:balance}
h2{font-size:19px;line-height:1.3;font-weight:650;margin:0 0 4px}
h3{font-size:13px;font-weight:600;margin:0 0 6px}
p{margin:0 0 8px;max-width:78ch}
.kicker,.note{color:var(--muted)}
.kicker{font-size:13px;letter-spacing:.02em;margin:0}
.lead{font-size:17px;max-width:72ch}
.note{font-size:13px;margin-bottom:16px}
.name{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;font-size:.88em;
overflow-wrap:anywhere}
section{margin-top:52px}
dl.facts{display:flex;flex-wrap:wrap;gap:1px;margin:28px 0 0;padding:0;background:var(--line);
border:1px solid var(--line);border-radius:8px;overflow:hidden}
.facts div{flex:1 1 170px;background:var(--paper);padding:14px 18px 16px}
.facts dt{font-size:13px;color:var(--muted)}
.facts dd{margin:2px 0 0;font-size:21px;font-weight:600;line-height:1.3}
.facts dd small{display:block;font-size:12.5px;font-weight:400;color:var(--muted)}
ul.findings{list-style:none;margin:10px 0 0;padding:0}
.findings li{padding:9px 16px;border-left:3px solid var(--second);background:var(--soft);margin-bottom:6px;
overflow-wrap:anywhere}
.wide{overflow-x:auto;max-width:100%;padding-bottom:4px}
.wide:focus-visible,button:focus-visible,summary:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
.maps{display:flex;flex-wrap:wrap;gap:28px 56px;align-items:flex-start}
.legend{gap:8px 36px;margin-bottom:24px}
.maps>.wide,.charts>*{min-width:0}
svg{display:block}
.charts{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,500px),1fr));gap:36px 56px}
svg.chart{width:100%;height:auto;min-width:520px;max-width:600px}
.chart text{font-size:11.5px;fill:var(--muted)}
.chart .strong{fill:var(--ink);font-weight:600;font-size:12.4px}
.chart .grid{stroke:var(--line);fill:none}
.chart .base{stroke:var(--muted);fill:none}
.chart .line{stroke:var(--accent);stroke-width:1.8;fill:none;stroke-linejoin:round}
.chart .dot{fill:var(--accent)}
.chart .zero{fill:var(--paper);stroke:var(--accent);stroke-width:1.4}
.chart .column{fill:var(--bar)}
.chart .anchor{fill:var(--second)}
.chart .hover{fill:transparent}
.chart .hover:hover{fill:var(--muted);fill-opacity:.13}
table{border-collapse:collapse;width:100%;font-size:14px}
th,td{padding:6px 14px 6px 0;text-align:left;vertical-align:baseline;border-bottom:1px solid var(--line)}
th:last-child,td:last-child{padding-right:4px}
th{font-size:13px;font-weight:600;color:var(--muted);white-space:nowrap;border-bottom-color:var(--muted)}
td.n,th.n{text-align:right}
td:not(.name){white-space:nowrap}
td.name:first-child{min-width:190px}
.share{width:30%;min-width:110px}
.charts .share,.rows .share{min-width:44px}
.rows .share{width:20%}
.charts td:nth-child(3) span{background:var(--second)}
.share span{display:block;height:12px;border-radius:2px;background:var(--accent);min-width:2px}
.ok,.failed{font-weight:650;white-space:nowrap}
.ok{color:var(--good)}
.failed{color:var(--bad)}
tr.over td{background:var(--badsoft)}
.rows{max-height:min(78vh,860px);overflow:auto;border:1px solid var(--line);border-radius:8px}
.rows table{border-collapse:separate;border-spacing:0}
.rows th{position:sticky;top:0;background:var(--soft);z-index:1}
.rows th,.rows td,.rows th:last-child,.rows td:last-child{padding-left:14px;padding-right:14px}
.rows tr:last-child td{border-bottom:0}
.rows tbody tr:hover td{background:var(--soft)}
th button{all:unset;cursor:pointer;color:inherit;font:inherit;display:inline-flex;gap:5px;align-items:baseline}
th button:hover{color:var(--ink)}
th button::after{content:"\2195";opacity:.45;font-size:11px}
th[aria-sort=ascending] button::after{content:"\2191";opacity:1}
th[aria-sort=descending] button::after{content:"\2193";opacity:1}
th[aria-sort=ascending],th[aria-sort=descending]{color:var(--ink)}
footer{margin-top:56px;padding-top:16px;border-top:1px solid var(--line);font-size:13px;color:var(--muted)}
.onpaper{display:none}
@media(max-width:640px){main{padding:28px 16px 48px}h1{font-size:26px}.lead{font-size:16px}section{margin-top:40px}
.facts div{flex-basis:140px;padding:11px 14px}.facts dd{font-size:18px}
.share{min-width:70px}th,td{padding-right:10px}}
@media print{body{font-size:10.5pt}main{max-width:none;padding:0}section{margin-top:26pt}h1{font-size:22pt}
h2,h3,.note{break-after:avoid}svg,tr,li,dl.facts{break-inside:avoid}
.wide,.rows{overflow:visible;max-height:none;border:0}.maps svg{width:auto;height:auto;max-width:100%;max-height:24cm}
.charts{display:block}.charts>*{margin-bottom:18pt;max-width:14cm}
svg.chart{min-width:0}.rows th{position:static;background:none}.onpaper{display:block}
.rows tbody tr:nth-child(n+101){display:none}
.rows table{font-size:8.5pt}.rows th{white-space:normal;font-size:8pt}.rows th,.rows td{padding:3pt 8pt 3pt 0}
th button{display:inline}th button::after{content:none}
*{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
)css";

const char* const kPageScript = R"js(
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const headings = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  const sortBy = (column) => {
    const heading = headings[column], counts = heading.classList.contains("n");
    const was = heading.getAttribute("aria-sort");
    const down = was === "none" ? counts : was === "ascending";  // of figures, the largest are wanted first
    for (const other of headings) other.setAttribute("aria-sort", "none");
    heading.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => {
      const text = row.cells[column].textContent;
      if (!counts) return text;
      const figure = Number.parseFloat(text.replace(/[,<>]/g, ""));  // "1,234", "0.12 %", "3 of 8"
      return Number.isNaN(figure) ? -1 : figure;
    };
    const compare = counts ? (a, b) => a - b : new Intl.Collator("en", {numeric: true}).compare;
    const keyed = [...body.rows].map((row) => [key(row), row]);
    keyed.sort((a, b) => down ? compare(b[0], a[0]) : compare(a[0], b[0]));
    body.append(...keyed.map((pair) => pair[1]));
  };
  headings.forEach((heading, column) => {
    if (!heading.hasAttribute("aria-sort")) heading.setAttribute("aria-sort", "none");
    if (!heading.textContent) return;  // of bars, which say again what another column says
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = heading.textContent;
    button.addEventListener("click", () => sortBy(column));
    heading.replaceChildren(button);
  });
}
)js";

}  // namespace wdelta
