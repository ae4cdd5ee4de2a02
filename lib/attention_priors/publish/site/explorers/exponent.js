// The local exponent of a prior and what follows from it: attention_priors.theory.phase, notebook 18.
"use strict";

const Exponent = (() => {
  const EPSILON = 1e-5; // GeneralizedGaussian.epsilon
  const SANDWICH = { heads: 12, width: 128, base: 10000 };
  const BERNOULLI = [1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510];

  // (1/r_h) Σ_i cos(d ω_i), r_h = 8 h / H
  function sandwich(lag, head) {
    let sum = 0;
    for (let i = 0; i < SANDWICH.width / 2; i++) sum += Math.cos(lag * SANDWICH.base ** ((-2 * i) / SANDWICH.width));
    return (sum * SANDWICH.heads) / (8 * head);
  }

  // Log-priors b(d), unnormalised
  const FAMILIES = {
    alibi: ({ m }) => (lag) => -m * lag,
    gaussian: ({ alpha, beta }) => (lag) => -(((lag + EPSILON) / alpha) ** beta),
    kerple: ({ r1, r2 }) => (lag) => -r1 * Math.log1p(r2 * lag),
    sandwich: ({ head }) => (lag) => sandwich(lag, head),
    uniform: () => () => 0,
  };

  function table(family, parameters, length) {
    const logs = FAMILIES[family](parameters);
    return Float64Array.from({ length }, (_, lag) => logs(lag));
  }

  /* [[d, ρ(d)], ..] at d = 2, 4, 8, ..: ρ(d) = (mean of b over [d/2, d) - mean over [d, 2d)) / ln 2. From differences
     to b(1), so that a constant as large as 1/ε^|β| at lag 0 does not cost digits. */
  function octaveExponents(logs) {
    const means = [];
    for (let edge = 1; 2 * edge <= logs.length; edge *= 2) {
      let sum = 0;
      for (let lag = edge; lag < 2 * edge; lag++) sum += logs[lag] - logs[1];
      means.push(sum / edge);
    }
    return means.slice(1).map((mean, k) => [2 ** (k + 1), (means[k] - mean) / Math.LN2]);
  }

  // P(lag > D) among n keys of equal content, summed from the far end
  function tailMass(logs, window, length) {
    const seen = logs.subarray(0, length), top = seen.reduce((a, b) => Math.max(a, b), -Infinity);
    let far = 0, near = 0;
    for (let lag = length - 1; lag >= 0; lag--) {
      if (lag > window) far += Math.exp(seen[lag] - top);
      else near += Math.exp(seen[lag] - top);
    }
    return far / (far + near);
  }

  // The same for each of the rising lengths, in one pass
  function tailsByLength(logs, window, lengths) {
    const top = logs.reduce((a, b) => Math.max(a, b), -Infinity), found = [];
    let near = 0, far = 0, lag = 0;
    for (const length of lengths) {
      for (; lag < length; lag++) {
        if (lag > window) far += Math.exp(logs[lag] - top);
        else near += Math.exp(logs[lag] - top);
      }
      found.push(far + near > 0 ? far / (far + near) : NaN);
    }
    return found;
  }

  // ζ(s, a) = Σ_k (a + k)^-s, Hurwitz, by Euler and Maclaurin; s > 1
  function hurwitz(s, a) {
    const start = 20;
    let sum = 0;
    for (let k = 0; k < start; k++) sum += (a + k) ** -s;
    const edge = a + start;
    sum += edge ** (1 - s) / (s - 1) + edge ** -s / 2;
    let term = s * edge ** (-s - 1), factorial = 2;
    BERNOULLI.forEach((number, j) => {
      sum += (number / factorial) * term;
      const k = 2 * j + 1;
      term *= ((s + k) * (s + k + 1)) / edge ** 2;
      factorial *= (k + 2) * (k + 3);
    });
    return sum;
  }

  // ln Γ(x), x > 0: Stirling's series after shifting x beyond 12
  function logGamma(x) {
    let shift = 0;
    for (; x < 12; x++) shift -= Math.log(x);
    let sum = (x - 0.5) * Math.log(x) - x + 0.5 * Math.log(2 * Math.PI);
    BERNOULLI.forEach((number, j) => { sum += number / ((2 * j + 1) * (2 * j + 2) * x ** (2 * j + 1)); });
    return sum + shift;
  }

  // Q(a, x) = Γ(a, x) / Γ(a): the series below a + 1, Legendre's continued fraction (Lentz) above
  function upperGamma(a, x) {
    if (x <= 0) return 1;
    const front = Math.exp(a * Math.log(x) - x - logGamma(a));
    if (x < a + 1) {
      let term = 1 / a, sum = term;
      for (let k = 1; Math.abs(term) > 1e-17 * sum; k++) sum += term *= x / (a + k);
      return 1 - front * sum;
    }
    let b = x + 1 - a, c = 1e300, d = 1 / b, fraction = d;
    for (let k = 1; k < 10000; k++) {
      const step = -k * (k - a);
      b += 2;
      d = 1 / (step * d + b);
      c = b + step / c;
      fraction *= d * c;
      if (Math.abs(d * c - 1) < 1e-15) break;
    }
    return front * fraction;
  }

  /* lim T(D) as the context grows: {value, kind}, "exact" or "bound" (at most). Convergent sums have one below 1, the
     others lose every window (claim X-10). */
  function limit(family, parameters, window) {
    if (family === "alibi") return { value: Math.exp(-parameters.m * (window + 1)), kind: "exact" };
    if (family === "kerple" && parameters.r1 > 1) {
      const { r1, r2 } = parameters;
      return { value: hurwitz(r1, 1 / r2 + window + 1) / hurwitz(r1, 1 / r2), kind: "exact" };
    }
    if (family === "gaussian" && parameters.beta > 0) {
      return { value: upperGamma(1 / parameters.beta, (window / parameters.alpha) ** parameters.beta), kind: "bound" };
    }
    return { value: 1, kind: "exact" };
  }

  return { hurwitz, limit, octaveExponents, table, tailMass, tailsByLength, upperGamma };
})();

if (typeof module !== "undefined") module.exports = Exponent;

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer-exponent");
  const LONGEST = 2 ** 17;
  const power = (exponent) => 2 ** Number(exponent);
  const fields = {
    family: {},
    m: { value: power, text: (m) => (m < 1 ? `1/${Panel.number(1 / m)}` : "1") },
    alpha: { value: power },
    beta: { value: Number, text: (beta) => beta.toFixed(2) },
    r1: { value: Number, text: (r1) => r1.toFixed(2) },
    r2: { value: (exponent) => 10 ** Number(exponent) },
    head: { value: Number, text: (head) => `${head} of 12` },
    window: { value: power, text: (D) => `lag ${Panel.number(D)}` },
    length: { value: power, text: (n) => `${Panel.number(n)} keys` },
  };
  const waves = new Map(); // Sandwich's table is 8 million cosines: computed once a head

  function tableOf(family, state) {
    if (family !== "sandwich") return Exponent.table(family, state, LONGEST);
    if (!waves.has(1)) waves.set(1, Exponent.table(family, { head: 1 }, LONGEST));
    return waves.get(1).map((value) => value / state.head);
  }

  Panel.connect(root, fields, (state) => {
    const { family, window, length } = state;
    for (const group of root.querySelectorAll("[data-family]")) {
      group.hidden = group.dataset.family !== family;
      for (const control of group.querySelectorAll("input")) control.disabled = group.hidden;
    }
    const logs = tableOf(family, state), exponents = Exponent.octaveExponents(logs);
    const lengths = Array.from({ length: 57 }, (_, k) => Math.round(2 ** (3 + k / 4))).filter((n) => n <= LONGEST);
    const tails = Exponent.tailsByLength(logs, window, lengths), tail = Exponent.tailMass(logs, window, length);
    const crossing = exponents.find(([, rho]) => rho > 1), end = Exponent.limit(family, state, window);
    const powers = [-1, 0, 1, 10, 100, 1000].map((rho) => [rho, Panel.number(rho)]);
    const local = end.value < 1, last = exponents[exponents.length - 1];

    Panel.chart(document.getElementById("exponent-rho"), {
      title: `Local exponent by lag; ${crossing ? `first above 1 at lag ${crossing[0]}` : "never above 1 here"}`,
      x: Panel.byLog(2, LONGEST / 2, Panel.octaves(2, LONGEST / 2), "lag d"),
      y: Panel.symmetric(-3, 1000, powers, "local exponent ρ(d)"),
      bands: [{ from: -3, to: 1 }],
      rules: [{ y: 1, text: "" }],
      notes: [{ across: 0.02, up: 0.92, text: "falls faster than 1/d: a window forms" },
              { across: 0.02, up: 0.03, text: "falls slower: the far keys outweigh" }],
      curves: [{ points: exponents }],
      dots: exponents.filter(([, rho]) => rho <= 1000).map(([x, y]) => ({ x, y, kind: y > 1 ? "second" : "" })),
    });
    Panel.chart(document.getElementById("exponent-tail"), {
      title: `Mass beyond lag ${window} by context: ${Panel.percent(tail)} at ${length} keys, ` +
        `limit ${Panel.percent(end.value)}`,
      x: Panel.byLog(8, LONGEST, Panel.octaves(8, LONGEST), "context n (keys)"),
      y: Panel.shares("mass beyond D"),
      rules: [{ y: end.value, text: end.kind === "exact" ? "limit" : "limit, at most" }],
      curves: [{ points: lengths.map((n, k) => [n, tails[k]]) }],
      dots: [{ x: length, y: tail, text: Panel.percent(tail) }],
    });
    Panel.show(root, { crossing: crossing ? `lag ${Panel.number(crossing[0])}` : "never here",
                       last: Panel.number(last[1]), tail: Panel.percent(tail),
                       limit: `${end.kind === "bound" ? "≤ " : ""}${Panel.percent(end.value)}` });
    Panel.say(root.querySelector("[role=status]"),
      (local ? "Local: the sum of the weights converges, and a window keeps its share in any context. "
             : "Not local: every window loses all of its mass as the context grows. ") +
      `Among ${Panel.number(length)} keys ${Panel.percent(tail)} lies beyond lag ${Panel.number(window)}.`);
  });
}
