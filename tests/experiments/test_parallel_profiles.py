"""Where attention goes in chunks: profiles against weights that are known."""

import itertools
import math

import pytest
import torch

from attention_priors.config import ModelConfig
from attention_priors.experiments import parallel_profiles as profiles
from attention_priors.model import Transformer


def model(encoding="rope", layers=2):
    torch.manual_seed(0)
    made = Transformer(
        ModelConfig(vocabulary=50, width=32, layers=layers, heads=4, kv_heads=2, hidden=32, encoding=encoding)
    ).eval()
    for block in made.blocks:
        block.attention.query.weight.data *= 4
    return made


def text(count=100):
    drawn = torch.randint(50, (count + 16,), generator=torch.Generator().manual_seed(0))
    return drawn.split([count, 16])


def test_plain_is_the_attention_of_the_model():
    whole, question = text()
    made = model()
    maps = made.attention_maps(torch.cat([whole, question])[None], profiles.LAST)
    expected = torch.stack(maps)[..., :100].mean((0, 1, 2, 3))
    found = profiles.profile_of(made, whole, question, 25, profiles.PLAIN)
    torch.testing.assert_close(found, expected / expected.mean(), atol=1e-5, rtol=0)


def test_local_is_that_of_each_chunk_beside_the_question():
    whole, question = text()
    made = model("alibi")
    each = [
        torch.stack(made.attention_maps(torch.cat([part, question])[None], profiles.LAST))[..., :25]
        for part in whole.split(25)
    ]
    expected = torch.cat([part.mean((0, 1, 2, 3)) for part in each])
    found = profiles.profile_of(made, whole, question, 25, profiles.LOCAL)
    torch.testing.assert_close(found, expected / expected.mean(), atol=1e-5, rtol=0)


def test_joined_chunks_without_content_repeat_the_prior():
    """ALiBi on one repeated token: every chunk has the profile of the last one of ordinary attention (PC-PRIOR)."""
    whole, question = torch.full((100,), 7), torch.full((16,), 7)
    made = model("alibi", layers=1)
    found = profiles.profile_of(made, whole, question, 25, profiles.GLOBAL).view(4, 25)
    plain = profiles.profile_of(made, whole, question, 25, profiles.PLAIN).view(4, 25)
    torch.testing.assert_close(found, found[:1].expand(4, -1), atol=1e-5, rtol=0)
    assert (found[0].diff() > 0).all() and plain[-1].mean() > 1.5 and plain[0].mean() < 0.6


def test_what_is_evicted_gets_no_attention():
    whole, question = text()
    made = model()
    for kind in (profiles.WHOLE, profiles.APART, profiles.CALIBRATED):
        found = profiles.profile_of(made, whole, question, 25, kind)
        assert found.mean() == pytest.approx(1) and (found == 0).any()
    one = model(layers=1)
    apart = profiles.profile_of(one, whole, question, 25, profiles.APART).view(4, 25)
    assert ((apart > 0).sum(1) >= 12).all()  # each chunk keeps half, in two key heads


def test_biases_are_those_of_shapes_that_are_known():
    flat = profiles.biases(torch.ones(20).double())
    assert flat == {"sink": 1, "recency": 1, "middle": 1, "peaks": 0, "repeats": 0, "distance": 0, "largest": 1}
    shape = torch.tensor([3.0, 0, 0, 0, 2] * 4).double()
    found = profiles.biases(shape)
    # ends of neighbouring chunks touch: of each pair the higher is a peak, and so is the last
    assert (found["sink"], found["recency"], found["peaks"], found["repeats"]) == (3, 2, 5, 1)
    assert found["distance"] == pytest.approx(0.6) and found["middle"] == pytest.approx(15 / 18)
    steep = torch.arange(20).double() / 9.5
    assert profiles.biases(steep)["peaks"] == 1 and profiles.biases(steep)["repeats"] == 0


def test_effective_entries_are_counted_above_the_threshold():
    made = model("nope", layers=1)
    made.blocks[0].attention.query.weight.data.zero_()  # uniform weights, below the threshold from 21 keys on
    for width, expected in ((16 + 2, 2), (16 + 20, 0)):
        rows = text(width - 16)
        assert profiles.above(made, *rows) <= expected and math.isfinite(profiles.above(made, *rows))
    assert profiles.above(made, *text(2)) == 2


def test_shapes_of_heads_that_are_known():
    flat, ends = torch.ones(20), torch.ones(20)
    ends[:4], ends[-4:] = 2.0, 3.0
    rising = torch.linspace(0.5, 1.5, 20)
    near, apart = torch.zeros(20), torch.zeros(20)
    near[-1] = apart[0] = apart[-1] = 1.0
    heads = torch.stack([flat, ends, 1 / ends, rising, near, apart])[None]
    found = profiles.shapes(heads, 4)
    assert [row["shape"] for row in found] == ["uniform", "U", "mountain", "other", "other", "U"]
    assert found[1]["first"] / found[1]["middle"] == pytest.approx(2, abs=1e-5) and found[0]["largest"] == 1
    assert [(row["layer"], row["head"]) for row in found] == [(0, head) for head in range(6)]


def by_way(layers):
    drawn = torch.randint(50, (2, 200), generator=torch.Generator().manual_seed(1))
    found = profiles.regions(model(layers=layers), drawn, 128)
    return {(row["region"], row["layers"], row["document"]): row for row in found}


def test_regions_lose_their_outliers_in_the_layers_that_are_named():
    found = by_way(3)
    assert len(found) == 2 * (1 + len(profiles.REGIONS) * len(profiles.DEPTHS))
    kept = [found[profiles.NONE, profiles.NONE, document] for document in (0, 1)]
    assert [row["evicted"] for row in kept] == [0, 0]
    for document, depth in itertools.product((0, 1), profiles.DEPTHS):
        gone = {region: found[region, depth, document]["evicted"] for region in profiles.REGIONS}
        ends = gone[profiles.SINK] + gone[profiles.RECENCY]
        assert gone[profiles.ENDS] == pytest.approx(ends, abs=2e-6) and 0 < gone[profiles.ALL] < 0.2
        assert gone[profiles.ALL] == pytest.approx(ends + gone[profiles.MIDDLE], abs=3e-6)
    for region in profiles.REGIONS:  # all layers lose what each loses alone: outliers are found before any key goes
        parts = [found[region, depth, 0]["evicted"] for depth in profiles.DEPTHS if depth != profiles.ALL]
        assert found[region, profiles.ALL, 0]["evicted"] == pytest.approx(sum(parts) / 3, abs=3e-6)
