"""Formulas as MathML, which browsers draw themselves: no script is loaded, from here or from elsewhere."""

from __future__ import annotations

import re

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.application import Sphinx
from sphinx.writers.html5 import HTML5Translator


def setup(app: Sphinx) -> None:
    """Register the renderer under the name `mathml`."""
    app.add_html_math_renderer("mathml", (write_inline, None), (write_block, None))


def to_mathml(formula: str, as_block: bool) -> str:
    r"""Return a formula in TeX as MathML; `\tfrac12` is read as TeX reads it, which docutils does not do."""
    return tex2mathml(re.sub(r"frac(\d)(\d)", r"frac{\1}{\2}", formula), as_block=as_block)


def write_inline(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula within a line."""
    writer.body.append(to_mathml(node.astext(), as_block=False))
    raise nodes.SkipNode


def write_block(writer: HTML5Translator, node: nodes.Element) -> None:
    """Write a formula on a line of its own."""
    writer.body.append(writer.starttag(node, "div", CLASS="math"))
    writer.body.append(to_mathml(node.astext(), as_block=True))
    writer.body.append("</div>\n")
    raise nodes.SkipNode
