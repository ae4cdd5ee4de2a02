"""The explorers' JavaScript against the library: the same numbers, on a grid, to nine digits."""

import itertools
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import torch

from attention_priors.figures.phase.family import family, power
from attention_priors.positions import extensions, mass
from attention_priors.positions.encodings import encoding, stretched
from attention_priors.positions.priors import KerplePower, Laplace, Sandwich
from attention_priors.positions.rotary import rope
from attention_priors.positions.scaling import ScalableSoftmax
from attention_priors.theory import generalised_gaussian as gaussian
from attention_priors.theory import phase

EXACT = {"rel": 1e-9, "abs": 1e-12}
PAGES = ("prior", "planes", "exponent")
PROGRAM = """
const [path, source, cases] = JSON.parse(require("fs").readFileSync(0, "utf8"));
const page = require(path), asked = new Function("page", `return ${source}`)(page);
const plain = (key, value) => ArrayBuffer.isView(value) ? Array.from(value) : value;
process.stdout.write(JSON.stringify(cases.map((each) => asked(...each)), plain));
"""


def node() -> str | None:
    """Node.js: the one installed, else the one that comes with playwright."""
    if shutil.which("node"):
        return shutil.which("node")
    try:
        from playwright._impl._driver import compute_driver_executable
    except ImportError:
        return None
    return str(compute_driver_executable()[0])


@pytest.fixture(scope="module")
def script(root):
    """Evaluate a JavaScript function of the page's module `page` at each of the cases."""
    program = node()
    if program is None:
        pytest.skip("no Node.js, and no playwright that brings one: the explorers' formulas cannot be evaluated")

    def run(name, source, cases):
        path = root / "lib/attention_priors/publish/site/explorers" / f"{name}.js"
        given = json.dumps([str(path), source, [list(case) for case in cases]])
        done = subprocess.run([program, "-e", PROGRAM], input=given, capture_output=True, text=True)
        assert not done.returncode, done.stderr
        return json.loads(done.stdout)

    return run


def bam(alpha, beta, mu):
    """The library's generalised Gaussian in the paper's symbols."""
    return gaussian.module(-beta * np.log(alpha), beta, np.arcsinh(mu / 2))


GRID = list(itertools.product((0.5, 8.0, 300.0), (-1.0, -0.25, 0.0, 0.1, 1.0, 2.5), (0.0, 3.0, -20.0, -64.5)))


def test_generalised_gaussian_is_the_librarys(script):
    lags = torch.arange(512)
    for case, found in zip(GRID, script("prior", "(a, b, m) => page.table(512, a, b, m)", GRID), strict=True):
        assert found == pytest.approx(bam(*case).exact(lags)[0].tolist(), **EXACT), case


@pytest.mark.parametrize("length", [2, 64, 1024])
@pytest.mark.parametrize("scaled", [False, True])
def test_masses_are_the_librarys(script, length, scaled):
    s, lags, windows = 0.37, torch.arange(length), (0, 1, 16, 200)
    scale = ScalableSoftmax(1).double()
    torch.nn.init.constant_(scale.scale, s)
    times = scale(torch.tensor([length])).item() if scaled else 1.0
    source = f"""(a, b, m) => {{
        const scale = {str(scaled).lower()} ? page.ssmaxScale({s}, {length}) : 1;
        const mass = page.normalised(page.table({length}, a, b, m, scale));
        return [mass, {list(windows)}.map((D) => page.tailMass(mass, D)), page.windowFor(mass), page.meanLag(mass)];
    }}"""
    for case, (weights, tails, held, mean) in zip(GRID, script("prior", source, GRID), strict=True):
        logs = times * bam(*case).exact(lags).detach()
        assert weights == pytest.approx(mass.normalised(logs)[0].tolist(), **EXACT), case
        assert tails == pytest.approx([float(mass.tail_mass(logs, window)) for window in windows], **EXACT), case
        assert held == int(mass.window_for(logs, 0.05)), case
        assert mean == pytest.approx(float(mass.mean_lag(logs)), **EXACT), case


def presets(root, name):
    """The raw values of the page's preset buttons by their text."""
    text = (root / f"lib/attention_priors/publish/site/explorers/{name}.html").read_text()
    return {label: json.loads(raw) for raw, label in re.findall(r"<button[^>]*data-set='(.*?)'>(.*?)</button>", text)}


@pytest.mark.parametrize(
    ("label", "prior"),
    [
        ("ALiBi, m = 1/2", Laplace([1 / 2])),
        ("ALiBi (Laplace), m = 1/256", Laplace([1 / 256])),
        ("KERPLE power, r₁ = 1, r₂ = 1/2", KerplePower([1.0], [0.5])),
    ],
)
def test_presets_are_what_they_are_called(root, script, label, prior):
    chosen, lags = presets(root, "prior")[label], torch.arange(256)
    case = (2.0 ** chosen["alpha"], chosen["beta"], chosen["mu"])
    found = script("prior", "(a, b, m) => page.table(256, a, b, m)", [case])[0]
    # ε is in the generalised Gaussian alone: it moves lag 0 by sqrt(1e-5) at most, the others by 1e-5
    assert found[1:] == pytest.approx(prior.log_prior(lags)[0].tolist()[1:], rel=2e-5)
    assert found[0] == pytest.approx(0, abs=4e-3)


METHODS = {
    "none": "rope",
    "pi": "rope-pi",
    "ntk": "rope-ntk",
    "dynamic-ntk": "rope-dynamic-ntk",
    "yarn": "rope-yarn",
    "llama3": "rope-llama3",
}
HEADS = list(itertools.product((4, 16, 64, 256), (100.0, 10_000.0, 1e7), (32, 2048, 131_072), (1.0, 2.0, 7.5, 128.0)))


@pytest.mark.parametrize("method", METHODS)
def test_planes_are_those_of_the_benchmarks_rows(script, method):
    source = f"""(width, base, trained, factor) => {{
        const omega = page.rope(width, base), changed = page.extended("{method}", omega, factor, trained);
        const before = page.turns(omega, trained), after = page.turns(changed, factor * trained);
        return [omega, changed, before, after, page.unseen(before, after), page.sharpness("{method}", factor)];
    }}"""
    row = encoding(METHODS[method])
    for case, found in zip(HEADS, script("planes", source, HEADS), strict=True):
        width, base, trained, factor = case
        spectrum = changed = rope(width, base)
        if method != "none":
            rotary = (stretched(row, factor) or row.rotary)(width, base)
            changed = rotary.stretch(spectrum, int(factor * trained), trained)
        before, after = extensions.turns(spectrum, trained), extensions.turns(changed, int(factor * trained))
        assert found[0] == pytest.approx(spectrum.omega, **EXACT), case
        assert found[1] == pytest.approx(changed.omega, **EXACT), case
        assert found[2] == pytest.approx(before, **EXACT), case
        assert found[3] == pytest.approx(after, **EXACT), case
        assert found[4] == [old < 1 and new > old * (1 + 1e-9) for old, new in zip(before, after, strict=True)], case
        assert found[5] == pytest.approx(1 / changed.temperature, **EXACT), case


def sandwich(head):
    return lambda lags: Sandwich(12).exact(torch.as_tensor(lags).long())[head - 1].numpy()


PRIORS = {
    "alibi": [({"m": m}, gaussian.laplace(m)) for m in (0.5, 1 / 256)],
    "gaussian": [
        ({"alpha": a, "beta": b}, gaussian.coded(-b * np.log(a), b))
        for a, b in itertools.product((0.5, 30.0), (-0.5, 0.1, 0.5, 1.5))
    ],
    "kerple": [
        ({"r1": r1, "r2": r2}, power(r1, r2)) for r1, r2 in itertools.product((0.5, 1.0, 2.0), (0.125, 1.0, 8.0))
    ],
    "sandwich": [({"head": head}, sandwich(head)) for head in (1, 3, 12)],
    "uniform": [({}, gaussian.laplace(0.0))],
}


@pytest.mark.parametrize("name", PRIORS)
def test_local_exponents_and_tails_are_the_librarys(script, name):
    length, windows, lengths = 4096, (0, 64, 1000), (128, 1024, 4096)
    source = f"""(parameters) => {{
        const logs = page.table("{name}", parameters, {length});
        const windows = {list(windows)}, lengths = {list(lengths)};
        return [page.octaveExponents(logs), windows.map((D) => page.tailsByLength(logs, D, lengths)),
                windows.map((D) => lengths.map((n) => page.tailMass(logs, D, n)))];
    }}"""
    cases = [[parameters] for parameters, _ in PRIORS[name]]
    for (parameters, log_prior), found in zip(PRIORS[name], script("exponent", source, cases), strict=True):
        logs = log_prior(np.arange(length, dtype=np.float64))
        at, exponents = phase.octave_exponents(logs)
        assert [lag for lag, _ in found[0]] == at.tolist()
        assert [rho for _, rho in found[0]] == pytest.approx(exponents.tolist(), rel=1e-9, abs=1e-9), parameters
        tails = [[float(mass.tail_mass(torch.tensor(logs[None, :n]), D)) for n in lengths] for D in windows]
        for part in found[1:]:
            assert np.ravel(part) == pytest.approx(np.ravel(tails), **EXACT), parameters


def test_limits_are_the_librarys(script):
    windows, source = (0, 8, 64, 4096), "(family, parameters, D) => page.limit(family, parameters, D)"
    powers = list(itertools.product((0.5, 1.0, 1.05, 1.5, 3.0), (0.001, 1.0, 100.0), windows))
    found = script("exponent", source, [["kerple", {"r1": r1, "r2": r2}, D] for r1, r2, D in powers])
    assert [each["value"] for each in found] == pytest.approx([phase.power_tail(*case) for case in powers], **EXACT)

    shapes = list(itertools.product((0.1, 1.0, 200.0), (0.05, 0.1, 0.5, 1.0, 2.0), windows))
    found = script("exponent", source, [["gaussian", {"alpha": a, "beta": b}, D] for a, b, D in shapes])
    assert {each["kind"] for each in found} == {"bound"}
    assert [each["value"] for each in found] == pytest.approx([mass.continuous_tail(*case) for case in shapes], **EXACT)

    slopes = list(itertools.product((1.0, 1 / 16, 1 / 4096), windows))
    found = script("exponent", source, [["alibi", {"m": m}, D] for m, D in slopes])
    assert [each["value"] for each in found] == pytest.approx([np.exp(-m * (D + 1)) for m, D in slopes], **EXACT)

    flat = [
        ["uniform", {}, 8],
        ["sandwich", {"head": 3}, 8],
        ["gaussian", {"alpha": 2, "beta": -0.5}, 8],
        ["gaussian", {"alpha": 2, "beta": 0}, 8],
    ]
    assert script("exponent", source, flat) == [{"value": 1, "kind": "exact"}] * len(flat)


def test_presets_of_the_exponents_are_those_of_the_figure(root, script):
    """GGD and KERPLE of `phase_exponents` by name; ALiBi's flattest; Sandwich's third head."""
    named = {name.replace(" = -", " = −"): log_prior for name, log_prior in family().items()}
    tried = 0
    for label, chosen in presets(root, "exponent").items():
        if label not in named:
            continue
        raised = {
            "m": 2.0 ** chosen.get("m", 0),
            "alpha": 2.0 ** chosen.get("alpha", 0),
            "beta": chosen.get("beta"),
            "r1": chosen.get("r1"),
            "r2": 10.0 ** chosen.get("r2", 0),
            "head": chosen.get("head"),
        }
        found = script(
            "exponent", "(family, p) => page.octaveExponents(page.table(family, p, 1024))", [[chosen["family"], raised]]
        )[0]
        _, exponents = phase.octave_exponents(named[label](np.arange(1024.0)))
        assert [rho for _, rho in found] == pytest.approx(exponents.tolist(), rel=1e-4, abs=1e-5), label
        tried += 1
    assert tried >= 6


@pytest.mark.parametrize("name", PAGES)
def test_fragments_are_labelled(root, name):
    """A heading first; each control has its label, each range its read-out; nothing comes from elsewhere."""
    folder = root / "lib/attention_priors/publish/site/explorers"
    text = (folder / f"{name}.html").read_text()
    assert text.startswith("<h1>")
    controls = re.findall(r'<(?:input|select)[^>]*id="([^"]+)"', text)
    assert controls and set(controls) == set(re.findall(r'<label for="([^"]+)"', text))
    assert set(re.findall(r'type="range" id="([^"]+)"', text)) == set(re.findall(r'<output for="([^"]+)"', text))
    code = text + (folder / f"{name}.js").read_text() + (folder / "panel.js").read_text()
    assert set(re.findall(r"https?://[^\"'\s)]+", code)) <= {"http://www.w3.org/2000/svg"}
    assert not re.search(r"fetch\(|XMLHttpRequest|import\(|localStorage", code)
