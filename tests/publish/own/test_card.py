"""The report card in made-up worlds: what a reviewer asks follows from what was measured, and from nothing else."""

from pathlib import Path

import pandas as pd
import pytest

from attention_priors import config
from attention_priors.publish.own import card as cards
from attention_priors.publish.own import drawing
from attention_priors.publish.own.runs import Seed, samples
from attention_priors.publish.own.source import Own

PROFILE = config.profile("cpu")
LENGTHS = samples(PROFILE)
NAME = "kerple-log"  # stands for a reader's: its row is known


def counts(name: str, share=lambda seed, length: 1.0, seeds=(0, 1, 2)) -> list[dict]:
    common = {"encoding": name, "trained": 128}
    return [
        common
        | {
            "seed": seed,
            "length": length,
            "samples": asked,
            "correct": round(asked * share(seed, length)),
            "run": f"{name}{seed}",
        }
        for seed in seeds
        for length, asked in LENGTHS.items()
    ]


def good(seed: int, length: int) -> float:
    return 1.0


def short(seed: int, length: int) -> float:
    return float(length < 512)


def card(
    share=lambda seed, length: 1.0, rivals=("bam", "rope"), near=0.9, far=0.9, price=1.1, seeds=(0, 1, 2)
) -> cards.Card:
    masses = [
        {"encoding": NAME, "seed": seed, "length": 8192, "trained": 128, "near": near, "far": far} for seed in seeds
    ]
    records = [{"spec": {"seed": seed}, "steps": 500, "parameters": {"prior": 24}} for seed in seeds]
    found = Seed(counts(NAME, share, seeds), masses, records)
    theirs = [row for name in rivals for row in counts(name, good if name == "bam" else short)]
    summary = pd.DataFrame({"encoding": list(rivals), "steps": [600.0] * len(rivals)})
    tails = pd.DataFrame({"encoding": ["bam"], "near": [1.0], "far": [0.98]})
    others = cards.Committed(pd.DataFrame(theirs), tails, summary, "" if rivals else "nothing is committed")
    return cards.Card(Own(Path("mine.py"), NAME, "0" * 64), NAME, PROFILE, [], found, others, price)


def asks(made: cards.Card, question: str) -> str:
    """The one answer to a question, or nothing."""
    return " ".join(each for each in cards.questions(made) if each.startswith(f"**{question}"))


ALWAYS = (
    "Is it better than",
    "Is 3 seeds enough",
    "Was it tuned",
    "One task",
    "And with scalable",
)
# question: a world where it is asked, what the answer names
WORLDS = {
    "Did it learn the task?": (
        card(lambda seed, n: 0.8 if seed == 1 and n <= 128 else 1.0),
        "Seed 1 missed the gate: 0.80",
    ),
    "Retrieval, or a table": (card(lambda seed, n: 0.1 if seed == 2 and n == 112 else 1.0), "Seed 2"),
    "How far does it go?": (card(lambda seed, n: float(n <= 512)), "up to 512 tokens by seed; asked were 8,192 (64×)"),
    "Does it depend on the seed?": (card(lambda seed, n: 1.0 if n < 8192 else seed / 2), "0.00, 0.50, 1.00"),
    "Does some head look near": (card(near=0.1), "the most mass there is 0.10"),
    "Does some head look far": (card(far=0.2), "the most mass there is 0.20"),
    "What does it cost?": (card(price=3.2), "3.2 times"),
}


@pytest.mark.parametrize("question", WORLDS)
def test_a_question_is_asked_where_something_was_measured(question: str) -> None:
    made, answer = WORLDS[question]
    assert answer in asks(made, question)
    assert asks(card(), question) == ""


def test_what_is_always_asked() -> None:
    found = cards.questions(card())
    assert [any(each.startswith(f"**{question}") for each in found) for question in ALWAYS] == [True] * len(ALWAYS)


def test_the_rival_is_the_best_and_the_verdict_goes_by_the_interval() -> None:
    assert "KERPLE" not in asks(card(), "Is it better")
    assert "less that of BAM is +0.00" in asks(card(), "Is it better") and "neither" in asks(card(), "Is it better")
    assert "it is worse" in asks(card(lambda seed, n: float(n <= 512)), "Is it better")
    assert "RoPE is +1.00" in (said := asks(card(rivals=("rope",)), "Is it better")) and "it is better" in said
    assert asks(card(rivals=()), "Is it better") == ""


def test_one_seed_has_no_interval_and_an_uncertain_mean_asks_for_more() -> None:
    assert "no interval" in asks(card(seeds=(0,)), "Is 1 seed enough")
    wide = asks(card(lambda seed, n: 1.0 if n < 8192 else 0.5 + seed / 4), "Is 3 seeds enough")
    assert "Wider than 0.2, it asks for more" in wide


def test_the_table_ranks_and_the_row_is_bold() -> None:
    frame = cards.table(card(lambda seed, n: float(n <= 512)))
    assert list(frame["encoding"]) == ["bam", NAME, "rope"] and list(frame["reach"]) == [8192, 512, 256]
    text = cards.markdown(card(), "figure.png", "Said.", "Seen.")
    assert "| **KERPLE log** | **1.00 [" in text and "| BAM | 1.00 [" in text and "![Seen.](figure.png)" in text
    assert "stands alone: nothing is committed" in cards.markdown(card(rivals=()), "figure.png", "", "")


def test_an_earlier_card_stands_beside_it_while_its_runs_are_these(tmp_path: Path) -> None:
    path = tmp_path / "accuracy.csv"
    pd.DataFrame(counts("kerple-log-ssmax")).to_csv(path, index=False)
    others, keys = card().others, {f"kerple-log-ssmax{seed}" for seed in range(3)}
    assert "kerple-log-ssmax" in set(cards.beside(others, path, keys).counts["encoding"])
    assert (
        cards.beside(others, path, {"other"}) is others and cards.beside(others, tmp_path / "none.csv", keys) is others
    )


def test_the_figure_and_its_caption_say_what_is_drawn() -> None:
    made = card()
    said = drawing.caption(made.all_counts, NAME)
    assert "beside 2 others" in said and "8,192 tokens (64×) it retrieves 1.00 [" in said
    assert "Seeds 0, 1, 2; 50 prompts at each length and seed, 20 from 4,096 on" in said
    assert [len(ax.lines) > 3 for ax in drawing.draw(made.all_counts, NAME).axes] == [True]
    alone = card(rivals=(), seeds=(0,))
    assert "one seed, and so no interval" in drawing.caption(alone.all_counts, NAME)
