"""The page at /docs: the OpenAPI document as HTML that needs nothing from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any

STYLE = """
:root { color-scheme: light dark }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 14px/1.4 ui-monospace, monospace }
pre { padding: .7rem; border: 1px solid; overflow: auto }
details { border-top: 1px solid; padding: .5rem 0 }
summary { cursor: pointer }
table { border-collapse: collapse; width: 100% }
td, th { text-align: left; vertical-align: top; padding: .2rem .6rem .2rem 0 }
.method { display: inline-block; min-width: 3.5rem; font-weight: bold }
"""

EXAMPLE = """curl http://127.0.0.1:8645/v1/models/NAME/predict \\
  -H 'Content-Type: application/json' \\
  -d '{"rows": [{"COLUMN": 41}]}'

curl 'http://127.0.0.1:8645/v1/models/NAME/predict?proba=true' \\
  -H 'Content-Type: text/csv' --data-binary @rows.csv"""

TOKEN_NOTE = "<p>This server needs a token: <code>-H 'Authorization: Bearer TOKEN'</code></p>"

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
"""The Content-Security-Policy of the page: it loads and runs nothing."""


def make_page(document: Mapping[str, Any], needs_token: bool) -> str:
    """Return the HTML of an OpenAPI document, with a note on the token if the server needs one."""
    version = document["info"]["version"]
    operations = "".join(
        _format_operation(path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )
    return (
        f"<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>deciban {escape(version)}</title><style>{STYLE}</style>"
        f"<h1>deciban {escape(version)}</h1><p>{escape(document['info']['description'])} The same as "
        f"<a href='openapi.json'>OpenAPI</a>.</p><pre>{escape(EXAMPLE)}</pre>"
        f"{TOKEN_NOTE if needs_token else ''}{operations}</html>"
    )


def _format_operation(path: str, method: str, operation: Mapping[str, Any]) -> str:
    """Return an operation as HTML: its parameters, body and answers below a line that opens them."""
    head = f"<span class=method>{method.upper()}</span> <code>{escape(path)}</code>"
    body, parts = operation.get("requestBody"), []
    if parameters := operation.get("parameters"):
        parts.append(_format_table("Parameters", [(p["name"], _describe_parameter(p)) for p in parameters]))
    if body:
        parts.append(_format_table("Body", [(kind, "") for kind in body["content"]]))
    answers = [(code, answer["description"]) for code, answer in operation["responses"].items()]
    parts.append(_format_table("Answers", answers))
    return f"<details><summary>{head} {escape(operation['summary'])}</summary>{''.join(parts)}</details>"


def _describe_parameter(parameter: Mapping[str, Any]) -> str:
    """Return a parameter's description (by default that of a model's name), and its type or its values."""
    schema = parameter["schema"]
    kind = " | ".join(schema["enum"]) if "enum" in schema else schema.get("type", "")
    several = "; may be repeated" if kind == "array" else f" ({kind})"
    return parameter.get("description", "The name of the model.") + several


def _format_table(title: str, rows: list[tuple[str, str]]) -> str:
    """Return a heading and a table of two columns as HTML; the cells are escaped, the title is not."""
    cells = "".join(f"<tr><td><code>{escape(a)}</code></td><td>{escape(b)}</td></tr>" for a, b in rows)
    return f"<h4>{title}</h4><table>{cells}</table>"
