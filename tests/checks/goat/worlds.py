"""Passkeys, needles, losses and offsets that Goat and its rivals might have had."""

import pandas as pd

from attention_priors.experiments import goat_languages, goat_passkeys

T, SEEDS = 128, (0, 1, 2)
MULTIPLES = (0.75, 1, 2, 4, 8, 16)
PAPER, CODE = "goat-composite", "goat-code"
ROWS = (PAPER, CODE, "goat-rope", "nope", "sinusoidal", "rope", "rope-dynamic-linear", "alibi")
DOMAINS = (("docstrings", True), ("source", False))


def as_claimed(name, multiple):
    """Share of digits: Goat keeps all, the others lose half with every doubling."""
    return 1.0 if name in (PAPER, CODE) or multiple <= 1 else max(0.1, 1 / multiple)


def the_reverse(name, multiple):
    """Goat loses, the others keep."""
    return as_claimed(PAPER if name not in (PAPER, CODE) else "rope", multiple)


def counts(rule=as_claimed, rows=ROWS, seeds=SEEDS, early=0.5, samples=40, missed=()):
    """Answers; `early`: the share of right digits that belongs to keys in the first half."""
    made = []
    for name in rows:
        for seed in seeds:
            for multiple in MULTIPLES:
                share = (1.0 if name not in missed else 0.3) if multiple <= 1 else rule(name, multiple)
                whole = round(samples * (share if share == 1 else share**2))
                digits = round(5 * samples * share) - seed * (share < 1)
                first = min(round(2 * early * digits / 2), 5 * samples // 2)
                made.append(
                    {
                        "encoding": name,
                        "seed": seed,
                        "length": round(multiple * T),
                        "correct": whole,
                        "digits": digits,
                        "samples": samples,
                        "early_digits": first,
                        "early": samples // 2,
                        "steps": 400 + seed,
                        "run": "r",
                        "trained": T,
                    }
                )
    return pd.DataFrame(made)


def heads(ahead=0.2, recent=0.2, rows=(PAPER, CODE), seeds=SEEDS):
    """Priors whose mass differs from the uniform prior's by so much, a little more with every head and seed."""
    return pd.DataFrame(
        {
            "encoding": name,
            "seed": seed,
            "layer": 0,
            "head": head,
            "length": 64,
            "ahead": 0.5 + ahead + 0.01 * seed,
            "ahead_uniform": 0.5,
            "recent": 0.4 + recent + 0.01 * head + 0.005 * seed,
            "recent_uniform": 0.4,
        }
        for name in rows
        for seed in seeds
        for head in (0, 1)
    )


def needles(rule=as_claimed, task="single-1", seeds=SEEDS):
    """Needles of Goat and of encodings with the uniform prior, with an untrained control."""
    names = (PAPER, CODE, "sinusoidal", "rope", "untrained")
    return pd.DataFrame(
        {
            "task": task,
            "encoding": name,
            "seed": seed,
            "length": round(multiple * T),
            "required": 1,
            "samples": 40,
            "right": round(40 * rule(name, multiple)) if name != "untrained" else 0,
            "asked": True,
            "steps": 9,
            "run": "r",
            "trained": T,
        }
        for name in names
        for seed in seeds
        for multiple in MULTIPLES
    )


def prompts(scaled=1.0, plain=0.2, seeds=SEEDS):
    """Whole passkeys of NoPE with SSMax and without beyond T."""
    return pd.DataFrame(
        {
            "form": "plain",
            "encoding": name,
            "seed": seed,
            "length": round(multiple * T),
            "samples": 40,
            "correct": 40 if multiple <= 1 else round(40 * share),
            "trained": T,
        }
        for name, share in (("nope-ssmax", scaled), ("nope", plain))
        for seed in seeds
        for multiple in MULTIPLES
    )


def text(start=None, slope=None, rows=ROWS, seeds=SEEDS, missed=()):
    """Losses per document: 1.5 at T and more by `start`; `slope` nats for every doubling beyond."""
    start = {"alibi": 0.1, "rope": 0.02} | (start or {})
    slope = {"rope": 0.5, "sinusoidal": 0.5} | (slope or {})
    made = []
    for name in rows:
        for seed in seeds:
            for domain, known in DOMAINS:
                for doubling in range(5):
                    for document in range(4):
                        loss = 1.5 + start.get(name, 0.0) + doubling * slope.get(name, 0.001) + 0.003 * seed
                        made.append(
                            {
                                "domain": domain,
                                "trained_on": known,
                                "encoding": name,
                                "times": 1,
                                "seed": seed,
                                "length": T << doubling,
                                "document": document,
                                "passed": name not in missed,
                                "loss": loss + 0.1 * document + 0.001 * (document * len(name) % 3),
                                "run": "r",
                                "trained": T,
                                "scored": 64,
                            }
                        )
    return pd.DataFrame(made)


def perplexity(losses):
    """What the experiment tells of losses."""
    by = ["domain", "trained_on", "encoding", "times", "seed", "length", "trained", "scored"]
    table = losses.groupby(by, as_index=False).agg(
        loss=("loss", "mean"), documents=("loss", "size"), passed=("passed", "first")
    )
    model = ["domain", "encoding", "times", "seed"]
    base = table[table["length"] == T].set_index(model)["loss"]
    return table.assign(growth=table["loss"].to_numpy() - base.reindex(table.set_index(model).index).to_numpy())


def offsets(shares=None, seeds=SEEDS):
    """Answers by offset: a rotation answers, a prior alone does not."""
    shares = {PAPER: 0.1, "goat-rope": 1.0} | (shares or {})
    return pd.DataFrame(
        {
            "encoding": name,
            "seed": seed,
            "steps": 1500,
            "run": "r",
            "length": round(multiple * T),
            "address": address,
            "correct": max(0, round(60 * share) - seed),
            "samples": 60,
            "trained": T,
        }
        for name, share in shares.items()
        for seed in seeds
        for multiple in (0.75, 1, 4, 8)
        for address in (1, 2, 4, 8)
    )


def metrics(counted=None, read=None):
    """Every frame that figures of Goat draw."""
    counted, read = counts() if counted is None else counted, text() if read is None else read
    return {
        "goat_passkey_counts": counted,
        "goat_passkey_by_length": goat_passkeys.by_length(counted),
        "goat_passkey_heads": heads(),
        "goat_language_perplexity": perplexity(read),
        "goat_language_differences": goat_languages.differences(read),
        "goat_offset_answers": offsets(),
    }
