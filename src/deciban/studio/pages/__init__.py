"""The pages of the studio, one module each.

To add a page NAME (lower case; a hyphen in the name is an underscore in the module):

1. A line in `PAGES` below: its name, which is its path `/NAME`, its title in the menu, what must be open before it
   is of use ("data", "model" or ""), the group of the menu, and a sentence that says what it is for.
2. A module `pages/NAME.py` with `ROUTES`, a list of starlette routes. The first is `Route("/NAME", show)`; other
   paths of the page begin with `/NAME/`, and those that change something take POST alone:

       async def show(request: Request) -> Response:
           workspace = get_workspace(request)
           return render(request, "NAME.html", rows=...)

       ROUTES = [Route("/NAME", show), Route("/NAME/relabel", relabel, methods=["POST"])]

3. A template `templates/NAME.html` that begins with `{% extends "layout.html" %}` and fills the block `content`;
   everything is escaped. A page for which nothing is open yet shows `{{ empty(page) }}` of `macros.html`, which also
   has `title(page)`, `code(text, label)` and `icon(name)`. Styles are in `static/studio.css` (classes: card, columns,
   row, field, button, quiet, small, choices, choice, figures, note, warning, bad, scroll, stacked, tag, bar, sheet,
   tabs); a page may have a `static/NAME.css` and a `static/NAME.js`, which it names in the blocks `styles` and
   `scripts`.

Handlers use `deciban.studio.requests`: `get_workspace`, `read_form`, `read_json`, `redirect`, and `run(workspace,
function, …)`, which calls a function in a thread that holds the workspace's lock: all that computes or draws is
called so. `workspace.start_job(label, work, total)` starts longer work, see `jobs.Job`; a form with `data-job` shows
its progress and then goes to the path that `work` has returned. `workspace.record(title, python, command)` appends a
step to those of the page Take away. `deciban.studio.pictures.draw_svg` draws a picture of `deciban.plots`, given by
its name, as SVG, and `inline_svg` makes it an element of a page. Errors are raised: a `DecibanError` or a `Problem`
becomes a page, or JSON for `fetch`. Code that changes a model calls `workspace.set_model` afterwards, so that what
was computed for the former one is dropped.

In the script (`static/studio.js`): `studio.post(path, object)` and `studio.get(path)` return JSON or raise an Error
with the message; `studio.fragment(path)` returns HTML. An element with `data-load="/path"` is filled with the HTML of
that path; a form with `data-submit` is submitted whenever one of its fields changes, one with `data-fetch` without
leaving the page if there is an error.
"""

from __future__ import annotations

from typing import Final, NamedTuple


class Page(NamedTuple):
    """A page of the menu."""

    name: str
    title: str
    needs: str
    group: str
    purpose: str


PAGES: Final = (
    Page("open", "Open", "", "Data", "Choose a table, and what each column is taken for."),
    Page("train", "Train", "data", "Model", "Learn from the table, and see how good the model is."),
    Page("look", "Look", "data", "Model", "See the model and its quality as pictures."),
    Page("ask", "Ask", "model", "Model", "Question the model about a row, value by value."),
    Page("texts", "Texts", "model", "Model", "See which words of a text the model reads as evidence."),
    Page("correct", "Correct", "model", "Model", "Correct wrong labels, and see what it changes."),
    Page("compare", "Compare", "data", "Model", "Compare learners, and merge or compare two models."),
    Page(
        "take-away",
        "Take away",
        "data",
        "Result",
        "Download the model, predictions, a report, and every step as code.",
    ),
    Page("digits", "Digits", "", "Play", "Draw a digit with the mouse, and see it recognised."),
    Page(
        "calculator",
        "Bayes calculator",
        "",
        "Play",
        "What does a positive test mean? Bayes' rule with ten thousand people.",
    ),
    Page("mail", "Mail", "", "Mail", "Decide on messages of which the mail filter is unsure."),
)
"""The pages, in the order of the menu."""
