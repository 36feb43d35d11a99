"""Colours and layout of the page: light, and dark where the reader's system is."""

from __future__ import annotations

REPORT_STYLE = """
:root {
  --paper: #f7f8fa; --card: #fff; --ink: #1b1f27; --soft: #5b6472; --faint: #8b94a3; --line: #e2e6ec; --stripe: #f3f5f8;
  --accent: #2563c9; --accent-soft: #e7effc; --warn: #9a5b00; --warn-soft: #fff4df; --warn-line: #f0d9ac;
  --ready: #e8930c; --sleep: #dfe3ea; --code: #f0f2f6; --mono: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #111318; --card: #181b21; --ink: #e6e8ec; --soft: #a3a9b5; --faint: #767e8c; --line: #2a2f38; --stripe: #1d2128;
    --accent: #7fb0ff; --accent-soft: #1c2a42; --warn: #f2bd6b; --warn-soft: #2b2314; --warn-line: #57431f;
    --ready: #d98a17; --sleep: #2b303a; --code: #20242c;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
header { margin-bottom: 18px; }
.brand { margin: 0 0 2px; color: var(--accent); font-size: 13px; font-weight: 600; letter-spacing: .02em; }
h1 { margin: 0 0 16px; font: 600 24px/1.3 var(--mono); overflow-wrap: anywhere; }
h2 { margin: 0 0 4px; font-size: 18px; }
h3 { margin: 18px 0 6px; font-size: 15px; }
h3 span { color: var(--faint); font-weight: 400; font-size: 13px; margin-left: 6px; }
dl { display: flex; flex-wrap: wrap; gap: 8px 28px; margin: 0 0 14px; }
dt { color: var(--soft); font-size: 12px; }
dd { margin: 0; font-size: 17px; font-weight: 600; font-variant-numeric: tabular-nums; }
section { background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 18px 20px; margin: 16px 0; }
.note { color: var(--soft); font-size: 13px; margin: 2px 0 10px; }
.note:empty { display: none; }
.whole { color: var(--soft); font-size: 13px; margin: 0 0 4px; }
.warning { background: var(--warn-soft); border-color: var(--warn-line); }
.warning h2 { color: var(--warn); }
.warning ul { margin: 6px 0 0; padding-left: 20px; }
.repeat { display: flex; align-items: center; gap: 12px; background: var(--code); border-radius: 8px; padding: 9px 12px; }
.repeat span { color: var(--soft); font-size: 12px; white-space: nowrap; }
.repeat code { flex: 1; font: 13px var(--mono); overflow-wrap: anywhere; }
button { font: 13px system-ui, sans-serif; color: var(--accent); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 4px 10px; cursor: pointer; }
button:hover { background: var(--accent-soft); }
button:focus-visible, canvas:focus-visible, input:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
.tools { display: flex; flex-wrap: wrap; align-items: center; gap: 8px; margin-bottom: 10px; }
.legend { color: var(--soft); font-size: 12px; margin-left: auto; display: flex; align-items: center; gap: 6px; }
.legend i { display: inline-block; width: 16px; height: 10px; border-radius: 2px; margin-left: 10px; }
.legend .run { background: linear-gradient(90deg, #4c86e0 0 33%, #2fa58f 33% 66%, #b57ad6 66%); }
.legend .ready { background: var(--ready); } .legend .sleep { background: var(--sleep); }
.legend .tick { width: 2px; height: 12px; background: var(--ink); }
.canvas { position: relative; }
canvas { display: block; width: 100%; border-radius: 6px; cursor: grab; touch-action: pan-y; }
canvas.drag { cursor: grabbing; }
#tip { position: absolute; max-width: 460px; pointer-events: none; background: var(--ink); color: var(--paper); font: 12px/1.4 var(--mono); padding: 6px 9px; border-radius: 6px; white-space: pre-wrap; overflow-wrap: anywhere; z-index: 3; }
#tip[hidden] { display: none; }
.cards { display: grid; grid-template-columns: repeat(auto-fill, minmax(500px, 1fr)); gap: 18px; }
figure { margin: 8px 0 0; min-width: 0; }
figure.wide { margin-top: 18px; }
figcaption { display: flex; flex-wrap: wrap; gap: 4px 16px; align-items: baseline; margin-bottom: 6px; }
figcaption span { color: var(--soft); font-size: 13px; font-variant-numeric: tabular-nums; }
figcaption span b { color: var(--ink); font-weight: 600; }
.chart { max-width: 100%; height: auto; display: block; font: 12px system-ui, sans-serif; }
.chart.heat { width: 100%; }
.chart .axis { fill: var(--soft); font-variant-numeric: tabular-nums; }
.chart .value { fill: var(--ink); font-variant-numeric: tabular-nums; }
.chart .track { fill: var(--stripe); } .chart .bar { fill: var(--accent); opacity: .85; }
.chart .grid { stroke: var(--line); stroke-width: 1; } .chart .field { fill: var(--stripe); }
.chart .cell { fill: color-mix(in oklab, var(--accent) var(--s), var(--stripe)); }
.chart .cell:hover, .chart g:hover .bar { opacity: 1; stroke: var(--ink); stroke-width: 1; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-size: 13px; }
th { text-align: left; color: var(--soft); font-weight: 600; padding: 4px 14px 4px 0; border-bottom: 1px solid var(--line); }
td { padding: 3px 14px 3px 0; border-bottom: 1px solid var(--line); vertical-align: top; font-family: var(--mono); font-size: 12.5px; }
td.number { text-align: right; font-variant-numeric: tabular-nums; }
table.log { width: 100%; } table.log td:last-child { overflow-wrap: anywhere; width: 60%; } table.log td:first-child { text-align: right; }
table.bars { width: 100%; max-width: 760px; } table.bars .name { white-space: nowrap; width: 1%; } table.bars .number { width: 1%; }
.meter span { display: block; height: 11px; background: var(--accent); opacity: .75; border-radius: 3px; min-width: 2px; margin-top: 4px; }
.columns { display: grid; grid-template-columns: minmax(260px, 1fr) minmax(320px, 2fr); gap: 8px 32px; align-items: start; }
.columns h3 { margin-top: 0; }
details { margin-top: 12px; } summary { cursor: pointer; color: var(--accent); } summary b { color: var(--ink); } summary span { color: var(--soft); font-size: 13px; margin-left: 8px; }
input[type=search] { width: 100%; max-width: 420px; margin: 10px 0 4px; padding: 6px 10px; font: 13px var(--mono); color: var(--ink); background: var(--paper); border: 1px solid var(--line); border-radius: 6px; }
#event-rows, #verifier pre { max-height: 460px; overflow: auto; border: 1px solid var(--line); border-radius: 6px; }
#event-rows table { width: 100%; } #event-rows th { position: sticky; top: 0; background: var(--card); padding-left: 10px; } #event-rows td:first-child { padding-left: 10px; }
pre { margin: 8px 0 0; padding: 10px 12px; background: var(--code); font: 12px/1.45 var(--mono); white-space: pre; }
pre .source { color: var(--accent); } pre .state { color: var(--soft); } pre .path { color: var(--warn); } pre .sum { font-weight: 600; }
@media (max-width: 700px) { .cards { grid-template-columns: 1fr; } .columns { grid-template-columns: 1fr; } .legend { margin-left: 0; } }
@media print { button, input, .tools { display: none; } section { break-inside: avoid; } #event-rows, #verifier pre { max-height: none; } }
"""
