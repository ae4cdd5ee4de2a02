"""Made-up metrics of the mixture of copies and of sinks: where Goat does as it says, and where it does not."""

import itertools

import pandas as pd

GOAT, NOPE = "goat-eight", "nope"
TEXT = ("goat-composite", "goat-code", "goat-no-sink", "rope", "alibi")
FACTORS = (0.0, 1.0, 4.0)


def copying(excess=0.015, far=0.016, first=0.99, previous=0.98, u_peak=0, kappa_peak=1, below=0.7, seeds=5):
    """Frames of the experiment `copying`; numbers differ a little between seeds."""
    rows, lengths, parts = [], [], []
    for name, seed in itertools.product((GOAT, NOPE), range(seeds)):
        mine = name == GOAT
        near = excess + 1e-3 * seed if mine else 0.38 + 1e-3 * seed
        rows.append(
            {
                "encoding": name,
                "seed": seed,
                "trained": 64,
                "nll": 1.8 + near,
                "excess": near,
                "expected": 1.8,
                "one_copy": 2.22,
                "copied": near <= 0.05,
                "prior_first": first - 1e-3 * seed if mine else 0.05,
                "prior_previous": previous - 1e-3 * seed if mine else 0.05,
                "u_peak": u_peak if mine else 0,
                "kappa_peak": kappa_peak if mine else 0,
                "below": below + 1e-3 * seed if mine else 0.2,
                "longest": 1024,
                "far": far + 1e-3 * seed if mine else 0.4,
                "steps": 400,
            }
        )
    for name, length in itertools.product((GOAT, NOPE), (64, 256, 1024)):
        mean = 0.015 if name == GOAT else 0.4
        lengths.append(
            {
                "encoding": name,
                "length": length,
                "seeds": seeds,
                "excess": mean,
                "worst": mean + 0.002,
                "best": mean - 0.002,
                "trained": 64,
            }
        )
    for head, i in itertools.product(range(2), range(8)):
        parts += [
            {
                "encoding": GOAT,
                "seed": 0,
                "head": head,
                "query": i,
                "key": j,
                "content": 0.1 * (j % 3),
                "spectrum": 9.0 * (head and i - j == 1),
                "sink": 9.0 * (not head and j == 0),
            }
            for j in range(i + 1)
        ]
    made = {"copying_judged": rows, "copying_by_length": lengths, "copying_map": parts}
    return {name: pd.DataFrame(frame) for name, frame in made.items()}


def sinks(
    mass=0.6,
    content=0.1,
    norm=1.4,
    spike=2.0,
    rise=3.0,
    start=0.97,
    left=0.02,
    default=0.5,
    rope=0.4,
    cost=0.0,
    seeds=3,
):
    """Frames of the experiment `sinks`; `mass` is what RoPE's and ALiBi's heads put on the first key."""
    heads, band, keys = [], [], []
    for (task, name), seed in itertools.product(
        [("copying", GOAT), *(("language", name) for name in TEXT)], range(seeds)
    ):
        one = {"task": task, "encoding": name, "seed": seed, "trained": 128, "passed": True}
        little = 1e-3 * seed
        sunk = mass if name in ("rope", "alibi") else 0.95 if task == "copying" else 0.2
        with_u = name in (GOAT, "goat-composite", "goat-code")
        loss = 1.8 + little + (cost if name == "goat-composite" else 0.0)
        for layer, head in itertools.product(range(2), range(2)):
            own = one | {"layer": layer, "head": head}
            row = {
                "mass": sunk + little,
                "content_mass": (content if with_u else 3 * content) + little * (1 + with_u),
                "prior_mass": 0.9,
                "own_prior": 0.01,
                "omega": 3.0,
                "loss": loss,
                "run": "made",
                "norm": (norm if not with_u else 1.0 + (norm - 1) / 2) + little * (1 + with_u),
            }
            row |= {"spike": spike + little, "rise": rise + little} if with_u else {}
            heads.append(own | row)
            if with_u:
                keys += [own | {"key": j, "u": (5.0 if j == 0 else 0.02 * j) + little} for j in range(0, 128, 8)]
        ends = {"alibi": (0.6, default), "rope": (0.01, rope)}.get(name, (start, left))
        for factor in FACTORS:
            value = ends[0] + (ends[1] - ends[0]) * factor / FACTORS[-1] + little
            band.append(
                one
                | {
                    "layer": 0,
                    "head": 0,
                    "factor": factor,
                    "omega": 3 * factor,
                    "mass": value,
                    "least": value / 2,
                    "most": (1 + value) / 2,
                    "key": "first",
                }
            )
    made = {"sinks_heads": heads, "sinks_band": band, "sinks_keys": keys}
    return {name: pd.DataFrame(frame) for name, frame in made.items()}
