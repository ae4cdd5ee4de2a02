"""The house, drawn: lines by room, and which room imports which, at each commit that is named.

    python tests/house.py ff3a531 HEAD        prints both and draws them side by side in build/house.png

A room is a folder of the library, or a file that lies in none. Imports are read from the text, those in functions too.
"""

import argparse
import ast
import io
import subprocess
import sys
import tarfile
from collections import Counter
from pathlib import Path

import pandas as pd

ROOT = Path(__file__).resolve().parents[1]
LIBRARY = "lib/attention_priors/"


def files(commit: str) -> dict[str, str]:
    """Text of every Python file of the library by its path. ValueError for an unknown commit."""
    command = ["git", "-C", str(ROOT), "archive", commit, LIBRARY]
    found = subprocess.run(command, capture_output=True, check=False)
    if found.returncode:
        raise ValueError(f"no library at {commit!r}: name a commit that `git log` shows")
    with tarfile.open(fileobj=io.BytesIO(found.stdout)) as archive:
        members = [each for each in archive if each.name.endswith(".py")]
        return {each.name.removeprefix(LIBRARY): archive.extractfile(each).read().decode() for each in members}


def room(path: str) -> str:
    first, *rest = path.split("/")
    return first if rest else first.removesuffix(".py")


def imported(path: str, text: str, rooms: set[str]) -> set[str]:
    """The other rooms that a file names in an import."""
    package = ["attention_priors", *path.split("/")[:-1]]
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            names = [each.name.split(".") for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package[: len(package) - node.level + 1] if node.level else []
            start = [*above, *(node.module or "").split(".")] if node.module else above
            names = [[*start, each.name] for each in node.names]
        else:
            continue
        found |= {name[1] for name in names if name[0] == "attention_priors" and len(name) > 1}
    return (found & rooms) - {room(path)}


def house(texts: dict[str, str]) -> pd.DataFrame:
    """Rows: rooms, the largest first, with their files, lines and the rooms that they import."""
    rooms = {room(path) for path in texts} - {"__init__"}
    lines, count, into = Counter(), Counter(), {name: set() for name in rooms}
    for path, text in texts.items():
        if (name := room(path)) in rooms:
            lines[name] += text.count("\n")
            count[name] += 1
            into[name] |= imported(path, text, rooms)
    rows = [(name, count[name], lines[name], sorted(into[name])) for name, _ in lines.most_common()]
    return pd.DataFrame(rows, columns=["room", "files", "lines", "imports"])


def draw(houses: dict[str, pd.DataFrame], path: Path) -> None:
    """Below the lines of every room, a mark where the room of the row imports that of the column."""
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(2, len(houses), figsize=(7 * len(houses), 13), squeeze=False, layout="constrained")
    longest = max(frame["lines"].max() for frame in houses.values())
    for (commit, frame), (bars, marks) in zip(houses.items(), axes.T, strict=True):
        bars.barh(frame["room"], frame["lines"], color="#0072b2")
        bars.set(xlim=(0, 1.1 * longest), xlabel="lines", title=f"{commit}: {frame['lines'].sum():,} lines")
        bars.invert_yaxis()
        for row in frame.itertuples():
            bars.text(row.lines, row.Index, f" {row.lines:,} in {row.files}", va="center", fontsize=7)
        place = {name: k for k, name in enumerate(frame["room"])}
        pairs = [(place[other], k) for k, found in enumerate(frame["imports"]) for other in found]
        marks.scatter(*zip(*pairs, strict=True), marker="s", s=30, color="#0072b2")
        marks.set_xticks(range(len(place)), place, rotation=90, fontsize=7)
        marks.set_yticks(range(len(place)), place, fontsize=7)
        marks.set(title=f"{len(pairs)} imports between rooms: the row imports the column", aspect="equal")
        marks.invert_yaxis()
        marks.grid(alpha=0.3)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", default=["HEAD"], help="default: HEAD")
    parser.add_argument("--picture", type=Path, default=ROOT / "build" / "house.png")
    chosen = parser.parse_args(arguments)
    try:
        houses = {commit: house(files(commit)) for commit in chosen.commits}
    except ValueError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for commit, frame in houses.items():
        print(f"{commit}: {frame['lines'].sum():,} lines")
        print(frame.assign(imports=frame["imports"].map(", ".join)).to_string(index=False), end="\n\n")
    draw(houses, chosen.picture)
    print(chosen.picture)
    return 0


if __name__ == "__main__":
    sys.exit(main())
