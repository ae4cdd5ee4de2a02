"""What SSMax multiplies."""

from attention_priors.figures.ablations.study import PRIORS, Study

STUDY = Study("scaling", "what SSMax multiplies", {
    "BAM": {"bam": "no SSMax", "bam-ssmax-content": "content", "bam-ssmax": "content, prior"},
    "ALiBi": {"alibi": "no SSMax", "alibi-ssmax": "content", "alibi-ssmax-prior": "content, prior"},
})  # fmt: skip
FIGURE = STUDY.figure(
    PRIORS,
    "What SSMax multiplies: nothing, the content logits, or the log-prior too. BAM's own runs have the last, its ALiBi "
    "the second.",
    "readings of SSMax, for BAM and ALiBi",
)
