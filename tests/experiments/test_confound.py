"""One training length against many: what is trained and asked."""

from attention_priors import config
from attention_priors.experiments import confound
from attention_priors.experiments.arms import passkey_run

PROFILE = config.profile("smoke")


def test_the_two_ways_differ_in_the_texts_and_the_gate_alone():
    wanted = confound.wanted(PROFILE)
    for spec, usual in zip(wanted[confound.FIXED], wanted[confound.VARIED], strict=True):
        assert usual == passkey_run(PROFILE, usual.model.encoding, usual.seed)
        assert spec.recipe.varied is None and spec.recipe.gate.lengths == (128,)
        same = {"varied": usual.recipe.varied, "gate": usual.recipe.gate}
        assert spec.model_copy(update={"recipe": spec.recipe.model_copy(update=same)}) == usual


def test_every_model_is_asked_at_every_length(tmp_path):
    one = PROFILE.model_copy(update={"seeds": (0,), "main_seeds": (0,), "workers": 1})
    small = one.confound.model_copy(update={"encodings": ("rope",)})
    frame = confound.measure(one.model_copy(update={"confound": small}), tmp_path, tmp_path)["passkey_confound"]
    assert len(frame) == 2 * len(PROFILE.confound.evaluation.lengths)
    assert set(frame["training"]) == {confound.FIXED, confound.VARIED} and (frame["samples"] == 2).all()
    assert frame.groupby("training")["run"].nunique().eq(1).all() and frame["run"].nunique() == 2
