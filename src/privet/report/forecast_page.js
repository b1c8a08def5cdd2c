// The page of a forecast: two sliders, the figures that follow, and the picture drawn to the width of the screen.
"use strict";
(() => {
  const byId = id => document.getElementById(id);
  const facts = JSON.parse(byId("forecast").dataset.forecast);
  const [epsilonDial, rowsDial] = [byId("epsilon"), byId("rows")];
  const ends = facts.epsilons;

  // Values between known places, straight on the given scales; the nearer end beyond them.
  const between = (x, xs, ys) => {
    if (x <= xs[0]) return ys[0];
    for (let i = 1; i < xs.length; i++) {
      if (x <= xs[i]) return ys[i - 1] + (ys[i] - ys[i - 1]) * (x - xs[i - 1]) / (xs[i] - xs[i - 1]);
    }
    return ys[ys.length - 1];
  };
  const twoDigits = x => Number(x.toPrecision(2));
  const words = x => twoDigits(x).toLocaleString("en", { maximumFractionDigits: 12 });
  const points = x => (Math.round(x * 10) / 10 + 0).toFixed(1).replace("-", "−");
  const signals = facts.curve.signals.map(Math.log10);
  const lossAt = (line, epsilon, rows) => between(Math.log10(epsilon * rows), signals, facts.curve[line]);
  const noiseAt = epsilon =>
    10 ** between(Math.log10(epsilon), facts.noise.epsilons.map(Math.log10), facts.noise.sizes.map(Math.log10));
  const smallest = (line, rows) => facts.tried.find(epsilon => lossAt(line, epsilon, rows) <= facts.within);

  const make = (name, attributes, text) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (text !== undefined) element.textContent = text;
    return element;
  };

  const draw = (epsilon, rows) => {
    const svg = byId("picture"), width = Math.max(280, Math.round(svg.parentElement.clientWidth)), height = 300;
    const [left, right, top, bottom] = [44, 14, 14, 46];
    const grid = Array.from({ length: 61 }, (_, i) => 10 ** (Math.log10(ends[0]) + i / 60 * Math.log10(ends[1] / ends[0])));
    const highest = Math.max(5, Math.ceil(Math.max(...grid.map(e => lossAt("high", e, rows))) / 5) * 5);
    const lowest = Math.min(0, Math.floor(Math.min(...grid.map(e => lossAt("low", e, rows))) / 5) * 5);
    const at = e => left + (width - left - right) * Math.log(e / ends[0]) / Math.log(ends[1] / ends[0]);
    const up = y => top + (height - top - bottom) * (highest - y) / (highest - lowest);
    const place = (e, y) => `${at(e).toFixed(1)},${up(y).toFixed(1)}`;
    const step = highest - lowest > 40 ? 20 : highest - lowest > 20 ? 10 : 5;
    const kept = [...svg.querySelectorAll("title, desc")];
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    const parts = [];
    for (let y = Math.ceil(lowest / step) * step; y <= highest; y += step) {
      const line = { x1: left, x2: width - right, y1: up(y), y2: up(y), class: y === 0 ? "axis" : "grid" };
      parts.push(make("line", line));
      parts.push(make("text", { x: left - 7, y: up(y) + 4, class: "end muted" }, String(y).replace("-", "−")));
    }
    for (const e of [0.01, 0.1, 1, 10]) {
      const anchor = e === 0.01 ? "muted" : e === 10 ? "end muted" : "middle muted";
      parts.push(make("line", { x1: at(e), x2: at(e), y1: top, y2: height - bottom, class: "grid" }));
      parts.push(make("text", { x: at(e), y: height - bottom + 17, class: anchor }, e));
    }
    parts.push(make("text", { x: (left + width - right) / 2, y: height - 8, class: "middle muted" }, "epsilon"));
    const upper = grid.map(e => place(e, lossAt("high", e, rows)));
    const lower = grid.map(e => place(e, lossAt("low", e, rows))).reverse();
    parts.push(make("path", { d: `M${[...upper, ...lower].join(" L")} Z`, class: "band" }));
    const middle = grid.map(e => place(e, lossAt("expected", e, rows))).join(" ");
    parts.push(make("polyline", { points: middle, class: "line l1" }));
    const [x, y] = [at(epsilon), up(lossAt("expected", epsilon, rows))];
    parts.push(make("line", { x1: x, x2: x, y1: up(lossAt("high", epsilon, rows)), y2: up(lossAt("low", epsilon, rows)), class: "mark" }));
    parts.push(make("circle", { cx: x, cy: y, r: 6, class: "dot" }));
    svg.replaceChildren(...kept, ...parts);
  };

  const show = () => {
    const epsilon = twoDigits(10 ** epsilonDial.value), rows = twoDigits(10 ** rowsDial.value);
    byId("epsilon-value").textContent = words(epsilon);
    byId("rows-value").textContent = words(rows);
    epsilonDial.setAttribute("aria-valuetext", `epsilon ${words(epsilon)}`);
    rowsDial.setAttribute("aria-valuetext", `${words(rows)} records`);
    byId("expected-value").textContent = points(lossAt("expected", epsilon, rows));
    byId("band-value").textContent =
      `${points(lossAt("low", epsilon, rows))} to ${points(lossAt("high", epsilon, rows))}`;
    byId("noise-value").textContent = words(noiseAt(epsilon));
    const useful = smallest("expected", rows), sure = smallest("high", rows);
    byId("useful-value").textContent = useful === undefined ? "above 10" : words(useful);
    byId("sure-value").textContent = sure === undefined ? "above 10" : words(sure);
    draw(epsilon, rows);
  };

  epsilonDial.addEventListener("input", show);
  rowsDial.addEventListener("input", show);
  window.addEventListener("resize", show);
  byId("dials").hidden = false;
  show();
})();
