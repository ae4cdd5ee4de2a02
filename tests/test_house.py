"""The picture of the house: what a room imports, however the import is written."""

import house


def test_lines_and_imports_of_rooms():
    texts = {
        "model.py": "from .positions import priors\n\n\ndef f():\n    import attention_priors.store\n",
        "positions/priors.py": "from ..config import Profile\nfrom . import rotary\nimport numpy\n",
        "positions/rotary.py": "from attention_priors import store\n",
        "config.py": "",
        "store.py": "from . import config\n",
    }
    found = house.house(texts).set_index("room")
    assert found["imports"].to_dict() == {
        "model": ["positions", "store"],
        "positions": ["config", "store"],
        "config": [],
        "store": ["config"],
    }
    assert found.loc["positions", ["files", "lines"]].tolist() == [2, 4]


def test_both_are_printed_and_drawn(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(house, "files", lambda commit: {"a.py": "from . import b\n", "b.py": f"# {commit}\n"})
    path = tmp_path / "new" / "house.png"
    assert house.main(["one", "two", "--picture", str(path)]) == 0
    told = capsys.readouterr().out
    assert "one: 2 lines" in told and "two: 2 lines" in told and path.stat().st_size > 1000


def test_an_unknown_commit_is_one_line(capsys):
    assert house.main(["no-such-commit"]) == 2
    assert capsys.readouterr().err == "error: no library at 'no-such-commit': name a commit that `git log` shows\n"


def test_the_rooms_of_the_library_make_no_circle(root):
    folder = root / house.LIBRARY
    texts = {path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    imports = house.house(texts).set_index("room")["imports"].map(set).to_dict()
    while free := [name for name, below in imports.items() if not below]:  # what imports nothing that is left
        imports = {name: below - set(free) for name, below in imports.items() if name not in free}
    assert not imports, f"these rooms import each other in a circle: {imports}"
