"""The page's script: draws the timeline, filters the events, copies the command.  No library, nothing from the network."""

from __future__ import annotations

SCRIPT = r"""
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("timeline-data").textContent);
  var canvas = document.getElementById("timeline-canvas"), tip = document.getElementById("tip");
  document.querySelectorAll("[data-copy]").forEach(function (b) {
    b.addEventListener("click", function () {
      var node = document.getElementById(b.getAttribute("data-copy")), range = document.createRange();
      range.selectNodeContents(node);
      var chosen = window.getSelection(); chosen.removeAllRanges(); chosen.addRange(range);
      try { document.execCommand("copy"); b.textContent = "Copied"; } catch (e) { b.textContent = "Selected"; }
    });
  });
  document.querySelectorAll("[data-filter]").forEach(function (field) {
    var rows = document.querySelectorAll("#" + field.getAttribute("data-filter") + " tbody tr");
    field.addEventListener("input", function () {
      var word = field.value.toLowerCase();
      rows.forEach(function (r) { r.style.display = r.textContent.toLowerCase().indexOf(word) < 0 ? "none" : ""; });
    });
  });
  if (!canvas) return;

  var span = data.end - data.begin, view = [0, span], SIDE = 132, ROW = 22, AXIS = 26, GAP = 16;
  var dark = window.matchMedia("(prefers-color-scheme: dark)");
  var rowOf = {}, byTask = {}, byCpu = [];
  data.tasks.forEach(function (t, i) { rowOf[t[0]] = i; byTask[t[0]] = { slices: [], wakeups: [], events: [] }; });
  for (var c = 0; c < data.cpus; c++) byCpu.push({ slices: [], events: [] });
  data.slices.forEach(function (s) { byCpu[s[0]].slices.push(s); if (byTask[s[1]]) byTask[s[1]].slices.push(s); });
  data.wakeups.forEach(function (w) { if (byTask[w[0]]) byTask[w[0]].wakeups.push(w[1]); });
  data.events.forEach(function (e) { byCpu[e[1]].events.push(e); if (byTask[e[2]]) byTask[e[2]].events.push(e); });
  // What a task did while it did not run: asleep until woken, then waiting for a CPU.
  Object.keys(byTask).forEach(function (pid) {
    var t = byTask[pid], meta = data.tasks[rowOf[pid]], at = meta[2], wake = 0, out = [];
    function rest(from, to, state) {
      while (wake < t.wakeups.length && t.wakeups[wake] < from) wake++;
      var woken = state === "R" || state === "R+" ? from : wake < t.wakeups.length && t.wakeups[wake] <= to ? t.wakeups[wake] : to;
      if (woken > from) out.push([from, woken, "asleep" + ({ D: ", uninterruptible", T: ", stopped", t: ", traced" }[state] || "")]);
      if (to > woken) out.push([woken, to, "waiting for a CPU"]);
    }
    var state = "S";
    t.slices.forEach(function (s) { if (s[2] > at) rest(at, s[2], at === meta[2] && at > 0 ? "S" : state); at = s[3]; state = s[4]; });
    var end = meta[3] < 0 ? span : meta[3];
    if (end > at && "ZX".indexOf(state) < 0) rest(at, end, state);
    t.rest = out;
  });
  var tops = [], height = 0;
  (function () {
    var y = AXIS;
    for (var i = 0; i < data.cpus; i++) { tops.push({ kind: "cpu", id: i, y: y }); y += ROW; }
    y += GAP;
    data.tasks.forEach(function (t) { tops.push({ kind: "task", id: t[0], y: y }); y += ROW; });
    height = y + 6;
  })();

  function css(name) { return getComputedStyle(document.documentElement).getPropertyValue(name).trim(); }
  var HUES = [214, 168, 282, 24, 338, 190, 128, 52, 250, 4];
  function color(pid) {
    var i = rowOf[pid] === undefined ? pid : rowOf[pid];
    return dark.matches ? "hsl(" + HUES[i % 10] + " 48% 52%)" : "hsl(" + HUES[i % 10] + " 62% 56%)";
  }
  function time(ns) {
    var a = Math.abs(ns);
    return a >= 1e9 ? +(ns / 1e9).toPrecision(6) + " s" : a >= 1e6 ? +(ns / 1e6).toPrecision(6) + " ms" : a >= 1e3 ? +(ns / 1e3).toPrecision(6) + " us" : Math.round(ns) + " ns";
  }
  function name(pid) { var i = rowOf[pid]; return pid ? (i === undefined ? "pid " + pid : data.tasks[i][1]) : "idle"; }

  var width = 0, ctx = canvas.getContext("2d");
  function x(t) { return SIDE + (t - view[0]) / (view[1] - view[0]) * (width - SIDE); }
  function at(px) { return view[0] + (px - SIDE) / (width - SIDE) * (view[1] - view[0]); }
  function firstAfter(list, t, key) { // index of the first whose key is above t
    var lo = 0, hi = list.length;
    while (lo < hi) { var m = (lo + hi) >> 1; if (list[m][key] > t) hi = m; else lo = m + 1; }
    return lo;
  }
  function draw() {
    var ratio = window.devicePixelRatio || 1;
    width = canvas.clientWidth;
    canvas.style.height = height + "px";
    canvas.width = width * ratio; canvas.height = height * ratio;
    ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
    ctx.clearRect(0, 0, width, height);
    var ink = css("--ink"), soft = css("--soft"), line = css("--line"), sleep = css("--sleep"), ready = css("--ready"), stripe = css("--stripe");
    var step = ticks(view[1] - view[0]), t0 = Math.ceil(view[0] / step) * step;
    ctx.font = "11px system-ui, sans-serif"; ctx.textBaseline = "middle"; ctx.textAlign = "center";
    for (var t = t0; t <= view[1]; t += step) {
      ctx.fillStyle = line; ctx.fillRect(Math.round(x(t)), AXIS - 6, 1, height - AXIS + 6);
      ctx.fillStyle = soft;
      var tx = x(t), label = time(t), half = ctx.measureText(label).width / 2;
      ctx.fillText(label, Math.min(Math.max(tx, SIDE + half), width - half - 1), 9);
    }
    tops.forEach(function (row) {
      var y = row.y, h = ROW - 4;
      ctx.fillStyle = stripe; ctx.fillRect(SIDE, y, width - SIDE, h);
      ctx.save(); ctx.beginPath(); ctx.rect(SIDE, y - 2, width - SIDE, ROW); ctx.clip();
      var source = row.kind === "cpu" ? byCpu[row.id] : byTask[row.id];
      if (row.kind === "task") {
        spans(source.rest, 0, 1, function (s, a, b) {
          var waits = s[2].charAt(0) === "w";
          ctx.fillStyle = waits ? ready : sleep;
          ctx.fillRect(a, waits ? y + 4 : y + h / 2 - 2, b, waits ? h - 8 : 4);
        });
      }
      var lastX = -9;
      spans(source.slices, 2, 3, function (s, a, b) {
        ctx.fillStyle = color(s[1]); ctx.fillRect(a, y, b, h);
        if (row.kind === "cpu" && b > 34) {
          ctx.fillStyle = "#0b0e14"; ctx.textAlign = "left"; ctx.font = "600 11px system-ui, sans-serif";
          var n = name(s[1]), room = Math.floor((b - 8) / 6.4);
          ctx.fillText(n.length > room ? n.slice(0, Math.max(room - 1, 1)) + "…" : n, Math.max(a, SIDE) + 5, y + h / 2 + 1);
        }
      });
      var i = firstAfter(source.events, view[0], 0);
      ctx.fillStyle = ink;
      for (; i < source.events.length && source.events[i][0] <= view[1]; i++) {
        var ex = x(source.events[i][0]);
        if (ex - lastX >= 1) { lastX = ex; ctx.globalAlpha = row.kind === "cpu" ? .35 : .75; ctx.fillRect(ex - .5, y + h - (row.kind === "cpu" ? 4 : 8), 1.3, row.kind === "cpu" ? 4 : 8); }
      }
      ctx.globalAlpha = 1;
      ctx.restore();
      ctx.textAlign = "right"; ctx.font = "12px system-ui, sans-serif"; ctx.fillStyle = row.kind === "cpu" ? ink : soft;
      ctx.fillText(row.kind === "cpu" ? "CPU " + row.id : name(row.id) + " " + row.id, SIDE - 10, y + h / 2 + 1);
    });
  }
  function spans(list, from, to, paint) {
    var i = 0, lo = 0, hi = list.length;
    while (lo < hi) { var m = (lo + hi) >> 1; if (list[m][to] < view[0]) lo = m + 1; else hi = m; }
    var filled = -9;
    for (i = lo; i < list.length && list[i][from] <= view[1]; i++) {
      var a = x(Math.max(list[i][from], view[0])), b = x(Math.min(list[i][to], view[1]));
      if (b <= filled) continue; // hidden behind its neighbour's pixel
      filled = b;
      paint(list[i], a, Math.max(b - a, 0.8));
    }
  }
  function ticks(range) {
    var raw = range / Math.max((width - SIDE) / 110, 2), p = Math.pow(10, Math.floor(Math.log10(raw)));
    return [1, 2, 5, 10].map(function (n) { return n * p; }).find(function (n) { return n >= raw; }) || raw;
  }
  function zoom(factor, centre) {
    var size = Math.min(Math.max((view[1] - view[0]) * factor, 20), span), share = (centre - view[0]) / (view[1] - view[0]);
    var from = Math.min(Math.max(centre - size * share, 0), span - size);
    view = [from, from + size]; draw();
  }
  function move(by) {
    var size = view[1] - view[0], from = Math.min(Math.max(view[0] + by, 0), span - size);
    view = [from, from + size]; draw();
  }
  function what(px, py) {
    var row = tops.find(function (r) { return py >= r.y && py < r.y + ROW; });
    if (!row || px < SIDE) return "";
    var t = at(px), near = (view[1] - view[0]) / (width - SIDE) * 3;
    var source = row.kind === "cpu" ? byCpu[row.id] : byTask[row.id], out = ["at " + time(t)];
    var s = source.slices.find(function (s) { return s[2] <= t && t < s[3]; });
    if (s) out.push((row.kind === "cpu" ? name(s[1]) + " (" + s[1] + ")" : "running on CPU " + s[0]) + " for " + time(s[3] - s[2]) +
      (s[4] === "R" || s[4] === "R+" ? ", then preempted" : ""));
    else if (row.kind === "task") {
      var r = source.rest.find(function (r) { return r[0] <= t && t < r[1]; });
      out.push(r ? r[2] + " for " + time(r[1] - r[0]) : "not there");
    } else out.push("idle");
    var i = firstAfter(source.events, t - near, 0), shown = 0, more = 0;
    for (; i < source.events.length && source.events[i][0] <= t + near; i++) {
      if (shown < 4) { var e = source.events[i]; out.push(data.kinds[e[3]] + "  " + e[4]); shown++; } else more++;
    }
    if (more) out.push("and " + more + " more events");
    return out.join("\n");
  }
  var dragging = null;
  canvas.addEventListener("wheel", function (e) {
    e.preventDefault();
    if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) move(e.deltaX / (width - SIDE) * (view[1] - view[0]));
    else zoom(Math.exp(e.deltaY * 0.0022), Math.max(at(e.offsetX), view[0]));
  }, { passive: false });
  canvas.addEventListener("pointerdown", function (e) { dragging = e.offsetX; canvas.classList.add("drag"); canvas.setPointerCapture(e.pointerId); });
  canvas.addEventListener("pointerup", function () { dragging = null; canvas.classList.remove("drag"); });
  canvas.addEventListener("pointerleave", function () { tip.hidden = true; });
  canvas.addEventListener("pointermove", function (e) {
    if (dragging !== null) { var px = e.offsetX; move((dragging - px) / (width - SIDE) * (view[1] - view[0])); dragging = px; tip.hidden = true; return; }
    var said = what(e.offsetX, e.offsetY);
    tip.hidden = !said; tip.textContent = said;
    if (said) {
      tip.style.left = Math.max(Math.min(e.offsetX + 14, width - tip.offsetWidth - 4), 0) + "px";
      tip.style.top = e.offsetY + 18 + "px";
    }
  });
  canvas.addEventListener("keydown", function (e) {
    var size = view[1] - view[0], centre = (view[0] + view[1]) / 2;
    var does = { ArrowLeft: function () { move(-size / 8); }, ArrowRight: function () { move(size / 8); }, "+": function () { zoom(0.6, centre); },
      "=": function () { zoom(0.6, centre); }, "-": function () { zoom(1.7, centre); }, "0": function () { view = [0, span]; draw(); } }[e.key];
    if (does) { e.preventDefault(); does(); }
  });
  document.querySelectorAll("[data-zoom]").forEach(function (b) {
    b.addEventListener("click", function () {
      var centre = (view[0] + view[1]) / 2, how = b.getAttribute("data-zoom");
      if (how === "all") { view = [0, span]; draw(); } else zoom(how === "in" ? 0.5 : 2, centre);
    });
  });
  window.addEventListener("resize", draw);
  dark.addEventListener("change", draw);
  draw();
  var pixels = canvas.width ? ctx.getImageData(0, 0, canvas.width, canvas.height).data : [], inked = 0;
  for (var p = 3; p < pixels.length; p += 4) if (pixels[p]) inked++;
  document.documentElement.setAttribute("data-drawn", data.slices.length + " " + data.events.length + " " + inked);
})();
"""
