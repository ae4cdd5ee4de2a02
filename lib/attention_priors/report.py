"""Metrics, figures, tables and verdicts of one notebook on disk, and everything redrawn from committed metrics.

    python -m attention_priors.report --profile cpu            redraw every figure and table; nothing is trained
    python -m attention_priors.report --profile cpu --check    redraw beside the committed files and compare

A figure or table is a function of one frame; the notebook, this command and `make figures` draw it the same way.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import pandas as pd
from matplotlib.figure import Figure

from attention_priors import claims, config, store
from attention_priors.figures import FIGURES, LEDGER, TABLES, FigureSpec, TableSpec, style, tables

EXACT = "exact"  # the recipe of what needs no training
# Works that a figure may have to be cited with, by the document that `paper` begins with.
CITATIONS = {
    "BAM": """@misc{bianchessi_bam,
  title = {Bayesian Attention Mechanism: A Probabilistic Framework for Positional Encoding and Context Length
           Extrapolation},
  author = {Bianchessi, Arthur S. and Aguirre, Yasmin C. and Barros, Rodrigo C. and Kupssinsk{\\"u}, Lucas S.}
}""",
    "Goat": """@misc{litman_goat,
  title = {You Need Better Attention Priors},
  author = {Litman, Elon and Guo, Gabe}
}""",
    "ParallelComp": """@misc{xiong_parallelcomp,
  title = {ParallelComp: Parallel Long-Context Compressor for Length Extrapolation},
  author = {Xiong, Jing and Shen, Jianghan and Zheng, Chuanyang and Wan, Zhongwei and Zhao, Chenyang and Yang, Chiwun
            and Ye, Fanghua and Yang, Hongxia and Kong, Lingpeng and Wong, Ngai}
}""",
}


class NotMeasured(ValueError):
    """A figure or table has no metrics under this profile yet."""


class Report:
    """What one notebook writes below results/<profile>/. `profile` is a name or a `config.Profile`.

    `recipe` stands for metrics that name none of their own. Drawn files go to `into` instead when it is given.
    """

    def __init__(
        self,
        results: Path | str,
        profile: str | config.Profile,
        notebook: str,
        recipe: str = EXACT,
        *,
        into: Path | None = None,
    ):
        self.results = Path(results)
        self.profile = getattr(profile, "name", profile)
        self.notebook, self.recipe = notebook, recipe
        self.folder = self.results / self.profile
        self.into = Path(into) if into else self.folder

    def metrics(self, name: str, frame: pd.DataFrame, key: str, recipe: str | None = None) -> pd.DataFrame:
        """Write metrics/<name>.csv and, beside it, where they come from. Returns the frame as it is read back."""
        if frame.empty:
            raise ValueError(f"metrics {name!r} are empty; nothing is written")
        text = frame.to_csv(index=False, float_format=tables.FLOATS, lineterminator="\n")
        path = self.folder / "metrics" / f"{name}.csv"
        origin = {"key": key, "recipe": recipe or self.recipe, "profile": self.profile, "sha256": _digest(text)}
        # The origin goes last: without it, or with another hash, a half-written pair is not taken for a result.
        store.write_text(path, text)
        store.write_json(path.with_suffix(".json"), origin)
        return self.read(name)[0]

    def read(self, name: str, notebook: str | None = None) -> tuple[pd.DataFrame, dict[str, str]]:
        """The committed frame and its origin (key, recipe, profile). ValueError when the numbers were altered."""
        if name == LEDGER:
            return self._ledger()
        path = self.folder / "metrics" / f"{name}.csv"
        beside = path.with_suffix(".json")
        if not path.exists() or not beside.exists():
            raise NotMeasured(f"no metrics/{name}.csv for profile {self.profile}; run {notebook or self.notebook}")
        text, origin = path.read_text(encoding="utf-8"), store.read_json(beside)
        if origin.get("sha256") != _digest(text):
            raise ValueError(f"{path} differs from what was measured ({beside.name}); restore it or run its notebook")
        return pd.read_csv(io.StringIO(text)), origin

    def _ledger(self) -> tuple[pd.DataFrame, dict[str, str]]:
        path = self.folder / "claims.json"
        if not path.exists():
            raise NotMeasured(f"no claims.json for profile {self.profile}; run 15_verdicts")
        found = claims.read(path)
        frame = claims.frame({name: found[name] for name in claims.register() if name in found})
        key = store.key(path.read_text(encoding="utf-8"))
        return frame, {"key": key, "recipe": "as in the ledger", "profile": self.profile}

    def figure(self, name: str) -> Figure:
        """Draw FIGURES[name] from its metrics, write figures/<name>.{pdf,png,md} and return it."""
        spec = _row(FIGURES, name, "figure")
        frame, origin = self.read(spec.metrics, spec.notebook)
        style.apply()
        figure = spec.draw(frame)
        folder = self.into / "figures"
        title = f"{name} ({_from(origin)})"
        # No dates: the same numbers give the same bytes.
        pdf = {"Title": title, "Subject": spec.alt, "Keywords": origin["key"], "CreationDate": None, "ModDate": None}
        png = {"Title": title, "Description": spec.alt, "Key": origin["key"], "Software": None}
        store.write_bytes(folder / f"{name}.pdf", _image(figure, "pdf", pdf))
        store.write_bytes(folder / f"{name}.png", _image(figure, "png", png))
        store.write_text(folder / f"{name}.md", _description(name, spec, frame, origin))
        plt.close(figure)  # a notebook shows the returned figure once, not also as the current one
        return figure

    def table(self, name: str) -> pd.DataFrame:
        """Build TABLES[name] from its metrics, write tables/<name>.{csv,md,tex} and return it."""
        spec = _row(TABLES, name, "table")
        frame, origin = self.read(spec.metrics, spec.notebook)
        built = spec.build(frame)
        for extension, text in tables.render(name, built, spec.caption(frame), _origin(spec, origin)).items():
            store.write_text(self.into / "tables" / f"{name}.{extension}", text)
        return built

    def claims(self, verdicts: Iterable[claims.Verdict]) -> pd.DataFrame:
        """Write this notebook's part of the ledger and return what to show of it."""
        path = claims.write_part(self.results, self.profile, self.notebook, verdicts)
        shown = ["id", "verdict", "outcome", "measured", "relation", "expected_value", "interval", "corrected"]
        return claims.frame(claims.read(path))[shown].dropna(axis=1, how="all").fillna("")


def _row(rows: dict, name: str, kind: str) -> FigureSpec | TableSpec:
    if name not in rows:
        raise ValueError(f"unknown {kind} {name!r}{claims.nearest(name, rows)}; attention_priors/figures lists all")
    return rows[name]


def _digest(text: str) -> str:
    return hashlib.sha256(text.replace("\r\n", "\n").encode()).hexdigest()


def _from(origin: dict[str, str]) -> str:
    return f"profile {origin['profile']}, recipe {origin['recipe']}"


def _origin(spec: FigureSpec | TableSpec, origin: dict[str, str]) -> str:
    """The end of a caption and the footer of a table: what it stands beside in the paper, and where it comes from."""
    beside = f"To compare with {spec.paper}. " if spec.paper else ""
    where = f"Profile {origin['profile']}, recipe {origin['recipe']}"
    return f"{beside}{where}, notebook {spec.notebook}, key {origin['key']}."


def _image(figure: Figure, kind: str, metadata: dict[str, str | None]) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(buffer, format=kind, metadata=metadata)
    return buffer.getvalue()


def _description(name: str, spec: FigureSpec, frame: pd.DataFrame, origin: dict[str, str]) -> str:
    """figures/<name>.md: the picture, its caption, its alternative text and how to cite it."""
    document = spec.paper.split(",")[0].strip()
    citation = f"""@misc{{attention_priors_{name},
  title = {{Attention Priors: {name.replace("_", " ")}}},
  author = {{{{Attention Priors contributors}}}},
  howpublished = {{Figure results/{origin["profile"]}/figures/{name}.pdf}},
  note = {{{_from(origin)}, key {origin["key"]}}}
}}"""
    blocks = "\n\n".join([citation, CITATIONS[document]] if document in CITATIONS else [citation])
    parts = [
        f"# {name}",
        f"![{spec.alt}]({name}.png)",
        f"**Caption.** {spec.caption(frame)} {_origin(spec, origin)}",
        f"**Alternative text.** {spec.alt}",
        f"**Numbers.** `{spec.metrics if spec.metrics == LEDGER else f'metrics/{spec.metrics}.csv'}`",
        f"**Cite as**\n\n```bibtex\n{blocks}\n```",
    ]
    return "\n\n".join(parts) + "\n"


def redraw(results: Path | str, profile: str, *, into: Path | None = None) -> tuple[list[Path], list[str]]:
    """Draw every figure and table whose metrics are there. Returns the files written and why others were skipped."""
    written, skipped = [], []
    for rows, kind, extensions in ((FIGURES, "figure", ("pdf", "png", "md")), (TABLES, "table", ("csv", "md", "tex"))):
        for name in sorted(rows):
            report = Report(results, profile, rows[name].notebook, into=into)
            try:
                getattr(report, kind)(name)
            except NotMeasured as reason:
                skipped.append(f"{kind} {name}: {reason}")
                continue
            written += [Path(f"{kind}s", f"{name}.{extension}") for extension in extensions]
    return written, skipped


def differences(results: Path | str, profile: str) -> tuple[list[Path], list[Path]]:
    """Redraw into an empty folder: the files that were compared, and those that are not committed or differ."""
    committed = Path(results) / profile
    with tempfile.TemporaryDirectory() as folder:
        written, _ = redraw(results, profile, into=Path(folder))
        differ = [
            path
            for path in written
            if not (committed / path).exists() or (committed / path).read_bytes() != (Path(folder) / path).read_bytes()
        ]
    return written, differ


def main(arguments: list[str] | None = None) -> int:
    """Redraw or compare; 0 when all is well, 1 when files differ, 2 for bad input."""
    parser = argparse.ArgumentParser(prog="python -m attention_priors.report", description=__doc__.splitlines()[0])
    parser.add_argument("--profile", default="cpu")
    parser.add_argument("--results", type=Path, default=config.ROOT / "results")
    parser.add_argument("--check", action="store_true", help="change nothing; list the files that would change")
    chosen = parser.parse_args(arguments)
    mpl.use("agg")
    start = time.monotonic()
    try:
        config.profile(chosen.profile)
        if chosen.check:
            written, differ = differences(chosen.results, chosen.profile)
            print("\n".join([*(f"differs  {path}" for path in differ), f"{len(written)} files compared"]))
            return 1 if differ else 0
        written, skipped = redraw(chosen.results, chosen.profile)
    except (OSError, ValueError) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return 2
    for line in skipped:
        print(f"skipped  {line}")
    print(f"{len(written)} files in {chosen.results / chosen.profile}, {time.monotonic() - start:.0f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
