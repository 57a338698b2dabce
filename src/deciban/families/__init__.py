"""WHAT WE ASSUME: each family solves a statistic and a prior into a score form.

`needs()` says which statistic it wants; `solve` gives ln p(x|k); `sample` draws rows; `log_likelihood` is
that of the very data the statistic was learned from; `n_parameters` counts what was estimated.
"""

from deciban.families.bernoulli import Bernoulli
from deciban.families.categorical import Categorical
from deciban.families.complement import Complement
from deciban.families.family import Family
from deciban.families.gaussian import Gaussian
from deciban.families.joint import Joint
from deciban.families.multinomial import Multinomial
from deciban.families.parameters import ParameterCount, parameter_count
from deciban.families.poisson import Poisson
from deciban.families.prior import ClassPrior

__all__ = [
    "Bernoulli",
    "Categorical",
    "ClassPrior",
    "Complement",
    "Family",
    "Gaussian",
    "Joint",
    "Multinomial",
    "ParameterCount",
    "Poisson",
    "parameter_count",
]
