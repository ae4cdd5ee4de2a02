"""Larger models, and a little more training on longer texts (BAM, Table 5)."""

from attention_priors.figures.ablations.study import TRAINING, Panels, Study
from attention_priors.figures.spec import Frame


def _panels(arms: Frame) -> Panels:
    made: Panels = {}
    for after, title in ((False, "trained on {} tokens"), (True, "then a little on {}")):
        own = arms[arms["started"].gt(0) == after].sort_values("parameters")
        named = {row.arm: f"{row.width} × {row.layers}" for row in own.itertuples()}
        made[title.format(int(own["trained"].min()))] = named
    return made


STUDY = Study("size", "size and extension", _panels, ("started", "width", "layers", "parameters"))
FIGURE = STUDY.figure(
    TRAINING,
    "BAM SSMax of several sizes (width × layers), before and after a short training on longer texts.",
    "model sizes, before and after their extension",
    "BAM, Table 5",
    ("BAM-C14", "BAM-TAB5"),
)
