"""The page of commands, from what `--help` prints."""

from __future__ import annotations

from typing import Any

import typer

from grokscope.cli.app import app
from grokscope.cli.front import COMMANDS, register

from .markdown import plain


def commands_page() -> str:
    """Every command with its arguments and options."""
    register()
    group: Any = typer.main.get_command(app)
    context = typer.Context(group, info_name="grokscope")
    lines = ["# Commands", "", group.help, "", "`grokscope COMMAND --help` prints the same.", "", "## grokscope", ""]
    lines += [*_table("option", _options(group, context)), ""]
    for name in COMMANDS:
        lines += _command(name, group.commands[name], context)
    return "\n".join(lines)


def _command(name: str, command: Any, parent: Any) -> list[str]:
    context = typer.Context(command, info_name=name, parent=parent)
    usage = " ".join(["grokscope", name, *command.collect_usage_pieces(context)])
    lines = [f"## {name}", "", f"`{usage}`", "", *_paragraphs(command.help or ""), ""]
    arguments = [p for p in command.get_params(context) if p.param_type_name == "argument"]
    if arguments:
        lines += [*_table("argument", [(f"`{p.metavar or p.name}`", p.help or "") for p in arguments]), ""]
    lines += [*_table("option", _options(command, context)), ""]
    return lines + ([*_paragraphs(command.epilog), ""] if command.epilog else [])


def _options(command: Any, context: Any) -> list[tuple[str, str]]:
    """Names with the kind of value, and the meaning with the default."""
    rows = []
    for option in command.get_params(context):
        if option.param_type_name != "option" or option.hidden:
            continue
        names = ", ".join(f"`{name}`" for name in option.opts)
        value = "" if option.is_flag or not option.metavar else f" `{option.metavar}`"
        shown = option.show_default if isinstance(option.show_default, str) else option.default
        plain = shown not in (None, False, True, "", [], ()) and not callable(shown) and not option.is_flag
        default = f" Default: `{shown}`." if plain else ""
        rows.append((names + value, (option.help or "") + default))
    return rows


def _table(what: str, rows: list[tuple[str, str]]) -> list[str]:
    cells = [f"| {plain(name)} | {plain(meaning)} |" for name, meaning in rows]
    return [f"| {what} | meaning |", "|---|---|", *cells]


def _paragraphs(text: str) -> list[str]:
    """Text as Markdown; examples of the command become blocks."""
    parts = [" ".join(part.split()) for part in text.split("\n\n")]
    return ["\n\n".join(f"```sh\n{part}\n```" if part.startswith("grokscope ") else part for part in parts)]
