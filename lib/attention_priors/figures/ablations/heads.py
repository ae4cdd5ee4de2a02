"""What the heads of the ablations learned: locations, attention, and what one sign costs on documents, as tables."""

from attention_priors.figures.methods import label
from attention_priors.figures.spec import Frame, NotCompared, TableSpec

LOCATED = "bam-location-ssmax"
NEGATIVE = -0.05  # an exponent that has clearly left its start at 0


def locations(frame: Frame) -> Frame:
    """A row per seed: the locations μ of the heads of the models that train them."""
    located = frame[frame["encoding"] == LOCATED].groupby("seed")["mu"]
    if not len(located):
        raise NotCompared(f"ablation_locations: nobody trains {LOCATED} under this profile; a larger one does")
    made = {
        "heads": located.size(),
        "lowest μ": located.min(),
        "median μ": located.median(),
        "highest μ": located.max(),
        "share of heads with μ < 0": located.agg(lambda mu: (mu < 0).mean()),
    }
    return Frame(made).round(3).reset_index()


def attention(frame: Frame) -> Frame:
    """A row per encoding: attention on what is near, and the lift of the strongest head with a negative exponent."""
    strongest = frame[frame["beta"] < NEGATIVE].groupby(["encoding", "seed"])["passkey_lift"].max()
    made = {
        "seeds": frame.groupby("encoding", sort=False)["seed"].nunique(),
        "attention on the 32 latest tokens": frame.groupby("encoding", sort=False)["recent_mass"].mean(),
        "lift of the strongest head with β < −0.05": strongest.groupby("encoding").mean(),
    }
    return _by_name(Frame(made))


def losses(frame: Frame) -> Frame:
    """A row per encoding: loss at the training length on documents of the domain that was trained on."""
    own = frame[frame["trained_on"] & (frame["length"] == frame["trained"])]
    runs = own.astype({"passed": bool}).groupby(["encoding", "seed"], sort=False)["passed"].all()
    gate = runs.groupby("encoding", sort=False).agg(lambda passed: f"{passed.sum()} of {len(passed)}")
    mean = own.groupby("encoding", sort=False)["loss"].mean()
    return _by_name(Frame({"passed the gate": gate, "loss on documents at T (nats)": mean}))


def _by_name(frame: Frame) -> Frame:
    return frame.round(3).rename_axis("encoding").rename(index=label).reset_index()


def caption_locations(frame: Frame) -> str:
    return "Locations μ of the heads of BAM SSMax where these are trained, by seed."


def caption_attention(frame: Frame) -> str:
    return "Heads of the ablations on the prompt of BAM's Fig. 4, mean over seeds; lift: times the even share."


def caption_losses(frame: Frame) -> str:
    return (
        "Loss of the ablations' language models at their training length, mean over seeds, and how many of these "
        "passed the gate of word order: a model that missed it decides nothing."
    )


_NOTEBOOK = "learned_priors"
LOCATIONS = TableSpec(
    "ablation_heads", locations, caption_locations, _NOTEBOOK, ("encoding", "seed", "mu"), "BAM, section 2.5"
)
ATTENTION = TableSpec(
    "ablation_heads",
    attention,
    caption_attention,
    _NOTEBOOK,
    ("encoding", "seed", "beta", "recent_mass", "passkey_lift"),
    "BAM, appendix F.1",
)
LOSSES = TableSpec(
    "ablation_language",
    losses,
    caption_losses,
    _NOTEBOOK,
    ("encoding", "seed", "length", "trained", "trained_on", "passed", "loss"),
    "BAM, appendix F.1",
)
