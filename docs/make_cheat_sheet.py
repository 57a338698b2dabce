"""Make docs/cheat-sheet.pdf: families, score forms and commands of deciban on one printable page (A4, landscape).

    python docs/make_cheat_sheet.py

Commands, formulas of score forms, boundaries and parameter counts are read from the code; the page's `Keywords` have
a digest of its text, by which a test tells whether the file is up to date.
"""

from __future__ import annotations

import hashlib
import inspect
import re
import textwrap
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import deciban
from deciban.cli.app import GROUP
from deciban.cli.mail.commands import GROUP as MAIL
from deciban.cli.plot import GROUP as PLOT
from deciban.families.family import GAUSSIAN_PARAMETERS
from deciban.model.columns import ROLES
from deciban.scores import bounded_forms, gaussian_forms, linear, lookup, pair_form
from deciban.scores.score_form import ScoreForm

FILE = Path(__file__).with_name("cheat-sheet.pdf")
A4_INCHES = (11.69, 8.27)
TITLE_COLOUR, INK = "#0072B2", "#1a1a1a"
POINTS = 6.3
"""The size of the text."""

FAMILIES: dict[str, tuple[str, str, str]] = {
    "BernoulliNB": ("present or absent", "Σⱼ [xⱼ ln θₖⱼ + (1 − xⱼ) ln(1 − θₖⱼ)]", "(nₖⱼ₁ + α) / (nₖⱼ + 2α)"),
    "MultinomialNB": ("counts of words", "Σᵥ zᵥ ln θₖᵥ", "(nₖᵥ + α) / (Σᵥ nₖᵥ + αV)"),
    "ComplementNB": ("counts, skewed classes", "−Σᵥ zᵥ ln θ of all other classes", "(nᵥ − nₖᵥ + α) / their sum"),
    "PoissonNB": ("counts per row", "Σⱼ [xⱼ ln λₖⱼ − λₖⱼ − ln xⱼ!]", "(Σ x + αmⱼ) / (n + α), mⱼ the mean"),
    "CategoricalNB": ("levels", "Σⱼ ln θₖⱼ(xⱼ)", "(nₖⱼᵥ + α) / (nₖⱼ + αVⱼ)"),
    "JointBayes": ("few levels, dependent", "ln θₖ(x), one for each combination", "(nₖ(x) + α) / (nₖ + α Πⱼ Vⱼ)"),
    "GaussianNB": ("numbers", "Σⱼ [−½ ln 2πσ²ₖⱼ − ½ (xⱼ − μₖⱼ)² / σ²ₖⱼ]", "mean and variance of the class"),
    "GaussianBayes": ("correlated numbers", "−½ ln|2πΣₖ| − ½ (x − μₖ)ᵀ Σₖ⁻¹ (x − μₖ)", "mean and covariance"),
    "NaiveBayes": ("a table of mixed columns", "Σ of the above, one family a column", "roles are inferred, or given"),
    "TextClassifier": ("texts", "multinomial, Boolean, Bernoulli or complement", "words are counted by deciban"),
    "LogisticRegression": ("dependent numbers", "ln p(k|x) = wₖ·x + bₖ", "minimum of log-loss + penalty"),
    "EvidenceRegression": ("any of these", "Σⱼ tⱼ · evidence of feature j", "t from log-loss; t = 1 is naive Bayes"),
    "BoostedBayes": ("any of these", "vote or sum of naive Bayes models", "rows reweighted in each round"),
}  # fmt: skip
"""For each estimator: the data it is for, ln p(x|k), and the estimate of its parameters."""

PYTHON = """\
model = deciban.train("a.csv", target="y")   # Model
model.predict("b.csv")   .predict_proba   .score_samples
print(model.explain("b.csv"))           # decibans
model.save("m.deciban")  deciban.load("m.deciban")
deciban.evaluate("a.csv", target="y")   # folds
deciban.compare / choose / learning_curve / dependence
deciban.plots.boundary, evidence, nomogram, roc …

nb = deciban.GaussianNB().fit(X, y)     # scikit-learn API
nb.partial_fit  .forget  .merge  a + b  a − b  0.5 * a
nb.with_priors  .calibrated  .fit_novelty  .sample
nb.linear_form().w, .b   .quadratic_form()   .bayes_error
deciban.cross_validate(nb, X, y, folds="loo")
nb.predict(X, reject=0.1)  costs=  thresholds=  reject_novel="""

EVIDENCE = """\
evidence of x for k against l, in decibans (dB):
  10 log₁₀ [p(x|k) / p(x|l)];   prior: 10 log₁₀ (πₖ/πₗ)
all terms add up to 10 log₁₀ [p(k|x) / p(l|x)]
  0 dB 1:1 · 3 dB 2:1 · 5 dB 3:1 · 10 dB 10:1 · 20 dB 100:1
p(k|x) = softmax of aₖ = ln πₖ + ln p(x|k)"""


class Section(NamedTuple):
    """A titled list of rows, each with its cells."""

    title: str
    rows: tuple[tuple[str, ...], ...]


def list_families() -> Section:
    """Return a row for each estimator: name, data, formula, estimate, boundary, parameters, and whether it adds."""
    rows = [("ESTIMATOR", "FOR", "SCORE OF CLASS k", "ESTIMATE", "BOUNDARY", "PARAMETERS", "+ − ×")]
    for name, texts in FAMILIES.items():
        model = fit_example(name)
        adds = "yes" if hasattr(model, "ledger_") else "–"
        rows.append((name, *texts, name_boundary(model), str(model.n_parameters_), adds))
    note = "parameters of two classes and four columns of levels 0, 1, 2; + − ×: models add"
    return Section(f"Families ({note})", tuple(rows))


def list_covariances() -> Section:
    """Return a row for each shape of the covariance of `GaussianBayes`: its boundary and parameters."""
    models = {kind: fit_example("GaussianBayes", covariance=kind) for kind in GAUSSIAN_PARAMETERS}
    rows = [(kind, name_boundary(model), str(model.n_parameters_)) for kind, model in models.items()]
    return Section("GaussianBayes(covariance=…): boundary, parameters", tuple(rows))


def fit_example(name: str, **arguments: Any) -> Any:
    """Return an estimator fitted to four columns of small counts, or texts, in two classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    X: Any = rng.binomial(2, np.where(y == 0, 0.3, 0.6)[:, None], (60, 4))
    if name == "TextClassifier":
        X = [" ".join(f"word{j}" for j, n in enumerate(row) for _ in range(n)) or "word0" for row in X]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return getattr(deciban, name)(**arguments).fit(X, y)


def name_boundary(model: Any) -> str:
    """Return the shape of the boundary between two classes."""
    for shape, method in (("line", "linear_form"), ("conic", "quadratic_form")):
        try:
            getattr(model, method)()
        except (TypeError, ValueError, AttributeError):
            continue
        return shape
    return "steps"


def list_score_forms() -> Section:
    """Return the formula of each score form: the second paragraph of its docstring."""
    rows = []
    for module in (linear, lookup, gaussian_forms, pair_form, bounded_forms):
        for name, form in inspect.getmembers(module, inspect.isclass):
            if issubclass(form, ScoreForm) and form.__module__ == module.__name__ and "_k" in (form.__doc__ or ""):
                rows.append((name, format_formula(inspect.cleandoc(form.__doc__).split("\n\n")[1])))
    return Section("Score forms of ln p(x|k): enough to predict and explain", tuple(rows))


SUBSCRIPTS = str.maketrans("kjv", "ₖⱼᵥ")


def format_formula(text: str) -> str:
    """Return the formula in a paragraph without its remarks, with subscripts.

    >>> format_formula("score_k(x) = bias_k + Σ_j weights_kj x_j over the features; NaN adds nothing.")
    'biasₖ + Σⱼ weightsₖⱼ xⱼ'
    """
    formula = re.split(
        r" over the features|; (?=a |NaN|empty)|, the bins|, M the|, with delta", " ".join(text.split())
    )[0].rstrip(".,")
    return re.sub(r"_([kjv]+)\b", lambda found: found[1].translate(SUBSCRIPTS), formula.removeprefix("score_k(x) = "))


def list_commands(group: Any) -> Section:
    """Return the name and summary of each command of a group."""
    rows = tuple((name, entry.summary.removesuffix(".")) for name, entry in group.commands.items())
    return Section(f"{group.name} …", rows)


def collect() -> dict[str, Section]:
    """Return the sections of the page by name."""
    python, evidence = (tuple((line,) for line in text.splitlines()) for text in (PYTHON, EVIDENCE))
    return {
        "families": list_families(), "forms": list_score_forms(), "covariances": list_covariances(),
        "roles": Section("Roles of columns (--as COLUMN=ROLE)", tuple(ROLES.items())),
        "evidence": Section("Evidence", evidence), "python": Section("In Python", python),
        "commands": list_commands(GROUP), "pictures": list_commands(PLOT), "mail": list_commands(MAIL),
    }  # fmt: skip


def digest(sections: Mapping[str, Section]) -> str:
    """Return a digest of the text of the page."""
    return hashlib.sha256(repr(sections).encode()).hexdigest()


class Page:
    """A page on which rows of text are written in columns, from top to bottom; positions in inches."""

    def __init__(self) -> None:
        from matplotlib.figure import Figure

        self.figure = Figure(figsize=A4_INCHES)

    def write(self, x: float, y: float, text: str, **look: Any) -> None:
        """Write a text, its baseline at this distance from the left and top of the page."""
        width, height = A4_INCHES
        look = {"fontsize": POINTS, "color": INK, "parse_math": False, **look}
        self.figure.text(x / width, 1 - y / height, text, va="baseline", **look)

    def rule(self, left: float, y: float, right: float) -> None:
        """Draw a horizontal line."""
        from matplotlib.lines import Line2D

        width, height = A4_INCHES
        place = [left / width, right / width], [1 - y / height] * 2
        self.figure.add_artist(Line2D(*place, color="#b0b0b0", linewidth=0.6))

    def draw(
        self, section: Section, x: float, y: float, stops: Sequence[float], pitch: float = 0.108, wrap: int = 0
    ) -> float:
        """Write a section whose cells begin at these distances from x; return the place below it."""
        self.write(x, y, section.title, weight="bold", color=TITLE_COLOUR, fontsize=POINTS + 1.4)
        y += 1.3 * pitch
        for cells in section.rows:
            lines = textwrap.wrap(cells[-1], wrap) if wrap else [cells[-1]]
            for stop, cell in zip(stops, cells[:-1]):
                self.write(x + stop, y, cell, weight="bold" if stop == 0 else "normal")
            for line in lines:
                family = "monospace" if len(cells) == 1 else "sans-serif"
                self.write(x + stops[len(cells) - 1], y, line, family=family)
                y += pitch
        return y + 0.6 * pitch


def draw_page(sections: Mapping[str, Section]) -> Page:
    """Write all sections: families above, the others in three columns below."""
    page = Page()
    page.write(0.4, 0.5, f"deciban {deciban.__version__}", fontsize=15, weight="bold", color=TITLE_COLOUR)
    page.write(2.1, 0.5, "classify by weighing evidence: naive Bayes, Gaussian Bayes and related models", fontsize=9)
    letters = "k class, j feature, v word or level, n count, π prior, θ probability, α pseudo-count"
    page.write(11.29, 0.5, letters, ha="right", color="#6b6b6b")
    page.rule(0.4, 1.05, 11.29)
    below = page.draw(sections["families"], 0.4, 0.82, (0, 1.35, 3.0, 6.15, 8.75, 9.6, 10.7), pitch=0.14) + 0.06
    columns = (
        (0.4, ("forms", "evidence", "covariances", "roles"), (0, 0.95, 1.7)),
        (4.25, ("python", "pictures"), (0, 0.73)),
        (7.98, ("commands", "mail"), (0, 0.72)),
    )
    for x, names, stops in columns:
        y = below
        for name in names:
            y = page.draw(sections[name], x, y, stops, wrap=64 if name == "forms" else 0)
    return page


def main() -> None:
    """Write the page."""
    sections = collect()
    metadata: Any = {"CreationDate": None, "Title": "deciban: cheat sheet", "Keywords": digest(sections)}
    draw_page(sections).figure.savefig(FILE, format="pdf", metadata=metadata)
    print(f"{FILE.name}: {len(sections)} sections, {FILE.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
