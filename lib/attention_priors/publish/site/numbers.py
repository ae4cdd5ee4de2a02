"""Numbers: the data dictionary of every metrics CSV, and the benchmark's table."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from attention_priors import config, store
from attention_priors.figures import FIGURES, TABLES, FigureSpec, TableSpec
from attention_priors.publish.site import markup, places
from attention_priors.publish.site.committed import Committed
from attention_priors.publish.site.markup import ALONE, link, raw, relative, table, text
from attention_priors.store.layout import THEORY

COLUMNS = config.ROOT / "data" / "columns.csv"
HEAD = ["column", "file", "meaning"]
LONGER = re.compile(r"over (\d+)")  # a column for each length that a profile names


@functools.cache
def meanings(path: Path = COLUMNS) -> dict[tuple[str, str], str]:
    """(column, file) -> what it means; file is empty where the meaning holds wherever no file says otherwise.

    ValueError for a row that gives no sentence, or that is there twice.
    """
    rows = pd.read_csv(path, dtype=str, keep_default_na=False).fillna("")
    if list(rows.columns) != HEAD:
        raise ValueError(f"{path.name} has the columns {list(rows.columns)}; give {', '.join(HEAD)}")
    wrong = rows[rows.duplicated(HEAD[:2]) | ~rows["meaning"].str.endswith(".")]
    for line, row in wrong.iterrows():
        raise ValueError(f"{path.name}, line {line + 2}: {row['column']} needs one sentence, once")
    return rows.set_index(HEAD[:2])["meaning"].to_dict()


def meaning(column: str, file: str) -> str:
    """What a column of a file means. ValueError, with the remedy, for one that nobody has explained."""
    known = meanings()
    if longer := LONGER.fullmatch(column):
        return f"Documents longer than {int(longer[1]):,} tokens."
    if (column, file) not in known and (column, "") not in known:
        raise ValueError(f"metrics/{file}.csv has a column {column!r} that data/columns.csv does not explain; add it")
    return known.get((column, file)) or known[column, ""]


def index(committed: Committed) -> str:
    """The list of all files of numbers."""
    rows = []
    for (folder, name), path in committed.metrics.items():
        lines = len(pd.read_csv(path, dtype=str))
        place = relative(places.metric(folder, name), "data/index.html")
        rows.append([link(name, place), folder, f"{lines:,}", text(", ".join(_shown_in(name)))])
    return markup.page(
        "# Data",
        f"Every figure, table and measured verdict is drawn from one of {len(rows)} files of numbers. Each "
        "is explained column by column. A file's origin (profile, recipe, key) stands beside it as JSON with its hash.",
        raw(table(("file", "folder", "rows", "shown in"), rows, "Files of numbers", filters=("folder",))),
        markup.toctree(dict.fromkeys(folder for folder, _ in committed.metrics)),
    )


def page(committed: Committed, folder: str) -> str:
    """Every file of one folder with its columns."""
    title = f"# Numbers of {'theory' if folder == THEORY else f'profile {folder}'}"
    return markup.page(title, *(_file(committed, *key) for key in committed.metrics if key[0] == folder))


def benchmark(committed: Committed) -> str:
    """The benchmark's table of all rows, for each profile that has one."""
    parts = [f"{ALONE}# Benchmark"]
    for folder in committed.folders:
        path = committed.folder(folder) / "tables" / "encodings.csv"
        if folder == THEORY or not path.is_file():
            continue
        frame = pd.read_csv(path, dtype=str, keep_default_na=False)
        rows = [[(text(cell), _key(cell)) for cell in row] for row in frame.itertuples(index=False)]
        files = ", ".join(
            link(kind.upper(), places.file(folder, "tables", f"encodings.{kind}")) for kind in ("csv", "tex")
        )
        drawn = (folder, "encodings_accuracy") in committed.figures
        figure = link("encodings accuracy", places.figure(folder, "encodings_accuracy"))
        parts += [
            f"## Profile {folder}\n\n{_footer(path.with_suffix('.md'))}",
            raw(table(list(frame.columns), rows, f"All encodings under profile {folder}", filters=("position",))),
            raw(f"<p>Download: {files}.{f' Figure: {figure}.' if drawn else ''}</p>"),
        ]
    if len(parts) == 1:
        raise ValueError(f"no tables/encodings.csv in {committed.results}; run `make reproduce` first")
    return markup.page(*parts)


def _key(cell: str) -> str:
    """What a cell of the benchmark is sorted by: the number that it begins with; nothing known goes last."""
    bare = cell.lstrip(">~").replace(",", "")
    return {"–": "-1", "not asked": "-0.5"}.get(bare, bare)


def _footer(path: Path) -> str:
    """The caption of a committed table, from its Markdown."""
    lines = path.read_text(encoding="utf-8").splitlines()
    return "\n\n".join(line for line in lines if line.strip() and not line.startswith("|"))


def _shown_in(metric: str) -> list[str]:
    kinds = {"figure": FIGURES, "table": TABLES}
    return [f"{kind} {name}" for kind, known in kinds.items() for name in _showing(known, metric)]


def _showing(known: Mapping[str, FigureSpec | TableSpec], metric: str) -> list[str]:
    return [name for name, spec in known.items() if spec.metrics == metric]


def _file(committed: Committed, folder: str, name: str) -> str:
    path = committed.metrics[folder, name]
    frame, here = pd.read_csv(path), f"data/{folder}.html"
    origin = store.read_json(path.with_name(f"{name}.json"))
    rows = [[f"<code>{text(each)}</code>", text(meaning(each, name)), text(_values(frame[each]))] for each in frame]
    shown = []
    for each in _showing(FIGURES, name):
        place = next((key for key in ((folder, each), (committed.profile, each)) if key in committed.figures), None)
        if place:
            shown.append(link(each.replace("_", " "), relative(places.figure(*place), here)))
    trained = "nothing is trained for it" if origin["recipe"] == "exact" else f"recipe {origin['recipe']}"
    file = link("CSV", relative(places.file(folder, "metrics", f"{name}.csv"), here))
    figures = f" Drawn in {', '.join(shown)}." if shown else ""
    return f"## {name}\n\n" + raw(
        f"<p>{len(frame):,} rows; {trained}; key <code>{origin['key']}</code>. {file}.{figures}</p>\n"
        + table(("column", "meaning", "values"), rows, f"Columns of {name}.csv", sorts=False)
    )


def _values(values: pd.Series) -> str:
    """The range of a column of numbers, the first values of others."""
    known = values.dropna()
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known) and len(known):
        low, high = known.min(), known.max()
        return f"{low:.4g}" if low == high else f"{low:.4g} to {high:.4g}"
    found = [str(each) if len(str(each)) <= 24 else f"{str(each)[:23]}…" for each in known.unique()]
    return ", ".join(found[:4]) + (f", … ({len(found)})" if len(found) > 4 else "")
