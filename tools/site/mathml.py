"""LaTeX to MathML, for the part of LaTeX that the pages use: browsers typeset it without a script.

An unknown command raises, so that a formula is shown as it was meant or the site is not built.
"""

from __future__ import annotations

import html
import re

GREEK = {
    **{
        "alpha": "α",
        "beta": "β",
        "gamma": "γ",
        "delta": "δ",
        "varepsilon": "ε",
        "epsilon": "ϵ",
        "eta": "η",
        "theta": "θ",
    },
    **{
        "kappa": "κ",
        "lambda": "λ",
        "mu": "μ",
        "pi": "π",
        "rho": "ρ",
        "sigma": "σ",
        "tau": "τ",
        "phi": "φ",
        "omega": "ω",
    },
    **{"Delta": "Δ", "Theta": "Θ", "Sigma": "Σ", "Omega": "Ω", "ell": "ℓ", "infty": "∞"},
}
OPERATORS = {
    **{"leq": "≤", "le": "≤", "geq": "≥", "ge": "≥", "neq": "≠", "approx": "≈", "propto": "∝", "sim": "∼", "to": "→"},
    **{"leftarrow": "←", "rightarrow": "→", "in": "∈", "notin": "∉", "cup": "∪", "cap": "∩", "cdot": "·", "times": "×"},
    **{"odot": "⊙", "ast": "∗", "top": "⊤", "partial": "∂", "nabla": "∇", "ldots": "…", "dots": "…", "pm": "±"},
    **{"lVert": "‖", "rVert": "‖", "Vert": "‖", "lvert": "|", "rvert": "|", "mid": "|", "lfloor": "⌊", "rfloor": "⌋"},
    **{"langle": "⟨", "rangle": "⟩", "{": "{", "}": "}"},
}
BIG = {"sum": "∑", "prod": "∏"}
FUNCTIONS = {"log", "exp", "min", "max", "sup", "inf", "sin", "cos", "tanh", "arg"}
LIMITS = {"min", "max", "sup", "inf", *BIG}
"""Commands whose subscript stands below them in a displayed formula."""
ACCENTS = {"bar": "¯", "tilde": "~", "hat": "^", "dot": "˙"}
SPACES = {"quad": "1em", "qquad": "2em", ",": "0.17em", ";": "0.28em", "!": "-0.17em", " ": "0.25em"}
PRIME = '<mo lspace="0" rspace="0">′</mo>'
TOKEN = re.compile(r"\\([A-Za-z]+|.)|([0-9]+(?:\.[0-9]+)?)|([A-Za-z])|(\S)")


def mathml(latex: str, *, display: bool = False) -> str:
    """A formula as a <math> element, with its LaTeX as the annotation that is copied and read aloud."""
    parser = _Parser(latex, display)
    body = parser.row(end=None)
    shown = ' display="block"' if display else ""
    source = html.escape(" ".join(latex.split()))
    note = f'<annotation encoding="application/x-tex">{source}</annotation>'
    return f"<math{shown}><semantics>{body}{note}</semantics></math>"


class _Parser:
    """Recursive descent over tokens: each is a command with a backslash, a number, a letter or a sign."""

    def __init__(self, latex: str, display: bool) -> None:
        self.latex, self.display, self.at = latex, display, 0
        self.tokens = [
            "\\" + command if command else number or letter or sign
            for command, number, letter, sign in TOKEN.findall(latex)
        ]

    def row(self, end: str | None) -> str:
        """Everything up to the token `end`, which is consumed; None reads to the end of the formula."""
        parts: list[str] = []
        while self.at < len(self.tokens):
            if self.tokens[self.at] == end:
                self.at += 1
                return f"<mrow>{''.join(parts)}</mrow>"
            parts.append(self.scripted())
        if end is not None:
            raise self.error(f"{end} is missing")
        return f"<mrow>{''.join(parts)}</mrow>"

    def scripted(self) -> str:
        """One thing with its sub- and superscripts."""
        name = self.tokens[self.at].removeprefix("\\")
        base, sub, sup = self.atom(), "", ""
        while self.at < len(self.tokens) and self.tokens[self.at] in ("_", "^", "'"):
            mark = self.tokens[self.at]
            self.at += 1
            if mark == "_":
                sub += self.atom()
            else:
                sup += PRIME if mark == "'" else self.atom()
        if sup and not sup.replace("<mrow>", "").replace("</mrow>", "").replace(PRIME, ""):
            # fonts draw a prime raised already: as a superscript it would be raised twice
            return f"<mrow>{f'<msub>{base}<mrow>{sub}</mrow></msub>' if sub else base}{sup}</mrow>"
        below = self.display and name in LIMITS
        if sub and sup:
            kind = "munderover" if below else "msubsup"
            return f"<{kind}>{base}<mrow>{sub}</mrow><mrow>{sup}</mrow></{kind}>"
        if sub:
            kind = "munder" if below else "msub"
            return f"<{kind}>{base}<mrow>{sub}</mrow></{kind}>"
        return f"<msup>{base}<mrow>{sup}</mrow></msup>" if sup else base

    def atom(self) -> str:
        if self.at == len(self.tokens):
            raise self.error("something is missing at the end")
        token = self.tokens[self.at]
        self.at += 1
        if token == "{":
            return self.row("}")
        if token.startswith("\\"):
            return self.command(token[1:])
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{token}</mi>"
        if token in "}_^&%#$":
            raise self.error(f"unexpected {token}")
        stretchy = ' stretchy="false"' if token in "()[]|" else ""
        return f"<mo{stretchy}>{html.escape('−' if token == '-' else token)}</mo>"

    def command(self, name: str) -> str:
        if name in GREEK:
            return f"<mi>{GREEK[name]}</mi>"
        if name == "prime":
            return PRIME
        if name in OPERATORS:
            return f'<mo stretchy="false">{OPERATORS[name]}</mo>'
        if name in BIG:
            return f"<mo>{BIG[name]}</mo>"
        if name in FUNCTIONS:
            return f"<mi>{name}</mi>"
        if name in SPACES:
            return f'<mspace width="{SPACES[name]}"/>'
        if name in ACCENTS:
            return f'<mover accent="true">{self.atom()}<mo stretchy="false">{ACCENTS[name]}</mo></mover>'
        if name in ("frac", "tfrac", "dfrac"):
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if name == "sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if name in ("left", "right"):
            token = self.tokens[self.at]
            self.at += 1
            sign = OPERATORS.get(token[1:], "") if token.startswith("\\") else token.replace(".", "")
            return f'<mo stretchy="true">{html.escape(sign)}</mo>'
        if name in ("mathrm", "text", "operatorname", "mathcal", "mathbf"):
            return self.letters(name)
        raise self.error(f"unknown command \\{name}")

    def letters(self, font: str) -> str:
        """The letters of \\mathrm{…} and the like as one identifier."""
        start = self.at
        self.atom()
        words = "".join(t for t in self.tokens[start : self.at] if t not in "{}").replace("\\", "")
        style = {"mathcal": ' class="cal"', "mathbf": ' class="bold"'}.get(font, "")
        return f'<mi mathvariant="normal"{style}>{html.escape(words)}</mi>'

    def error(self, problem: str) -> ValueError:
        return ValueError(f"{problem} in the formula {self.latex!r}")
