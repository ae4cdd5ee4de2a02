"""The table of the additive priors: formula, normaliser, tail mass and mean lag."""

from attention_priors.figures.guide.examples import examples, table
from attention_priors.figures.spec import Frame, Rows, Size, TableSpec
from attention_priors.positions import mass

# log-prior, normaliser, tail mass, parameters per head
TEXT = {
    "Uniform (NoPE)": ("0", "n", "1, always", 0),
    "ALiBi": ("-m d", "1 / (1 - e^-m)", "e^(-m (D + 1)) < 1", 0),
    "GGD, β > 0": ("-(d / α)^β", "about α Γ(1 + 1/β)", "Q(1/β, (D/α)^β) < 1 at most", 2),
    "GGD, β < 0": ("-(α / d)^|β|", "about n for n >> α", "1, always", 2),
    "KERPLE, power": ("-r₁ d^r₂, 0 < r₂ <= 2", "about r₁^(-1/r₂) Γ(1 + 1/r₂)", "Q(1/r₂, r₁ D^r₂) < 1 at most", 2),
    "KERPLE, log": ("-r₁ ln(1 + r₂ d)", "r₂^-r₁ ζ(r₁, 1/r₂) for r₁ > 1; else grows with n",
                    "ζ(r₁, 1/r₂ + D + 1) / ζ(r₁, 1/r₂) < 1 for r₁ > 1, else 1", 2),
    "T5 buckets": ("b[bucket(d)]", "about n e^b31", "1, always", 32),
    "Sandwich": ("(1/r_h) Σ cos(ω_i d)", "grows with n (bounded bias)", "1, always", 0),
    "Fourier (Goat)": ("Σ α_r cos(ω_r d) + β_r sin(ω_r d)", "grows with n (bounded bias)", "1, always", "2 per mode"),
}  # fmt: skip


def rows(size: Size, seed: int) -> Rows:
    """Normaliser relative to lag 0 (or the largest weight), tail masses, mean lag and 99 % window of every setting."""
    keys, windows, found = 128 * size.length, (8, 64, 8 * size.length), []
    for family, settings in examples().items():
        for setting, prior, head in settings:
            logs = table(prior, head, keys)
            row = {"family": family, "setting": setting, "keys": keys}
            row["normaliser"] = float((logs - logs.max()).exp().sum())
            row |= {f"tail {window}": float(mass.tail_mass(logs, window)) for window in windows}
            found.append({**row, "mean lag": float(mass.mean_lag(logs)), "window": int(mass.window_for(logs, 0.01))})
    return found


def build(frame: Frame) -> Frame:
    """One row per setting, each statistic as formula and as number."""
    text = frame["family"].map(TEXT)
    built = Frame({"prior": frame["family"], "setting": frame["setting"].fillna("")})
    built["log-prior b(d)"] = [row[0] for row in text]
    built["learned per head"] = [row[3] for row in text]
    built["normaliser Σ exp(b), n keys"] = [row[1] for row in text]
    built["tail mass P(lag > D), n → ∞"] = [row[2] for row in text]
    keys = int(frame["keys"].iloc[0])
    built[f"Σ exp(b - max b), {keys:,} keys"] = frame["normaliser"].map("{:.4g}".format)
    for name in (name for name in frame.columns if name.startswith("tail ")):
        built[f"P(lag > {name.split()[1]})"] = frame[name].map("{:.3g}".format)
    built["mean lag"] = frame["mean lag"].map("{:.4g}".format)
    built["window for 99 %"] = frame["window"]
    return built


def caption(frame: Frame) -> str:
    return (
        "The additive priors of the field: formula, normaliser, tail mass and mean lag, with numbers for "
        f"{int(frame['keys'].iloc[0]):,} visible keys (all lags d = 0..n - 1, equal content). Parameters of T5's rows "
        "are examples: its prior is what it learned."
    )


TABLE = TableSpec(
    "guide_priors",
    build,
    caption,
    notebook="field_guide",
    rows=rows,
    columns=("family", "setting", "keys", "normaliser", "mean lag", "window"),
)
