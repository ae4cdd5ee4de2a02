"""Text for pdfLaTeX: letters and signs that it does not read as they stand become commands; formulas stay."""

from __future__ import annotations

from ..claims.ledger import FORMULA

_COMMANDED = "αβγδεζηθκλμνξπρστφχψωΓΔΘΛΞΠΣΦΨΩ±×·≤≥≠≈→∞√∝∈∑∂"
_NAMES = """
alpha beta gamma delta varepsilon zeta eta theta kappa lambda mu nu xi pi rho sigma tau varphi chi psi omega Gamma
Delta Theta Lambda Xi Pi Sigma Phi Psi Omega
pm times cdot leq geq neq approx to infty surd propto in sum partial
"""
_LOW = dict(zip("₀₁₂₃₄₅₆₇₈₉ᵢⱼ", "0123456789ij", strict=True))
_HIGH = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻ᵀⁿ", "0123456789-Tn", strict=True))
_LETTERS = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "–": "--",
    "—": "---",
    "−": "$-$",
    "§": r"$\mathsection$",
    "†": r"$\dagger$",
    "‡": r"$\ddagger$",
    "…": r"\ldots{}",
    "’": "'",
    "‘": "`",
    "“": "``",
    "”": "''",
    "°": r"$^\circ$",
    "\u00a0": "~",
    "\u2009": r"\,",
    "\u202f": r"\,",
}
_COMMANDS = dict(zip(_COMMANDED, _NAMES.split(), strict=True))
_TEXT = (
    _LETTERS
    | {sign: f"$\\{command}$" for sign, command in _COMMANDS.items()}
    | {sign: f"$_{{{plain}}}$" for sign, plain in _LOW.items()}
    | {sign: f"$^{{{plain}}}$" for sign, plain in _HIGH.items()}
)
_FORMULA = (
    {sign: f"\\{command} " for sign, command in _COMMANDS.items()}
    | {sign: f"_{{{plain}}}" for sign, plain in _LOW.items()}
    | {sign: f"^{{{plain}}}" for sign, plain in _HIGH.items()}
    | {"−": "-", "–": "-", "%": r"\%", "#": r"\#"}
)


def escape(text: str) -> str:
    """Text for LaTeX; what stands between dollar signs is a formula. ValueError for a sign that nothing here prints."""
    made = "".join(
        "".join((_FORMULA if i % 2 else _TEXT).get(sign, sign) for sign in part)
        for i, part in enumerate(FORMULA.split(text))
    )
    strange = sorted({sign for sign in made if ord(sign) > 0xFF})
    if strange:
        raise ValueError(f"LaTeX cannot print {' '.join(strange)} in {text[:60]!r}; add it to figures/latex.py")
    return made
