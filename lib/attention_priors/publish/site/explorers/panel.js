// What the explorers share: controls that report their values, and charts in SVG in the page's width and colours.
"use strict";

const Panel = (() => {
  const MARGIN = { left: 66, right: 22, top: 10, bottom: 46 };
  const QUIET = 400; // ms without a change before a screen reader is told
  const SPOKEN_RANGE = "input[type=range]";

  function make(name, attributes = {}, text = null) {
    const node = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
    if (text !== null) node.textContent = text;
    return node;
  }

  // 0.0123, −4.57, 128, 16,384: three digits that count, thousands apart.
  function number(value) {
    if (value < 0) return `−${number(-value)}`;
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "–";
    if (value && (value < 1e-4 || value >= 1e7)) {
      const [digits, exponent] = value.toExponential(1).split("e");
      return `${digits} · 10^${Number(exponent)}`;
    }
    const digits = value >= 100 ? { maximumFractionDigits: 0 } : { maximumSignificantDigits: 3 };
    return Math.abs(value).toLocaleString("en", digits);
  }

  function percent(share) {
    if (share > 0 && share < 0.0005) return "< 0.05 %";
    return share < 1 && share > 0.9995 ? "> 99.95 %" : `${(100 * share).toFixed(1)} %`;
  }

  // A scale maps values to 0..1. `ticks` are [value, text].
  function linear(low, high, ticks, label) {
    return { of: (value) => (value - low) / (high - low), ticks, label };
  }

  // From 0 to 100 %.
  function shares(label) {
    return linear(0, 1, [0, 25, 50, 75, 100].map((share) => [share / 100, `${share} %`]), label);
  }

  function byLog(low, high, ticks, label) {
    const span = Math.log(high / low);
    return { of: (value) => Math.log(value / low) / span, ticks, label };
  }

  // Lag 0 has a place, the rest is logarithmic: log2(1 + lag).
  function lags(farthest, label) {
    const span = Math.log2(1 + farthest);
    const step = span > 12 ? 3 : span > 7 ? 2 : 1;
    const ticks = [[0, "0"]];
    for (let power = 1; 2 ** power <= farthest; power += step) ticks.push([2 ** power, length(2 ** power)]);
    return { of: (lag) => Math.log2(1 + lag) / span, ticks, label };
  }

  // Linear up to ±1, logarithmic beyond.
  function symmetric(low, high, ticks, label) {
    const bend = (v) => Math.sign(v) * (Math.abs(v) <= 1 ? Math.abs(v) : 1 + Math.log10(Math.abs(v)));
    return { of: (value) => (bend(value) - bend(low)) / (bend(high) - bend(low)), ticks, label };
  }

  function length(value) {
    return value >= 1024 && value % 1024 === 0 ? `${value / 1024}K` : String(value);
  }

  // Round steps from 0 to `high`, at most six: 0, 0.1, 0.2, ..
  function steps(high) {
    const power = 10 ** Math.floor(Math.log10(high / 5)), times = high / 5 / power;
    const step = power * (times <= 1 ? 1 : times <= 2 ? 2 : times <= 5 ? 5 : 10);
    return Array.from({ length: Math.floor(high / step + 1e-9) + 1 }, (_, k) => Number((k * step).toPrecision(12)));
  }

  // Powers of two from `low` to `high` as ticks, at most `most` of them.
  function octaves(low, high, most = 8) {
    const first = Math.ceil(Math.log2(low)), last = Math.floor(Math.log2(high));
    const step = Math.max(1, Math.ceil((last - first + 1) / most));
    const ticks = [];
    for (let power = first; power <= last; power += step) {
      ticks.push([2 ** power, power < 0 ? `1/${length(2 ** -power)}` : length(2 ** power)]);
    }
    return ticks;
  }

  // About 400 whole lags from 0 to `farthest`, closer together near 0.
  function sampled(farthest) {
    const found = new Set([0, farthest]);
    for (let i = 0; i <= 400; i++) found.add(Math.round(2 ** ((i / 400) * Math.log2(1 + farthest)) - 1));
    return [...found].sort((a, b) => a - b);
  }

  /* Draws {x, y, curves, bands, rules, dots, sticks, notes, title} into `holder`, anew when the holder's width changes.
     curves: {points: [[x, y], ..], kind}; bands: {from, to} on y; rules: {x or y, text}, the text at the foot (`low`) or
     on the left (`left`) if told; dots: {x, y, text, kind}; sticks: {x, from, to, kind}; notes: {across, up, text},
     shares of the picture. `kind` is a class that explorers.css colours. */
  function chart(holder, spec) {
    holder.spec = spec;
    if (!holder.watched) {
      holder.watched = true;
      new ResizeObserver(() => {
        if (holder.drawn !== holder.clientWidth) paint(holder);
      }).observe(holder);
    }
    paint(holder);
  }

  function paint(holder) {
    const { x, y, title, curves = [], bands = [], rules = [], dots = [], sticks = [], notes = [] } = holder.spec;
    const width = (holder.drawn = holder.clientWidth), height = Math.min(320, Math.max(230, 0.5 * width));
    const inner = { width: width - MARGIN.left - MARGIN.right, height: height - MARGIN.top - MARGIN.bottom };
    if (inner.width <= 0) return;
    const across = (value) => MARGIN.left + inner.width * x.of(value);
    const up = (value) => MARGIN.top + inner.height * (1 - y.of(value));
    const svg = make("svg", { width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": title });
    const id = `clip-${holder.id}`;
    const clip = make("clipPath", { id });
    clip.append(make("rect", { x: MARGIN.left, y: MARGIN.top - 1, width: inner.width + 1, height: inner.height + 2 }));
    svg.append(clip);
    const inside = make("g", { "clip-path": `url(#${id})` });
    for (const { from, to } of bands) {
      inside.append(make("rect", { class: "band", x: MARGIN.left, width: inner.width,
                                   y: up(to), height: Math.max(0, up(from) - up(to)) }));
    }
    const bottom = MARGIN.top + inner.height;
    let rightmost = -Infinity;
    for (const [value, text] of x.ticks) {
      const at = across(value);
      if (at - rightmost < 9 * text.length + 4) continue;
      rightmost = at;
      svg.append(make("line", { class: "grid", x1: at, x2: at, y1: MARGIN.top, y2: bottom }));
      svg.append(make("text", { class: "tick", x: at, y: bottom + 16, "text-anchor": "middle" }, text));
    }
    for (const [value, text] of y.ticks) {
      const ends = { x1: MARGIN.left, x2: width - MARGIN.right, y1: up(value), y2: up(value) };
      svg.append(make("line", { class: "grid", ...ends }));
      svg.append(make("text", { class: "tick", x: MARGIN.left - 6, y: up(value) + 4, "text-anchor": "end" }, text));
    }
    const centre = [MARGIN.left + inner.width / 2, MARGIN.top + inner.height / 2];
    const name = { class: "name", "text-anchor": "middle" };
    svg.append(make("text", { ...name, x: centre[0], y: height - 8 }, x.label));
    svg.append(make("text", { ...name, x: 12, y: centre[1], transform: `rotate(-90 12 ${centre[1]})` }, y.label));
    for (const { x: from, from: low, to: high, kind = "" } of sticks) {
      const ends = { x1: across(from), x2: across(from), y1: up(low), y2: up(high) };
      inside.append(make("line", { class: `stick ${kind}`, ...ends }));
    }
    for (const { points, kind = "first" } of curves) {
      const steps = points.filter(([, value]) => Number.isFinite(value));
      const d = steps.map(([a, b], i) => `${i ? "L" : "M"}${across(a).toFixed(2)},${pinned(up(b), height).toFixed(2)}`);
      inside.append(make("path", { class: `curve ${kind}`, d: d.join("") }));
    }
    svg.append(inside);
    const right = width - MARGIN.right;
    for (const rule of rules) {
      const flat = rule.y !== undefined, at = flat ? up(rule.y) : across(rule.x);
      if (at < (flat ? MARGIN.top : MARGIN.left) - 1 || at > (flat ? bottom : right) + 1) continue;
      const ends = flat ? { x1: MARGIN.left, x2: right, y1: at, y2: at }
                        : { x1: at, x2: at, y1: MARGIN.top, y2: bottom };
      svg.append(make("line", { class: "rule", ...ends }));
      const end = flat ? !rule.left : at > centre[0];
      const place = flat ? { x: end ? right - 2 : MARGIN.left + 4, y: at - 5 }
                         : { x: at + (end ? -5 : 5), y: rule.low ? bottom - 8 : MARGIN.top + 12 };
      svg.append(make("text", { class: "note", ...place, "text-anchor": end ? "end" : "start" }, rule.text));
    }
    for (const { across: a, up: b, text } of notes) {
      svg.append(make("text", { class: "note", x: MARGIN.left + a * inner.width, y: bottom - b * inner.height }, text));
    }
    for (const { x: a, y: b, text = "", kind = "" } of dots) {
      const at = [across(a), up(b)];
      if (at[0] < MARGIN.left - 1 || at[0] > right + 1 || at[1] < 0 || at[1] > bottom + 1) continue;
      svg.append(make("circle", { class: `dot ${kind}`, cx: at[0], cy: at[1], r: 4 }));
      const late = at[0] > MARGIN.left + 0.85 * inner.width;
      if (text) svg.append(make("text", { class: "note", x: at[0] + (late ? -8 : 8), y: at[1] - 8,
                                          "text-anchor": late ? "end" : "start" }, text));
    }
    holder.replaceChildren(svg);
  }

  // Far outside the picture a browser's renderer loses digits; the clip hides the difference.
  function pinned(value, height) {
    return Math.min(Math.max(value, -height), 2 * height);
  }

  /* Reads the controls below `root` by the names in `fields`, {name: {value, text}}, and calls `update(state)` at the
     start and at every change. `value` turns the control's string into a number, `text` writes it in the read-out. */
  function connect(root, fields, update) {
    const controls = {};
    for (const name of Object.keys(fields)) controls[name] = root.querySelector(`[name=${name}]`);
    const read = (name) => {
      const control = controls[name], raw = control.type === "checkbox" ? control.checked : control.value;
      return fields[name].value ? fields[name].value(raw) : raw;
    };
    const refresh = () => {
      const state = {};
      for (const [name, field] of Object.entries(fields)) {
        state[name] = read(name);
        if (!controls[name].matches(SPOKEN_RANGE)) continue;
        const text = (field.text || number)(state[name]);
        controls[name].setAttribute("aria-valuetext", text);
        root.querySelector(`output[for=${controls[name].id}]`).textContent = text;
      }
      update(state);
    };
    for (const control of Object.values(controls)) control.addEventListener("input", refresh);
    // A preset is a button whose data-set holds the controls' raw values.
    for (const button of root.querySelectorAll("button[data-set]")) {
      button.addEventListener("click", () => {
        for (const [name, raw] of Object.entries(JSON.parse(button.dataset.set))) {
          if (controls[name].type === "checkbox") controls[name].checked = raw;
          else controls[name].value = raw;
        }
        refresh();
      });
    }
    refresh();
  }

  function show(root, numbers) {
    for (const [name, text] of Object.entries(numbers)) root.querySelector(`[data-number=${name}]`).textContent = text;
  }

  // One sentence for everybody, read aloud once the controls rest.
  function say(node, sentence) {
    clearTimeout(node.waiting);
    node.waiting = setTimeout(() => { node.textContent = sentence; }, node.textContent ? QUIET : 0);
  }

  return {
    byLog, chart, connect, lags, length, linear, number, octaves, percent, sampled, say, shares, show, steps, symmetric,
  };
})();
