"""Accuracy where the key stands among decoy digits, beside the plain form."""

from attention_priors.figures import panels, style
from attention_priors.figures.curves import over_seeds, shares
from attention_priors.figures.methods import OURS, UNTRAINED, alone, label, named_seeds
from attention_priors.figures.passkey import lines
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import CHANCE, prompts, tokens, trained_on


def _decoys(frame: Frame) -> Frame:
    """The harder form, and the plain one of the same encodings at its lengths, from the training length on."""
    hard = rivals(frame[frame["form"] == "hard"], "encoding", "passkey_hard", but=[UNTRAINED])
    chosen = frame["encoding"].isin(set(hard["encoding"]) - {UNTRAINED}) & frame["length"].isin(set(hard["length"]))
    return frame[chosen & (frame["length"] >= frame["trained"])]


def _ranked(rows: Frame) -> list[str]:
    means = rows[rows["form"] == "hard"].groupby("encoding")["accuracy"].mean()
    return list(means.sort_values(ascending=False, kind="stable").index)


def draw(frame: Frame) -> Figure:
    """A panel an encoding, the best first: decoys in its colour with intervals and seeds, the plain form in grey."""
    rows, made = _decoys(frame), {}
    for name in _ranked(rows):
        hard, plain = (rows[(rows["encoding"] == name) & (rows["form"] == form)] for form in ("hard", "plain"))
        mean = over_seeds(plain, "accuracy", shares)["mean"]
        without = {"color": style.PALE, "dashes": (3, 1), "label": "plain form"}
        made[label(name)] = [
            panels.over(hard, "accuracy", alone(name) | {"label": "with decoys"}, shares),
            *[panels.Line(mean.index, mean, without)] * (len(plain) > 0),
        ]
    axis = panels.multiples(rows["length"], trained_on(rows)) | panels.SHARES
    return panels.draw(made, panels.multiple(rows), "share of passkeys retrieved", legend="above", **axis)[0]


def caption(frame: Frame) -> str:
    rows = _decoys(frame)
    last, trained = lines.last_and_trained(rows)
    hard = rows[rows["form"] == "hard"]
    easy = lines.share(lines.plain(rows), last)
    return (
        f"The harder form, trained on {trained} tokens: the key stands among sentences that hold other digits. At "
        f"{tokens(last, trained)} {label(OURS)} retrieves {lines.share(hard, last)}; in the plain form {easy}. "
        f"Line: mean over seeds; bars: 95 % interval of that mean over seeds and prompts; dots: seeds; grey: the mean "
        f"of models trained and asked in the plain form. {prompts(hard)}; {named_seeds(hard)}. Chance is {CHANCE}."
    )


FIGURE = FigureSpec(
    "passkey_by_length",
    draw,
    caption,
    notebook=lines.NOTEBOOK,
    columns=lines.COLUMNS,
    alt="Panels, one for each encoding, of passkey accuracy against context length for the form with decoy digits, "
    "with interval bars and seeds, and the plain form in grey behind.",
)
