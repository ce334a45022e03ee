"""The page of the Python interface, from signatures and docstrings."""

from __future__ import annotations

import importlib
import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any

import grokscope
from grokscope.describe import _field_docs

from .markdown import plain

INTRO = """# Python

`import grokscope` is quick: names are imported when they are first used. What follows is everything that is public; what is not
here may change without notice. The equations are functions of `grokscope.theory`, listed on [their own page](../equations.md).
"""
MODULES = {
    "grokscope.plot": ("curves", "times", "attention", "gradient", "norm", "metric", "figure", "curves_of"),
    "grokscope.analysis": (
        "Criterion",
        "run_times",
        "Times",
        "find_phases",
        "Phases",
        "sample",
        "kaplan_meier",
        "log_rank",
        "summarise",
        "compare",
        "compare_with",
        "trend_over",
    ),
    "grokscope.figures": ("figures", "RunCurves", "to_svg", "save"),
    "grokscope.measures": ("View", "measures"),
}
"""Further modules, and the names in them that are meant for users."""
ARGUMENT = re.compile(r"^(\*{0,2}\w+(?:, \w+)*)\s{2,}(\S.*)$")


def python_page() -> str:
    """Names of the package, then those of the modules."""
    lines = [INTRO, "## grokscope", ""]
    public = {name: getattr(grokscope, name) for name in grokscope.__all__ if not name.startswith("_")}
    for name, thing in public.items():
        if not inspect.ismodule(thing):  # they have sections of their own
            lines += described(f"grokscope.{name}", thing)
    for module, names in MODULES.items():
        found = importlib.import_module(module)
        lines += [f"## {module}", "", (inspect.getdoc(found) or "").split("\n\n")[0], ""]
        for name in names:
            lines += described(f"{module}.{name}", getattr(found, name))
    return "\n".join(lines)


def described(name: str, thing: Any) -> list[str]:
    """Heading, signature, docstring; for a class its fields and its own methods."""
    short = name.rsplit(".", 1)[1]
    lines = [f"### {name} {{ #{name.lower().replace('.', '-')} }}", ""]
    if callable(thing) and not (isinstance(thing, type) and issubclass(thing, Exception)):
        lines += ["```python", _signature(short, thing), "```", ""]
    own = thing.__doc__ if isinstance(thing, type) or inspect.isroutine(thing) else type(thing).__doc__
    lines += [docstring(inspect.cleandoc(own or "")), ""]
    if not isinstance(thing, type):
        return lines
    if is_dataclass(thing) and (docs := _field_docs(thing)):
        shown = [(f.name, plain(docs[f.name])) for f in fields(thing) if f.name in docs]
        lines += ["| field | meaning |", "|---|---|", *(f"| `{field}` | {meaning} |" for field, meaning in shown), ""]
    for method, function in vars(thing).items():
        function = getattr(function, "__func__", function)
        if method.startswith("_") or not inspect.isfunction(function) or not function.__doc__:
            continue
        lines += [f"`{_signature(f'{short}.{method}', function, width=1000)}`", ""]
        lines += [docstring(inspect.cleandoc(function.__doc__)), ""]
    return lines


def _signature(name: str, thing: Any, width: int = 88) -> str:
    """As in the source; one argument per line if it is long."""
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    parts: list[str] = []
    marks: dict[Any, str] = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    keyword = False
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword:
            parts.append("*")
        keyword = keyword or parameter.kind in (parameter.KEYWORD_ONLY, parameter.VAR_POSITIONAL)
        parts.append(marks.get(parameter.kind, "") + _argument(parameter))
    result = "" if isinstance(thing, type) else _annotation(signature.return_annotation, " -> ")
    text = f"{name}({', '.join(parts)}){result}"
    return text if len(text) <= width else "\n".join([f"{name}(", *(f"    {part}," for part in parts), f"){result}"])


def _argument(parameter: inspect.Parameter) -> str:
    """`threshold: float = 0.99`; a default that is made anew for every call is …"""
    typed = _annotation(parameter.annotation, ": ")
    if parameter.default is parameter.empty:
        return parameter.name + typed
    default = repr(parameter.default)
    default = "…" if default.startswith("<") else default
    return f"{parameter.name}{typed} = {default}" if typed else f"{parameter.name}={default}"


def _annotation(annotation: Any, before: str) -> str:
    if annotation is inspect.Signature.empty:
        return ""
    return before + (annotation if isinstance(annotation, str) else inspect.formatannotation(annotation))


def docstring(text: str) -> str:
    """Our docstrings as Markdown: lines `name   meaning` become a list, indented blocks become code."""
    lines: list[str] = []
    inside = False
    for line in text.splitlines():
        if found := ARGUMENT.match(line):
            lines += ([] if inside else [""]) + [f"- `{found[1]}`: {found[2]}"]
            inside = True
        elif inside and line.startswith(" "):
            lines.append(f"    {line.strip()}")
        else:
            inside = inside and not line.strip()
            lines.append(line)
    return "\n".join(lines)
