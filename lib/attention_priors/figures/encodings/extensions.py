"""A trained RoPE read in other ways: growth of the loss with the context."""

from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, TUNED
from attention_priors.figures import forest, style
from attention_priors.figures.curves import over_seeds
from attention_priors.figures.encodings.perplexity import NOTEBOOK, TOP
from attention_priors.figures.methods import label, look
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import listed, times

AS_TRAINED = "RoPE"
MULTIPLES = (1, 4, 16, 64)  # of the training length: the panels
# Under each question: part, row, name.
GROUPS = {
    "as trained": ((BENCHMARK, "rope", AS_TRAINED), (BENCHMARK, "rope-ssmax", "RoPE SSMax")),
    "set once, by 16": (
        (EXTENSIONS, "rope-pi", "interpolation"), (EXTENSIONS, "rope-ntk", "NTK"),
        (EXTENSIONS, "rope-partial-ntk", "NTK by parts"), (EXTENSIONS, "rope-yarn", "YaRN"),
        (EXTENSIONS, "rope-llama3", "Llama 3")),
    "by the text's length": (
        (EXTENSIONS, "rope-dynamic-linear", "dynamic linear"), (EXTENSIONS, "rope-dynamic-ntk", "dynamic NTK")),
    "lags cut": ((EXTENSIONS, "rope-rerope", "ReRoPE"), (EXTENSIONS, "rope-leaky-rerope", "Leaky ReRoPE")),
    "how far": (
        (EXTENSIONS, "rope-pi-4", "interpolation, 4"), (EXTENSIONS, "rope-ntk-2", "NTK, 2"),
        (EXTENSIONS, "rope-ntk-4", "NTK, 4"), (EXTENSIONS, "rope-ntk-8", "NTK, 8")),
    "trained further": ((TUNED, "rope", "RoPE +"), (TUNED, "rope-pi-4", "interpolation, 4 +")),
    "a longer base": (
        (EXTENSIONS, "rope-base-50", "base × 50"), (EXTENSIONS, "rope-base-100", "base × 100"),
        (EXTENSIONS, "rope-ssmax-base-50", "SSMax, base × 50"),
        (EXTENSIONS, "rope-ssmax-base-100", "SSMax, base × 100")),
}  # fmt: skip


def draw(frame: Frame) -> Figure:
    """A row for each reading under its question, a panel for each of some lengths, with intervals and seeds."""
    shown = _shown(frame)
    trained, there = int(shown["trained_at"].iloc[0]), set(shown["length"])
    lengths = [m * trained for m in MULTIPLES if m * trained in there] or [min(there), max(there)]
    titles = {n: f"{style.length_label(n)} tokens ({times(n, trained)})" for n in lengths}
    made = []
    for group, rows in GROUPS.items():
        for part, name, text in rows:
            own = shown[(shown["part"] == part) & (shown["encoding"] == name)]
            means, seeds = over_seeds(own, "growth"), own.groupby("length")["growth"]
            cells = {
                title: forest.Cell(list(seeds.get_group(n)), *means.loc[n])
                for n, title in titles.items()
                if n in seeds.groups
            }
            if cells:
                color = look(name)["color"] if group == "as trained" else style.DARK
                made.append(forest.Row(text, cells, color, "^" if group == "as trained" else "o", group))
    means = shown[shown["length"].isin(lengths)].groupby(["part", "encoding", "length"])["growth"].mean()
    spare = 0.15 * max(means.max() - means.min(), TOP)
    span = min(means.min(), 0) - spare, means.max() + spare  # an interval of two seeds would dwarf all means
    fig, axes = forest.draw(made, list(titles.values()), "growth of the loss (nats)", xlim=span)
    for ax in axes:
        ax.axvline(0, color=style.GREY, linewidth=0.7, linestyle=":", zorder=0)
    return fig


def _shown(frame: Frame) -> Frame:
    """The rows of GROUPS, at the lengths of the extensions."""
    rivals(frame[frame["part"].isin((EXTENSIONS, TUNED))], "encoding", "extensions of a trained RoPE")
    keys = {(part, name) for rows in GROUPS.values() for part, name, _ in rows}
    rows = frame[[pair in keys for pair in zip(frame["part"], frame["encoding"], strict=True)]]
    lengths = set(rows[rows["part"] == EXTENSIONS]["length"])
    trained = int(frame[frame["part"] == BENCHMARK]["trained"].min())
    return rows[rows["length"].isin(lengths)].assign(trained_at=trained)


def caption(frame: Frame) -> str:
    shown = _shown(frame)
    first, far = shown.iloc[0], int(shown["length"].max())
    ends = shown[(shown["part"] != TUNED) & (shown["length"] == far)].groupby("encoding")["growth"].mean().sort_values()
    named = ", ".join(f"{label(name)} {value:+.2f}" for name, value in ends[:3].items())
    tuned = frame[frame["part"] == TUNED]["trained"]
    plus = f"+: trained further on texts of {int(tuned.max())} tokens; " if len(tuned) else ""
    return (
        f"A RoPE model trained on {first['trained_at']} tokens, read in other ways: loss on the last {first['scored']} "
        f"tokens of {first['documents']} held-out documents, above that of the trained model at its training "
        f"length (dotted line). {plus}SSMax: the model with scalable softmax, above its own loss there. Numbers "
        f"behind a name are factors. Mark: mean over seeds; bar: 95 % t interval, which the frame may cut; dots above: "
        f"seeds {listed(shown['seed'])}. Lowest at {far:,} tokens: {named}."
    )


FIGURE = FigureSpec(
    "language_readings",
    draw,
    caption,
    notebook=NOTEBOOK,
    claims=("BAM-C12", "PE-DNTK-E", "PE-F7", "PE-F8", "PE-F9", "PE-NTK-E", "PE-PI", "PE-PI-E2", "PE-REROPE"),
    columns=("part", "encoding", "seed", "length", "growth", "trained", "scored", "documents"),
    alt="Rows of the growth of the loss, RoPE as it was trained and its extensions by kind: set once, by the text's "
    "length, lags cut, factors, further training, longer bases; a panel for each of some context lengths.",
)
