"""Pages of the command line: the chapters of docs/cli.md, with usage, arguments and options from the parser."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator

from deciban.cli.app import GROUP
from deciban.cli.command_groups import Group
from deciban.cli.parser import Argument, Command

CHAPTER = re.compile(r"^(##|###) (.+)\n", flags=re.MULTILINE)
OPTIONS = re.compile(r"<!-- options of ([\w ]+) -->\n.*?<!-- end -->", flags=re.DOTALL)
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|$~^])")
TITLES = {"documents": "Documents as data", "files": "Files: formats, numbers, dates, missing values"}
"""Titles of the chapters of docs/cli.md that are no commands."""


def iterate_commands(group: Group = GROUP) -> Iterator[tuple[str, Command | Group]]:
    """Yield every command and group of commands with its name, without the leading `deciban`."""
    for name in group.commands:
        found = group.find(name)
        full = f"{group.name} {name}".removeprefix("deciban ")
        yield full, found
        if isinstance(found, Group):
            yield from iterate_commands(found)


def iterate_options() -> Iterator[str]:
    """Yield the full name of every option, as the index of the site has it: `deciban-train.--alpha`."""
    for name, command in iterate_commands():
        if isinstance(command, Command):
            yield from (f"deciban-{name.replace(' ', '-')}.{option}" for option in command.option_names)


def make_pages(text: str) -> dict[str, str]:
    """Return the pages of the command line by file name, from the text of docs/cli.md."""
    opening, *parts = CHAPTER.split(text)
    chapters = {parts[i + 1]: parts[i + 2].strip() for i in range(0, len(parts), 3)}
    commands = dict(iterate_commands())
    if unknown := commands.keys() - chapters.keys():
        raise LookupError(f"docs/cli.md has no chapter for {sorted(unknown)}")
    pages = {"index.md": opening.strip() + "\n\n" + _list_pages([n for n in chapters if " " not in n])}
    for name, body in chapters.items():
        pages[to_file(name)] = _make_page(name, body, commands.get(name), list(chapters))
    return {name: _redirect_sources(page) for name, page in pages.items()}


def to_file(chapter: str) -> str:
    """Return the file name of a chapter of docs/cli.md.

    >>> to_file("mail learn")
    'mail-learn.md'
    """
    return f"{chapter.replace(' ', '-')}.md"


def _make_page(name: str, body: str, command: Command | Group | None, chapters: list[str]) -> str:
    if command is None:
        return f"# {TITLES[name]}\n\n{body}\n"
    parts = [f"# deciban {name}", f"```text\n{_format_usage(name, command, body)}\n```"]
    parts.append(OPTIONS.sub(lambda found: _format_options(found[1]), body))
    if isinstance(command, Group):
        parts.append(_list_pages([each for each in chapters if each.startswith(f"{name} ")]))
    elif "```console" in body:
        parts.append("The files of these sessions are made in [the overview](#) and on pages before this one.")
    return "\n\n".join(parts) + "\n"


def _format_usage(name: str, command: Command | Group, body: str) -> str:
    """Return the line of usage, and examples that could be typed, unless the chapter shows them."""
    if isinstance(command, Group):
        return command.usage
    examples = [f"  {example}" for example in command.examples if example not in body]
    return "\n".join([command.format_usage(f"deciban {name}"), *(["", "Example:", *examples] if examples else [])])


def _format_options(name: str) -> str:
    """Return the arguments and options of a command as entries of the index, by the sections of its help text."""
    command = dict(iterate_commands())[name]
    assert isinstance(command, Command)
    sections: dict[str, list[Argument]] = defaultdict(list)
    for each in command.arguments:
        sections[each.section if each.is_option else "Arguments"].append(each)
    order = ["Arguments", "Options", *(title for title in sections if title not in ("Arguments", "Options"))]
    lines = [f"```{{program}} deciban {name}\n```"]
    for title in order:
        if title in sections:
            lines += [f":::{{rubric}} {title}\n:::", *map(_format_argument, sections[title])]
    return "\n\n".join(lines)


def _format_argument(argument: Argument) -> str:
    """Return an argument as an entry; one found by its position is a term with a description."""
    name, text = argument.help_entry
    text = escape(text)
    if not argument.is_option:
        return f"{escape(name)}\n: {text}"
    value = "" if argument.is_flag else f" {argument.settings['metavar']}"
    return f"```{{option}} {', '.join(spelling + value for spelling in argument.spellings)}\n{text}\n```"


def escape(text: str) -> str:
    """Escape the characters that have a meaning in Markdown."""
    return SPECIAL.sub(r"\\\1", text)


def _list_pages(chapters: list[str]) -> str:
    """Return a table of contents of these chapters, which the page shows."""
    return "```{toctree}\n:maxdepth: 1\n\n" + "\n".join(map(to_file, chapters)) + "\n```"


def _redirect_sources(page: str) -> str:
    """Return a page with the links of docs/cli.md, as they have to be two folders further down."""
    return re.sub(r"\]\((?!https?:)([^)]+)\)", lambda found: f"]({_move_link(found[1])})", page)


def _move_link(link: str) -> str:
    """Return a link of docs/cli.md: one to a chapter leads to its page, one to the beginning to the overview."""
    return f"{link[1:] or 'index'}.md" if link.startswith("#") else f"../../{link}"
