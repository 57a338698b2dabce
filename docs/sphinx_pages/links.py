"""Links to docs/cli.md and to documents at the root of the repository, led to the pages made from them."""

from __future__ import annotations

import re

from sphinx_pages.project_files import FILES

COMMANDS = re.compile(r"\]\(((?:\.\./)*)cli\.md(?:#([\w-]+))?\)")
ROOT_FILE = re.compile(rf"\]\((?:\.\./)+({'|'.join(FILES)})(#[\w-]+)?\)")


def redirect(text: str) -> str:
    """Return the Markdown of a page, its links to those documents led to generated pages.

    >>> redirect("[train](../cli.md#train) [how](../../CONTRIBUTING.md#recipes)")
    '[train](../reference/commands/train.md) [how](/project/contributing.md#recipes)'
    """
    text = COMMANDS.sub(lambda found: f"]({found[1]}reference/commands/{found[2] or 'index'}.md)", text)
    return ROOT_FILE.sub(lambda found: f"](/project/{FILES[found[1]]}.md{found[2] or ''})", text)
