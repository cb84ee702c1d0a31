"""Text as LaTeX that compiles."""

import re

_GREEK = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi "
    "o pi rho varsigma sigma tau upsilon phi chi psi omega"
).split()
_LATEX = {
    # Other capitals look like Latin ones.
    **{
        chr(0x391 + place): rf"$\{name.title()}$"
        for place, name in enumerate(_GREEK)
        if name in "gamma delta theta lambda xi pi sigma phi psi omega".split()
    },
    **{
        chr(0x3B1 + place): rf"$\{name}$" if name != "o" else "o"
        for place, name in enumerate(_GREEK)
    },
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
    "<": "$<$",
    ">": "$>$",
    "|": "$|$",
    "\u2013": "--",
    "\u2014": "---",
    "\u2018": "`",
    "\u2019": "'",
    "\u201c": "``",
    "\u201d": "''",
    "\u2026": "...",
    "\u2190": r"$\leftarrow$",
    "\u2191": r"$\uparrow$",
    "\u2192": r"$\rightarrow$",
    "\u2193": r"$\downarrow$",
    "\u2212": "$-$",
    "\u2264": r"$\leq$",
    "\u2265": r"$\geq$",
    "\xb0": r"$^\circ$",
    "\xb1": r"$\pm$",
    "\xb5": r"$\mu$",
    "\xd7": r"$\times$",
}
#: Characters that every LaTeX prints as they are.
_PRINTED = {chr(code) for code in (*range(32, 127), *range(0xC0, 0x100))}
_PRINTED -= set("\xd0\xde\xf0\xf7\xfe")
#: A minus before a number.
_MINUS = re.compile(r"(?<![\w.)}-])-(?=\.?\d)")


def latex_text(text: str) -> str:
    """Escapes a text for LaTeX; unknown characters become code points.

    Example:

    >>> from tensorboard_plugin_tfcap.tradeoff.latex_text import latex_text
    >>> latex_text("x < -2")
    'x $<$ $-$2'
    """
    text = "".join(
        _LATEX.get(letter)
        or (letter if letter in _PRINTED else f"[U+{ord(letter):04X}]")
        for letter in text
    )
    return _MINUS.sub("$-$", text)
