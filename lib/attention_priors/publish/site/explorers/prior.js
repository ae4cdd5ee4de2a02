// The generalised Gaussian prior over lags (BAM, section 2.3 and appendix C), as attention_priors.positions has it.
"use strict";

const Prior = (() => {
  const EPSILON = 1e-5; // GeneralizedGaussian.epsilon
  const TOLERANCE = 0.05; // the effective window holds the other 95 %

  // log π(d) = -((|d + μ| + ε) / α)^β, unnormalised
  function logPrior(lag, alpha, beta, mu) {
    return -(((Math.abs(lag + mu) + EPSILON) / alpha) ** beta);
  }

  // c log π(d) for d = 0 .. length - 1, with the scale c = 1 or that of `ssmaxScale`
  function table(length, alpha, beta, mu, scale = 1) {
    return Float64Array.from({ length }, (_, lag) => scale * logPrior(lag, alpha, beta, mu));
  }

  // s ln n: what scalable softmax multiplies the logs by when n keys are visible
  function ssmaxScale(s, length) {
    return s * Math.log(length);
  }

  // π(d) = exp(b(d)) / Σ_z exp(b(z))
  function normalised(logs) {
    const top = logs.reduce((a, b) => Math.max(a, b), -Infinity);
    const weights = logs.map((b) => Math.exp(b - top));
    const total = weights.reduce((a, b) => a + b, 0);
    return weights.map((w) => w / total);
  }

  // P(lag >= d) for every d, summed from the far end, where the terms are small
  function beyond(mass) {
    const found = new Float64Array(mass.length + 1);
    for (let lag = mass.length - 1; lag >= 0; lag--) found[lag] = found[lag + 1] + mass[lag];
    return found;
  }

  // P(lag > D)
  function tailMass(mass, window) {
    return window + 1 < mass.length ? beyond(mass)[window + 1] : 0;
  }

  // The smallest D with P(lag > D) <= tolerance
  function windowFor(mass, tolerance = TOLERANCE) {
    return beyond(mass).reduce((count, share) => count + (share > tolerance), 0) - 1;
  }

  // Σ_d d π(d)
  function meanLag(mass) {
    return mass.reduce((sum, share, lag) => sum + lag * share, 0);
  }

  return { beyond, logPrior, meanLag, normalised, ssmaxScale, table, tailMass, windowFor };
})();

if (typeof module !== "undefined") module.exports = Prior;

if (typeof document !== "undefined") {
  const root = document.getElementById("explorer-prior");
  const power = (exponent) => 2 ** Number(exponent);
  const fields = {
    alpha: { value: power },
    beta: { value: Number, text: (beta) => beta.toFixed(2) },
    mu: { value: Number, text: (mu) => (mu < 0 ? `${Panel.number(mu)} (centre at lag ${-mu})` : String(mu)) },
    length: { value: power, text: (n) => `${Panel.number(n)} keys` },
    window: { value: power, text: (D) => `lag ${Panel.number(D)}` },
    ssmax: {},
    s: { value: Number, text: (s) => s.toFixed(2) },
  };

  Panel.connect(root, fields, ({ alpha, beta, mu, length, window, ssmax, s }) => {
    const scale = ssmax ? Prior.ssmaxScale(s, length) : 1;
    root.querySelector("[name=s]").disabled = !ssmax;
    const logs = Prior.table(length, alpha, beta, mu, scale);
    const mass = Prior.normalised(logs), far = Prior.beyond(mass);
    const top = logs.reduce((a, b) => Math.max(a, b)), tail = Prior.tailMass(mass, window);
    const held = Prior.windowFor(mass), drawn = Panel.sampled(length - 1);
    const across = Panel.lags(length - 1, "lag d (keys back from the query)");
    const depth = Math.min(20, Math.max(1, drawn.reduce((least, lag) => Math.max(least, top - logs[lag]), 0)));
    const highest = mass.reduce((a, b) => Math.max(a, b), 0);
    const depths = Panel.steps(depth).map((step) => [-step, Panel.number(-step)]);
    const shares = Panel.steps(highest).map((step) => [step, `${Panel.number(100 * step)} %`]);
    const rule = { x: window, text: `D = ${Panel.length(window)}` };

    Panel.chart(document.getElementById("prior-log"), {
      title: `Log-prior by lag, from 0 at its peak down to ${Panel.number(-depth)}`,
      x: across, y: Panel.linear(-depth, 0, depths, "log π(d), peak at 0"),
      curves: [{ points: drawn.map((lag) => [lag, logs[lag] - top]) }], rules: [{ ...rule, low: true }],
    });
    Panel.chart(document.getElementById("prior-mass"), {
      title: `Attention mass by lag for equal content; the heaviest key has ${Panel.percent(highest)}`,
      x: across, y: Panel.linear(0, 1.04 * highest, shares, "mass of one key"),
      curves: [{ points: drawn.map((lag) => [lag, mass[lag]]) }], rules: [rule],
    });
    Panel.chart(document.getElementById("prior-tail"), {
      title: `Attention mass beyond each lag: ${Panel.percent(tail)} beyond lag ${window}; 95 % within lag ${held}`,
      x: across, y: Panel.shares("mass beyond D"),
      curves: [{ points: drawn.map((lag) => [lag, far[lag + 1]]) }], rules: [rule],
      dots: [...(window < length ? [{ x: window, y: tail, text: Panel.percent(tail) }] : []),
             { x: held, y: far[held + 1], kind: "second", text: "95 %" }],
    });
    Panel.show(root, { tail: Panel.percent(tail), held: Panel.number(held), mean: Panel.number(Prior.meanLag(mass)),
                       scale: Panel.number(scale) });
    Panel.say(root.querySelector("[role=status]"),
      `Of ${Panel.number(length)} keys, those beyond lag ${Panel.number(window)} get ${Panel.percent(tail)} of the ` +
      `attention; 95 % stays within lag ${Panel.number(held)}.`);
  });
}
