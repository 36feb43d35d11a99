"""A flame graph: one SVG file with nothing outside of it, in light and dark, that can be zoomed and searched."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from arch.records import dataclass, field
from simkernel.recording.formats.stacks import Folded, counted
from simkernel.recording.model import Recording

WIDTH_PX, ROW_PX, TOP, BOTTOM, SIDE = 1200, 18, 46, 26, 10  # px
LEAST = 0.4  # px: what is narrower is not drawn
CHARACTER = 6.6  # px of one


@dataclass(slots=True)
class Node:
    """A function called from the one below it."""

    name: str
    weight: int = 0
    children: dict[str, Node] = field(default_factory=dict)

    def depth(self) -> int:
        """Rows above it."""
        deepest, row = 0, list(self.children.values())
        while row:
            deepest += 1
            row = [child for node in row for child in node.children.values()]
        return deepest


def tree(stacks: Folded) -> Node:
    """All stacks as one tree."""
    root = Node("all")
    for stack, weight in stacks.items():
        node = root
        node.weight += weight
        for name in stack:
            node = node.children.setdefault(name, Node(name))
            node.weight += weight
    return root


def boxes(root: Node) -> Iterator[tuple[Node, float, int]]:
    """(node, left edge as a share of the whole, row) of those wide enough to be seen."""
    todo = [(root, 0.0, 0)]
    while todo:
        node, left, row = todo.pop()
        if node.weight / root.weight * (WIDTH_PX - 2 * SIDE) < LEAST:
            continue
        yield node, left, row
        for name in sorted(node.children):
            child = node.children[name]
            todo.append((child, left, row + 1))
            left += child.weight / root.weight


def hue(name: str) -> int:
    """A colour of its own for each function, the same in every picture: warm, from 0 to 54 degrees."""
    value = 0
    for byte in name.encode():
        value = (value * 31 + byte) & 0xFFFF
    return value % 55


def svg(recording: Recording) -> Iterator[bytes]:
    """The whole file."""
    stacks, unit = counted(recording)
    title = " ".join(recording.meta.argv) or "simkernel"
    yield b'<?xml version="1.0" encoding="UTF-8"?>\n'
    yield drawing(tree(stacks), unit, title).encode()


def drawing(root: Node, unit: str, title: str) -> str:
    """The `svg` element."""
    rows = root.depth() + 1
    height = TOP + rows * ROW_PX + BOTTOM
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="flame" viewBox="0 0 {WIDTH_PX} {height}" width="{WIDTH_PX}" '
        f'height="{height}" role="img" data-rows="{rows}">\n<title>Flame graph of {escape(title)}</title>\n<style>{FLAME_STYLE}</style>\n'
        f'<text class="head" x="{WIDTH_PX / 2}" y="24" text-anchor="middle">{escape(shorten(title, 110))}</text>\n'
        f'<text class="reset" x="{SIDE}" y="24" visibility="hidden">Reset zoom</text>\n'
        f'<text class="search" x="{WIDTH_PX - SIDE}" y="24" text-anchor="end">Search</text>\n'
        f'<text class="details" x="{SIDE}" y="{height - 9}">{root.weight:,} {unit}</text>\n'
        f'<text class="matched" x="{WIDTH_PX - SIDE}" y="{height - 9}" text-anchor="end"></text>\n'
    ]
    for node, left, row in boxes(root):
        parts.append(box(node, left, row, rows, root.weight, unit))
    return "".join(parts) + f"<script><![CDATA[{SCRIPT}]]></script>\n</svg>\n"


def box(node: Node, left: float, row: int, rows: int, total: int, unit: str) -> str:
    """One function: rectangle, name as far as there is room, and what a pointer over it tells."""
    share = node.weight / total
    x, width = SIDE + left * (WIDTH_PX - 2 * SIDE), share * (WIDTH_PX - 2 * SIDE)
    y = TOP + (rows - 1 - row) * ROW_PX
    room = int((width - 6) / CHARACTER)
    label = shorten(node.name, room) if room >= 3 else ""
    return (
        f'<g data-x="{left:.6f}" data-w="{share:.6f}" data-r="{row}" data-n="{escape(node.name)}">'
        f"<title>{escape(node.name)} ({node.weight:,} {unit}, {share * 100:.2f}%)</title>"
        f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="{ROW_PX - 1}" rx="2" style="--h:{hue(node.name)}"/>'
        f'<text x="{x + 3:.1f}" y="{y + 12.5}">{escape(label)}</text></g>\n'
    )


def shorten(name: str, room: int) -> str:
    """With two dots where something is left out."""
    return name if len(name) <= room else name[: max(room - 2, 0)] + ".."


FLAME_STYLE = """
.flame { font: 11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: #fff; max-width: 100%; height: auto; }
.flame text { fill: #1a1a1a; pointer-events: none; }
.flame .head { font: 600 15px system-ui, sans-serif; }
.flame .reset, .flame .search { fill: #2563c9; cursor: pointer; pointer-events: all; font: 13px system-ui, sans-serif; }
.flame .details, .flame .matched { font: 12px system-ui, sans-serif; fill: #555; }
.flame rect { fill: hsl(var(--h) 78% 68%); cursor: pointer; }
.flame g:hover rect { stroke: #1a1a1a; stroke-width: 1; }
.flame g.found rect { fill: hsl(275 70% 72%); }
.flame g.below rect { opacity: .5; }
@media (prefers-color-scheme: dark) {
  .flame { background: #16181d; }
  .flame text { fill: #14161a; }
  .flame .head { fill: #e6e8ec; }
  .flame .reset, .flame .search { fill: #7fb0ff; }
  .flame .details, .flame .matched { fill: #a3a9b5; }
  .flame rect { fill: hsl(var(--h) 62% 60%); }
  .flame g:hover rect { stroke: #fff; }
}
"""

SCRIPT = """
(function () {
  var root = document.currentScript ? document.currentScript.closest("svg") : document.documentElement;
  if (!root) return;
  var W = %d, SIDE = %d, C = %s;
  var inner = W - 2 * SIDE, groups = Array.prototype.slice.call(root.querySelectorAll("g"));
  var details = root.querySelector(".details"), plain = details.textContent;
  var reset = root.querySelector(".reset"), search = root.querySelector(".search"), matched = root.querySelector(".matched");
  function num(g, k) { return parseFloat(g.getAttribute("data-" + k)); }
  function label(g, w) {
    var n = g.getAttribute("data-n"), room = Math.floor((w - 6) / C);
    return room < 3 ? "" : n.length <= room ? n : n.slice(0, room - 2) + "..";
  }
  function zoom(to) {
    var x0 = to ? num(to, "x") : 0, w0 = to ? num(to, "w") : 1, r0 = to ? num(to, "r") : 0;
    groups.forEach(function (g) {
      var x = num(g, "x"), w = num(g, "w"), r = num(g, "r"), below = r < r0;
      var seen = below ? x <= x0 + 1e-7 && x + w >= x0 + w0 - 1e-7 : x >= x0 - 1e-7 && x + w <= x0 + w0 + 1e-7;
      g.style.display = seen ? "" : "none";
      if (!seen) return;
      var left = below ? 0 : (x - x0) / w0, wide = below ? 1 : w / w0;
      var rect = g.querySelector("rect"), text = g.querySelector("text");
      rect.setAttribute("x", SIDE + left * inner); rect.setAttribute("width", Math.max(wide * inner, 0.2));
      text.setAttribute("x", SIDE + left * inner + 3); text.textContent = label(g, wide * inner);
      g.classList.toggle("below", below);
    });
    reset.setAttribute("visibility", to && r0 ? "visible" : "hidden");
  }
  groups.forEach(function (g) {
    g.addEventListener("click", function () { zoom(g); });
    g.addEventListener("mouseover", function () { details.textContent = g.querySelector("title").textContent; });
    g.addEventListener("mouseout", function () { details.textContent = plain; });
  });
  reset.addEventListener("click", function () { zoom(null); });
  search.addEventListener("click", function () {
    var word = window.prompt("Functions whose name has (a regular expression):", "");
    if (word === null) return;
    var re; try { re = new RegExp(word); } catch (e) { return; }
    var spans = [];
    groups.forEach(function (g) {
      var hit = word !== "" && re.test(g.getAttribute("data-n"));
      g.classList.toggle("found", hit);
      if (hit) spans.push([num(g, "x"), num(g, "x") + num(g, "w")]);
    });
    spans.sort(function (a, b) { return a[0] - b[0]; });
    var sum = 0, end = 0;
    spans.forEach(function (s) { if (s[1] > end) { sum += s[1] - Math.max(s[0], end); end = s[1]; } });
    matched.textContent = word === "" ? "" : "matched " + (100 * sum).toFixed(1) + "%%";
  });
})();
""" % (WIDTH_PX, SIDE, CHARACTER)
