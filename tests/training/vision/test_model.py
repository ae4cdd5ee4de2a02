"""A model that sees: patches, one SDPA call against attention written out, shifts, a token of its own."""

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

from attention_priors.positions.grids import GRIDS, Grid
from attention_priors.training.vision import VisionConfig, VisionModel
from attention_priors.training.vision.model import grid_of, patches
from refusals import refused

SIZE = {"vocabulary": 5, "width": 32, "layers": 2, "heads": 2, "hidden": 32, "rope_base": 100.0}


def config(name: str, **changes) -> VisionConfig:
    return VisionConfig(**{"encoding": name, "side": 12, "patch": 4} | SIZE | changes)


def model(name: str, **changes) -> VisionModel:
    """A model in evaluation mode whose prior is not uniform."""
    torch.manual_seed(3)
    made = VisionModel(config(name, **changes)).eval()
    with torch.no_grad():
        for each in made.parameters():
            if not each.any():
                each.normal_()
    return made


def test_patches_are_the_squares_of_the_picture_row_by_row():
    image = torch.arange(2 * 8 * 12).view(1, 2, 8, 12).float()
    found = patches(image, 4)
    assert found.shape == (1, 6, 32)
    for n in range(6):
        row, column = divmod(n, 3)
        square = image[0, :, 4 * row : 4 * row + 4, 4 * column : 4 * column + 4]
        assert torch.equal(found[0, n].view(2, 4, 4), square)


@pytest.mark.parametrize("token", [False, True])
@pytest.mark.parametrize("name", GRIDS)
def test_one_call_is_attention_written_out(name, token):
    """Rotations, priors and content by hand, in float64."""
    made = model(name, class_token=token).double()
    attention, grid = made.blocks[0].attention, Grid(3, 2)
    places, x = grid.places(), torch.randn(2, 6 + token, 32, dtype=torch.float64)
    q, k, v = (
        linear(x).unflatten(-1, (2, -1)).transpose(1, 2) for linear in (attention.query, attention.key, attention.value)
    )
    if attention.rotary is not None:
        q, k = attention.rotary(q, places), attention.rotary(k, places)
    scores = q @ k.mT / attention.content**0.5
    if (prior := attention.prior) is not None:
        lags = places[:, None] - places
        scores[..., int(token) :, int(token) :] += prior.log_prior(lags.flatten(0, 1)).view(2, 6, 6)
        if token:
            scores[..., 0] += prior.sink[:, None]
    expected = attention.output((scores.softmax(-1) @ v).transpose(1, 2).flatten(2))
    torch.testing.assert_close(attention(x, places), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("name", GRIDS)
def test_the_kernel_without_a_matrix_serves(name):
    made, images = model(name), torch.rand(1, 1, 32, 32)
    with torch.no_grad(), sdpa_kernel(SDPBackend.FLASH_ATTENTION):
        flash = made(images)
    with torch.no_grad(), sdpa_kernel(SDPBackend.MATH):
        torch.testing.assert_close(made(images), flash, rtol=0, atol=1e-5)


@pytest.mark.parametrize("name", GRIDS)
def test_places_tell_two_pictures_of_the_same_patches_apart_but_for_nope(name):
    made, image = model(name).double(), torch.rand(1, 1, 12, 12, dtype=torch.float64)
    moved = image.roll(4, 3)  # every patch one to the right, the last one first
    difference = float((made(image) - made(moved)).detach().abs().max())
    assert (difference < 1e-12) == (name == "nope-2d")


@pytest.mark.parametrize("name", GRIDS)
@pytest.mark.parametrize("token", [False, True])
def test_any_grid_is_seen_and_stretching_changes_nothing_at_the_resolution_of_training(name, token):
    made = model(name, class_token=token)
    for height, width in ((12, 12), (8, 20), (24, 24)):
        assert made(torch.rand(2, 1, height, width)).shape == (2, 1, 5)
    image = torch.rand(1, 1, 12, 12)
    assert torch.equal(made(image), made(image, stretched=True))


def test_the_token_gives_the_class():
    made = model("goat-2d", class_token=True)
    assert made.blocks[0].attention.prior.sink.shape == (2,)
    assert model("goat-2d").blocks[0].attention.prior.sink is None
    images = torch.rand(1, 1, 12, 12)
    before = made(images)
    made.class_token.data.mul_(-1)
    assert not torch.allclose(before, made(images))


test_bad_input = refused(
    (lambda: grid_of(30, 32, 4), "30 x 32 pixels", "use 32 x 32 or another patch"),
    (lambda: config("goat-2d", side=30), "30 x 30 pixels", "use 32 x 32"),
    (lambda: config("rope"), "'rope'", "choose one of nope-2d"),
    (lambda: config("goat-2d", causal=True), "causal = True", "leave both out"),
    (lambda: VisionModel(config("goat-2d"))(torch.rand(1, 1, 12, 10)), "12 x 10 pixels", "use 12 x 8"),
    (lambda: VisionModel(config("goat-2d"))(torch.rand(1, 3, 12, 12)), "[1, 3, 12, 12]", "[batch, 1, height, width]"),
    (lambda: VisionModel(config("goat-2d"))(torch.rand(1, 12, 12)), "[1, 12, 12]", "give [batch, 1"),
    (lambda: VisionModel(config("goat-2d", width=8)), "head width 4", "use heads of 8 or more"),
)
