"""The figures of genomes: every encoding has a look of its own."""

import pytest

from attention_priors import config
from attention_priors.figures.genomes import drawn


@pytest.mark.parametrize("profile", ["full", "paper"])
def test_every_encoding_of_a_profile_has_its_own_look(profile):
    names = set(config.profile(profile).genomes.encodings)
    looks = {(drawn(name)["color"], drawn(name)["marker"]) for name in names}
    assert len(looks) == len(names)
