"""The judges of notebook 09: what small models would have to do for either answer, and the exact check of caches."""

import math

import numpy as np
import pandas as pd
import pytest

from attention_priors.checks import CHECKS, bam_decoding, bam_languages, bam_passkeys, belonging
from attention_priors.positions.encodings import ENCODINGS

NAMES = [name for name in ENCODINGS if name.removesuffix("-ssmax") in bam_languages.BASES]
TRAINED = 128
IDS = ["BAM-TAB2", "BAM-F6", "BAM-F7", "BAM-C7", "BAM-C18", "BAM-C23"]


def frames(rule, seeds=(0, 1, 2), multiples=(1, 2, 8, 64), noise=0.001, unigram=300.0):
    """Metrics of models whose loss above 3 nats is rule(encoding, multiple); documents scatter around their mean."""
    rows, documents = [], []
    rng = np.random.default_rng(0)
    for domain in ("docstrings", "source"):
        for name in NAMES:
            for seed in seeds:
                jitter = noise * rng.standard_normal()
                for multiple in multiples:
                    loss, base = 3 + rule(name, multiple) + jitter, 3 + rule(name, 1) + jitter
                    common = {"domain": domain, "encoding": name, "seed": seed, "length": multiple * TRAINED}
                    rows.append(common | {"loss": loss, "growth": loss - base})
                    documents += [common | {"document": d, "loss": loss + (-1) ** d} for d in range(4)]
    about = {"trained": TRAINED, "unigram": unigram}
    frame = pd.DataFrame(rows).assign(**about, perplexity=lambda f: np.exp(f["loss"]))
    frame["trained_on"] = frame["domain"] == "docstrings"
    return {
        "language_perplexity": frame,
        "language_losses": pd.DataFrame(documents).assign(trained=TRAINED),
        "passkey_by_length": passkeys(),
    }


def passkeys(far=0.0):
    """ALiBi and RoPE Local find every passkey at the training length and a share `far` beyond."""
    rows = [
        {"form": "plain", "encoding": name, "seed": seed, "length": m * TRAINED, "correct": round(20 * share),
         "samples": 20, "accuracy": share, "trained": TRAINED}
        for name in ("alibi", "rope-local") for seed in range(3) for m, share in ((1, 1.0), (32, far))
    ]  # fmt: skip
    return pd.DataFrame(rows)


def outcome(identifier, given):
    return CHECKS[identifier].judge(given).outcome


def test_owners():
    owned = belonging("language_models")
    assert set(bam_languages.CHECKS) - set(owned) == {"BAM-C7"}
    assert "BAM-C7" in belonging("learned_priors")  # it also reads passkeys
    exact = {name for name, check in owned.items() if not check.metrics}
    assert exact == {"BAM-ALG1", "BAM-TAB1", "BAM-C17", "BAM-C22", "BAM-E6", "BAM-E11"}


@pytest.mark.parametrize("identifier", IDS)
def test_both_answers_and_the_flip(identifier):
    printed, reverse = frames(bam_languages.as_printed), frames(bam_languages.reversed_)
    assert outcome(identifier, printed) == "agrees"
    assert outcome(identifier, reverse) == "disagrees"
    check = CHECKS[identifier]
    assert outcome(identifier, check.flip(printed)) == "disagrees"
    assert outcome(identifier, check.flip(reverse)) == "agrees"
    assert check.opposite.startswith("agrees: ") and "disagrees: " in check.opposite


@pytest.mark.parametrize("identifier", IDS)
def test_what_cannot_be_told(identifier):
    wanted = "undecided"
    assert outcome(identifier, frames(bam_languages.as_printed, seeds=(0,))) == wanted  # one seed has no spread
    assert outcome(identifier, frames(bam_languages.as_printed, unigram=25.0)) == wanted  # nothing was learned
    assert outcome(identifier, frames(bam_languages.as_printed, noise=2.0)) != "agrees"  # seeds differ


@pytest.mark.parametrize("identifier", ["BAM-F6", "BAM-F7", "BAM-C7", "BAM-C18"])
def test_level_up_to_four_times_is_not_level_up_to_64(identifier):
    assert outcome(identifier, frames(bam_languages.as_printed, multiples=(1, 2, 4))) == "undecided"


def test_the_limits():
    def drifting(name, multiple):
        return bam_languages.as_printed(name, multiple) + 0.2 * (name == "bam" and multiple > 1)

    given = frames(drifting)
    assert outcome("BAM-F6", given) == "disagrees"  # 0.2 nats are neither level
    assert outcome("BAM-C18", given) == "agrees"  # nor unstable
    found = {s.text: s for s in bam_languages.figure_6(given)}
    wrong = [text for text, s in found.items() if s.outcome == "disagrees"]
    assert len(wrong) == 1 and wrong[0].startswith("bam stays")
    assert found[wrong[0]].measured == pytest.approx(0.22, abs=1e-9)
    assert found[wrong[0]].interval == pytest.approx((0.22, 0.22), abs=1e-6)  # growth is taken within a seed
    assert math.exp(bam_languages.DIVERGES) < 2  # so that its sub-linearity is implied


def test_a_short_rise_counts():
    def hump(name, multiple):
        return bam_languages.as_printed(name, multiple) + 0.3 * (name == "alibi" and multiple == 2)

    assert outcome("BAM-F6", frames(hump)) == "disagrees"


def test_retrieval_decides_c7():
    given = frames(bam_languages.as_printed) | {"passkey_by_length": passkeys(far=0.9)}
    assert outcome("BAM-C7", given) == "disagrees"


def test_changes_that_cancel_are_still_influence():
    given = frames(bam_languages.as_printed)
    data = bam_languages.Losses(given["language_perplexity"], True)
    losses = given["language_losses"].copy()
    far = (losses["encoding"] == "alibi") & (losses["length"] > TRAINED)
    losses.loc[far, "loss"] += 0.3 * (-1.0) ** losses.loc[far, "document"]
    assert bam_languages.moved(losses, "alibi", data).value == pytest.approx(0.3)
    assert outcome("BAM-C23", given | {"language_losses": losses}) == "disagrees"


def test_a_corpus_of_one_domain_is_judged_on_it():
    given = frames(bam_languages.as_printed)
    one = given["language_perplexity"].query("domain == 'docstrings'")
    assert outcome("BAM-F7", given | {"language_perplexity": one}) == "agrees"


def test_the_table_of_sentences():
    table = CHECKS["BAM-F6"].frame(frames(bam_languages.as_printed))
    assert list(table.columns) == ["sentence", "measured", "95 % interval", "should be", "outcome"]
    assert set(table["outcome"]) == {"agrees"}


def test_verdicts_are_scaled_reproductions():
    verdict = CHECKS["BAM-F6"].verdict("cpu", frames(bam_languages.as_printed))
    assert (verdict.verdict, verdict.outcome, verdict.recipe) == ("scaled reproduction", "agrees", "paper")
    assert verdict.seeds == [0, 1, 2] and verdict.evidence == ["metrics/language_perplexity.csv"]
    assert CHECKS["BAM-F6"].verdict("cpu", frames(bam_languages.as_printed, seeds=(0,))).verdict == "inconclusive"


def test_the_same_passkey_limits():
    assert bam_languages.NEAR_CHANCE == bam_passkeys.NEAR_CHANCE


# ALG1


@pytest.mark.parametrize("part", bam_decoding.CHECKS["BAM-ALG1"].printed, ids=["cache", "long", "packed", "count"])
def test_every_sentence_holds_and_its_false_variant_does_not(part):
    assert part.judge().holds
    refuted = part.judge_false()
    assert not refuted.holds and refuted.measured > 1e-3


def test_alg1_is_verified():
    assert bam_decoding.CHECKS["BAM-ALG1"].verdict("cpu").verdict == "verified"
