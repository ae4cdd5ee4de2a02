// RoPE's planes and what its extensions do to them, as attention_priors.positions.rotary and .extensions have it.
"use strict";

const Planes = (() => {
  const DYNAMIC = 2; // the factor of the encoding rope-dynamic-ntk

  // ω_i = base^(-2i/width), i = 0 .. width/2 - 1
  function rope(width, base) {
    return Array.from({ length: width / 2 }, (_, i) => base ** ((-2 * i) / width));
  }

  function interpolate(omega, factor) {
    return omega.map((w) => w / factor);
  }

  // ω_i factor^(-i/(d/2-1))
  function ntk(omega, factor) {
    return omega.map((w, i) => w * factor ** (-i / (omega.length - 1)));
  }

  // `ntk` by factor · length / trained - (factor - 1)
  function dynamicNtk(omega, factor, length, trained) {
    return ntk(omega, factor * Math.max(1, length / trained) - (factor - 1));
  }

  // The fractional index of the plane that turns `turned` times within `length`
  function planeOf(omega, turned, length) {
    const step = Math.log(omega[0] / omega[omega.length - 1]) / (omega.length - 1);
    return Math.log((length * omega[0]) / (2 * Math.PI * turned)) / step;
  }

  // Interpolated where a plane turns once or less in training, kept from 32 turns on, linear in the index between
  function yarn(omega, factor, trained, fast = 32, slow = 1) {
    const low = Math.max(Math.floor(planeOf(omega, fast, trained)), 0);
    const high = Math.min(Math.ceil(planeOf(omega, slow, trained)), 2 * omega.length - 1);
    const width = high - low || 1e-3;
    return omega.map((w, i) => w + Math.min(1, Math.max(0, (i - low) / width)) * (w / factor - w));
  }

  // Interpolated up to one turn in training, kept from four turns on, linear in the turns between
  function llama3(omega, factor, trained, slow = 1, fast = 4) {
    return omega.map((w, i) => {
      const kept = Math.min(1, Math.max(0, (turns(omega, trained)[i] - slow) / (fast - slow)));
      return w + (1 - kept) * (w / factor - w);
    });
  }

  // length ω_i / 2π
  function turns(omega, length) {
    return omega.map((w) => (length * w) / (2 * Math.PI));
  }

  // 1/t = (1 + 0.1 ln factor)^2, by which YaRN multiplies the logits; 1 elsewhere
  function sharpness(method, factor) {
    return method === "yarn" ? (0.1 * Math.log(factor) + 1) ** 2 : 1;
  }

  // The frequencies under a method for a context `factor` times the trained length
  function extended(method, omega, factor, trained) {
    const made = {
      none: () => omega,
      pi: () => interpolate(omega, factor),
      ntk: () => ntk(omega, factor),
      "dynamic-ntk": () => dynamicNtk(omega, DYNAMIC, factor * trained, trained),
      yarn: () => yarn(omega, factor, trained),
      llama3: () => llama3(omega, factor, trained),
    };
    return made[method]();
  }

  // A plane meets unseen angles where training showed it less than the circle, and reading turns it farther.
  function unseen(before, after) {
    return before.map((turned, i) => turned < 1 && after[i] > turned * (1 + 1e-9));
  }

  return { extended, rope, sharpness, turns, unseen };
})();

if (typeof module !== "undefined") module.exports = Planes;

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer-planes");
  const power = (exponent) => 2 ** Number(exponent);
  const fields = {
    method: {},
    width: { value: power, text: (width) => `${width} (${width / 2} planes)` },
    base: { value: (exponent) => Number((10 ** Number(exponent)).toPrecision(3)) },
    trained: { value: power, text: (T) => `${Panel.number(T)} tokens` },
    factor: { value: (exponent) => Number(power(exponent).toPrecision(3)), text: (s) => `${Panel.number(s)} T` },
  };

  Panel.connect(root, fields, ({ method, width, base, trained, factor }) => {
    const omega = Planes.rope(width, base), changed = Planes.extended(method, omega, factor, trained);
    const before = Planes.turns(omega, trained), after = Planes.turns(changed, factor * trained);
    const unseen = Planes.unseen(before, after), last = omega.length - 1;
    const partial = before.filter((turned) => turned < 1).length, count = unseen.filter(Boolean).length;
    const all = [...before, ...after];
    // In steps of 16, so that the curves move and not the axis alone
    const low = 16 ** Math.floor(Math.log(Math.min(0.5, ...all)) / Math.log(16));
    const high = 16 ** Math.ceil(Math.log(Math.max(2, ...all)) / Math.log(16));
    const every = Math.max(1, Math.ceil(last / 8)), shown = [...omega.keys()].filter((i) => i % every === 0);
    const reading = Panel.number(factor * trained);

    Panel.chart(document.getElementById("planes-turns"), {
      title: `Turns of ${omega.length} planes within ${trained} trained and ${reading} read tokens; ` +
        `${count} meet angles unseen in training`,
      x: Panel.linear(-0.5, last + 0.5, shown.map((i) => [i, String(i)]), "plane (fast to slow)"),
      y: Panel.byLog(low, high, Panel.octaves(low, high), "turns"),
      bands: [{ from: low, to: 1 }],
      rules: [{ y: 1, text: "one turn", left: true }],
      sticks: before.map((turned, i) => ({ x: i, from: turned, to: after[i], kind: unseen[i] ? "second" : "quiet" })),
      curves: [{ points: before.map((turned, i) => [i, turned]), kind: "quiet" },
               { points: after.map((turned, i) => [i, turned]) }],
      dots: after.map((turned, i) => ({ x: i, y: turned, kind: unseen[i] ? "second" : "" })),
    });
    Panel.show(root, { partial: `${partial} of ${omega.length}`, unseen: `${count} of ${omega.length}`,
                       slowed: `${Panel.number(omega[0] / changed[0])} to ${Panel.number(omega[last] / changed[last])}`,
                       sharpness: Panel.number(Planes.sharpness(method, factor)) });
    const rows = before.map((turned, i) => {
      const row = document.createElement("tr");
      const told = unseen[i] ? "unseen angles" : turned < 1 ? "within the arc of training" : "whole circle seen";
      const numbers = [turned, after[i], omega[i] / changed[i]].map(Panel.number);
      for (const text of [String(i), ...numbers, told]) {
        row.append(Object.assign(document.createElement("td"), { textContent: text }));
      }
      return row;
    });
    root.querySelector("tbody").replaceChildren(...rows);
    Panel.say(root.querySelector("[role=status]"),
      `${partial} of ${omega.length} planes turn less than once in ${Panel.number(trained)} tokens. ` +
      `Read at ${reading} tokens, ${count || "none"} of them ${count > 1 ? "meet" : "meets"} angles that training ` +
      "never showed.");
  });
}
