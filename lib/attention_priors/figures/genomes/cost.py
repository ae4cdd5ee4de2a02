"""Memory and time of a training step, with the same attention kernel and with others."""

from attention_priors.figures import lines, panels, style
from attention_priors.figures.genomes.looks import NOTEBOOK, drawn
from attention_priors.figures.spec import Figure, FigureSpec, Frame

# way of experiments.cost: encoding, dashes, what it is called
WAYS = {
    "rope": ("rope", style.SOLID, "RoPE"),
    "goat": ("goat-composite", (1, 1), "Goat, coordinates"),
    "rope, math": ("rope", (5, 1.5), "RoPE, unfused kernel"),
    "goat, math": ("goat-composite", (3, 1, 1, 1), "Goat, unfused kernel"),
    "goat, stored bias": ("goat-composite", style.SOLID, "Goat, stored bias"),
}


def draw(frame: Frame) -> Figure:
    fig, (memory, times) = style.figure(style.SINGLE, 3.9, nrows=2, sharex=True)
    seen = {
        way: (drawn(name)["color"], dashes, "s" if "stored" in way else drawn(name)["marker"], called)
        for way, (name, dashes, called) in WAYS.items()
    }
    found = frame.groupby(["way", "length"], sort=False)
    medians = found[["milliseconds", "memory"]].median().reset_index()
    ends = found["milliseconds"].agg(["min", "max"])
    lines.plot(memory, medians, "length", "memory", "way", looks=seen)
    lines.plot(times, medians, "length", "milliseconds", "way", looks=seen)
    for way, rows in ends.groupby("way", sort=False):
        style.interval_bars(
            times,
            rows.index.get_level_values("length"),
            rows["min"],
            rows["max"],
            seen[way][0],
            right=style.aside(times),
        )
    memory.set(yscale="log", ylabel="peak memory (MB)")
    times.set(yscale="log", ylabel="ms a step", xlabel="bases")
    for ax in (memory, times):
        style.length_axis(ax, sorted(frame["length"].unique()))
    panels.letter((memory, times))
    fig.legend(*memory.get_legend_handles_labels(), loc="outside upper center", ncols=2)
    return fig


def caption(frame: Frame) -> str:
    longest = frame["length"].max()
    last = frame[frame["length"] == longest].groupby("way")[["milliseconds", "memory"]].median()
    memory, time = last["memory"], last["milliseconds"]
    return (
        f"A training step of the language model on one text, rounds in turn (a: memory; b: median time, range). At "
        f"{longest:,} bases and with the same fused kernel Goat takes {memory['goat'] / memory['rope']:.2f} times "
        f"RoPE's memory and {time['goat'] / time['rope']:.2f} times its time; RoPE with the unfused one "
        f"{memory['rope, math'] / memory['goat']:.1f} times Goat's memory, a stored bias "
        f"{memory['goat, stored bias'] / memory['goat']:.1f} times."
    )


FIGURE = FigureSpec(
    "genomes_cost",
    draw,
    caption,
    notebook=NOTEBOOK,
    paper="Goat, Fig. 4",
    claims=("GOAT-F4", "GOAT-C-1", "GOAT-C-8"),
    columns=("way", "length", "round", "milliseconds", "memory"),
    alt="Memory and time of a training step by length of the text: with the same kernel the lines of RoPE and Goat lie "
    "on one another, those of unfused kernels and of a stored bias rise faster.",
)
