"""Descriptions of the arguments and fitted attributes of estimators: those of one name are described once."""

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, TypeVar

from deciban.docstrings import document

T = TypeVar("T", bound=type)

DESCRIPTIONS: Mapping[str, str] = {
    "C": "One over the strength of the penalty; 'auto' chooses it by the log-loss of five folds (`C_`).",
    "algorithm": "How the rounds are combined and the rows reweighted, see above.",
    "alpha": "A pseudo-count, added to every count; 'auto' chooses it, or how far shares are pooled (`alpha_`).",
    "beta": "Draws each evidence weight towards their mean, after the fit (Wang & Manning 2012: 0.25).",
    "binarize": "A feature is present where its value is above this; None: values are probabilities of presence.",
    "blocks": "Columns to join, [['height', 'weight'], …], that are not independent given the class.",
    "by": "The measure by which words are selected.",
    "calibrate": "The method by which `fit` calibrates probabilities, see `calibrated`; None, 'none': not at all.",
    "class_prior": "The class prior: shares, or its name; None: by `fit_prior`.",
    "class_weight": "The weight of the rows of each class; 'balanced': all classes weigh the same.",
    "common": "The strength with which the common evidence weight is drawn to 0; None: there is none.",
    "covariance": "'full', 'tied', 'mixed', 'diagonal', 'tied_diagonal', 'spherical', 'tied_spherical', 'identity'.",
    "dual": "Accepted for scikit-learn's sake; without effect.",
    "encoding": "The encoding of documents that are bytes.",
    "errors": "How bytes that the encoding does not have are treated.",
    "estimator": "The estimator that is boosted, of rows of numbers; 'gaussian' and None: GaussianNB.",
    "event": "The model of a document: counts of words, each word once, presence of each word, or complement.",
    "fit_intercept": "Whether each class has an intercept.",
    "fit_prior": "Whether the class prior is that of the rows; otherwise it is uniform.",
    "force_alpha": "Whether an `alpha` below 1e-10 is used as it is, and not raised to that.",
    "idf": "Whether rare words count more, by ln((1 + n)/(1 + df)) + 1.",
    "intercept_scaling": "Accepted for scikit-learn's sake; without effect.",
    "l1_ratio": "The share r of the L1 norm in the penalty, see above.",
    "learning_rate": "The factor of the share of each round.",
    "least": "Words of fewer documents are dropped.",
    "length": "Whether all documents are scaled to equal length.",
    "max_iter": "The greatest number of iterations.",
    "min_categories": "The least number of levels of each feature, one number or one each; None: as in the data.",
    "missing": "Whether a missing value (NaN) is skipped, or an error.",
    "mixing": "λ, the share of the pooled covariance in a 'mixed' one; None: 0.5, or chosen by shrinkage='loo'.",
    "most": "How many of the most informative words are kept; None: all.",
    "most_levels": "How many levels of a category are distinguished; the rarer ones are counted as one.",
    "n_components": "How many principal components of all rows are modelled, 'loo': chosen; None: the columns.",
    "n_estimators": "The number of rounds.",
    "n_iter_no_change": "Stop after that many rounds without a lower loss of the rows held out; None: never.",
    "n_jobs": "The number of threads; None: all cores, or as an enclosing joblib context says.",
    "norm": "Whether the weights of each class are divided by the sum of their absolute values.",
    "numbers": "The role of all numbers; 'auto' or None: whichever predicts the class better.",
    "parameter_prior": "Pseudo-rows of each class with the pooled (co)variance: their number, or a ledger; None: 0.",
    "penalty": "The older form of `l1_ratio`; None is C=∞.",
    "held_out": "Whether the common evidence weight is fitted without a document's own words; 'auto': as is better.",
    "presence": "Whether a word counts once per document; None: ln(1 + times); False: as `words` say.",
    "prior_alpha": "The pseudo-count of each class, for the prior 'smoothed' only.",
    "priors": "The class prior: shares, or its name; None: 'empirical'.",
    "random_state": "The seed of random numbers.",
    "roles": "The roles of columns, {'age': 'number'}; those of the others are inferred from some of the rows.",
    "shrinkage": "γ, the share by which covariances are drawn to the target; 'oas': estimated, 'loo': chosen.",
    "shrinkage_target": "Each column's pooled variance, or their mean (scikit-learn's); 'auto': the first, or 'loo'.",
    "solver": "Accepted for scikit-learn's sake; every solver finds the same weights.",
    "start": "Where the search begins: at weights of zero, or at those of naive Bayes.",
    "tol": "The tolerance at which the search ends.",
    "unseen": "How a level that was never learned is treated: no evidence, one more pseudo-count, or an error.",
    "validation_fraction": "The share of the rows that is held out, where `n_iter_no_change` is given.",
    "var_smoothing": "The share of the largest variance of a column that is added to all variances.",
    "verbose": "Accepted for scikit-learn's sake; without effect.",
    "warm_start": "Whether the search begins where that of the last `fit` ended.",
    "weighting": "Weighting by all documents together: 'tfidf' as scikit-learn's, 'twcnb' as Rennie et al.'s (2003).",
    "words": "The tokenizer: `Words`, its arguments in a mapping, or 'classic' or 'modern'; None: the default.",
}
"""The description of each argument of a constructor."""

FITTED_ATTRIBUTES = """
classes_
    The classes, in order.
n_features_in_
    The number of features, or of words.
feature_names_in_
    The names of the columns that were learned, where they have names.
"""


def document_estimator(estimator: T) -> T:
    """Complete the docstring of an estimator, a dataclass: its arguments with type and default, its attributes."""
    cls: Any = estimator
    entries = [
        f"{field.name} : {field.metadata['type']}, default={field.default!r}\n    {DESCRIPTIONS[field.name]}"
        for field in fields(cls)
    ]
    return document("\n".join(entries), attributes=FITTED_ATTRIBUTES, only="_")(estimator)
