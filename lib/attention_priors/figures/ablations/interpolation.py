"""Position interpolation, with and without tuning."""

from attention_priors.figures.ablations.study import TRAINING, Study

STUDY = Study("interpolation", "position interpolation", {
    "RoPE": {
        "rope": "as trained",
        "rope-extended": "tuned",
        "rope-pi-4": "PI",
        "rope-pi-4-extended": "PI, tuned",
    },
})  # fmt: skip
FIGURE = STUDY.figure(
    TRAINING,
    "RoPE, read as it is or with position interpolation (PI: all positions divided by 4), before and after a short "
    "tuning on longer texts.",
    "RoPE with and without interpolation and tuning",
)
