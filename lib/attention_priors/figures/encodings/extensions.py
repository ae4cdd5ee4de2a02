"""A trained RoPE read in other ways: growth of the loss with the context."""

from attention_priors.experiments.readings import BENCHMARK, EXTENSIONS, TUNED
from attention_priors.figures import style
from attention_priors.figures.curves import LENGTH, curve, over_seeds
from attention_priors.figures.encodings.perplexity import NOTEBOOK, TOP
from attention_priors.figures.methods import label
from attention_priors.figures.spec import Figure, FigureSpec, Frame, rivals
from attention_priors.figures.words import listed

BARE = (BENCHMARK, "rope", "RoPE")
# One panel for each question: title, and (part, row, name at the line's end).
PANELS = (
    ("set once, by 16", (
        BARE, (EXTENSIONS, "rope-pi", "interpolation"), (EXTENSIONS, "rope-ntk", "NTK"),
        (EXTENSIONS, "rope-partial-ntk", "NTK by parts"), (EXTENSIONS, "rope-yarn", "YaRN"),
        (EXTENSIONS, "rope-llama3", "Llama 3"))),
    ("by the text's length, or lags cut", (
        BARE, (EXTENSIONS, "rope-dynamic-linear", "dynamic linear"),
        (EXTENSIONS, "rope-dynamic-ntk", "dynamic NTK"), (EXTENSIONS, "rope-rerope", "ReRoPE"),
        (EXTENSIONS, "rope-leaky-rerope", "Leaky ReRoPE"))),
    ("how far, and trained further (+)", (
        BARE, (EXTENSIONS, "rope-pi-4", "interpolation, 4"), (EXTENSIONS, "rope-ntk-2", "NTK, 2"),
        (EXTENSIONS, "rope-ntk-4", "NTK, 4"), (EXTENSIONS, "rope-ntk-8", "NTK, 8"),
        (TUNED, "rope-pi-4", "interpolation, 4 +"), (TUNED, "rope", "RoPE +"))),
    ("a longer base", (
        BARE, (EXTENSIONS, "rope-base-50", "base × 50"), (EXTENSIONS, "rope-base-100", "base × 100"),
        (BENCHMARK, "rope-ssmax", "SSMax"), (EXTENSIONS, "rope-ssmax-base-50", "SSMax, base × 50"),
        (EXTENSIONS, "rope-ssmax-base-100", "SSMax, base × 100"))),
)  # fmt: skip
LOOKS = ((style.DARK, style.SOLID, "X"), (style.ORANGE, (5, 1.5), "o"), (style.BLUE, (3, 1), "s"),
         (style.GREEN, (1, 1), "^"), (style.PINK, (3, 1, 1, 1), "D"), ("#B8860B", (6, 1, 1, 1, 1, 1), "v"),
         (style.SKY, (2, 1), "P"))  # fmt: skip


def draw(frame: Frame) -> Figure:
    """Four panels of growth against context length."""
    shown = _shown(frame)
    fig, axes = style.figure(style.DOUBLE, 4.6, nrows=2, ncols=2, sharex=True, sharey=True)
    for ax, (title, lines) in zip(axes.flat, PANELS, strict=True):
        for (part, name, text), (color, dashes, marker) in zip(lines, LOOKS, strict=False):
            own = shown[(shown["part"] == part) & (shown["encoding"] == name)]
            if len(own):
                look = {"color": color, "dashes": dashes, "marker": marker, "label": text}
                curve(ax, over_seeds(own, "growth"), own.set_index("length")["growth"], look, zorder=4)
        style.length_axis(ax, shown["length"], shown["trained_at"])
        ax.axhline(0, color=style.PALE, linewidth=0.7, zorder=0)
        ax.set_title(title)
    low, high = shown["growth"].min(), shown["growth"].max()
    axes[0, 0].set_ylim(min(low, 0) - 0.05, max(high, TOP) + 0.05)
    for ax in axes[:, 0]:
        ax.set_ylabel("growth of the loss (nats)")
    for ax in axes[1]:
        ax.set_xlabel(LENGTH)
    for ax in axes.flat:
        style.direct_labels(ax)
    return fig


def _shown(frame: Frame) -> Frame:
    """The rows of PANELS, at the lengths of the extensions."""
    rivals(frame[frame["part"].isin((EXTENSIONS, TUNED))], "encoding", "extensions of a trained RoPE")
    keys = {(part, name) for _, lines in PANELS for part, name, _ in lines}
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
        f"length (grey line). {plus}SSMax: the model with scalable softmax, above its own loss there. Numbers "
        f"behind a name are factors. Line: mean over seeds; band: 95 % t interval; dots: seeds "
        f"{listed(shown['seed'])}. Lowest at {far:,} tokens: {named}."
    )


FIGURE = FigureSpec(
    "language_readings", draw, caption, notebook=NOTEBOOK,
    claims=("BAM-C12", "PE-DNTK-E", "PE-F7", "PE-F8", "PE-F9", "PE-NTK-E", "PE-PI", "PE-PI-E2", "PE-REROPE"),
    columns=("part", "encoding", "seed", "length", "growth", "trained", "scored", "documents"),
    alt="Four panels of growth of the loss against context length, each with RoPE as it was trained: extensions set "
    "once, extensions that follow the text's length or cut lags, factors and further training, longer bases.",
)  # fmt: skip
