"""Distributions of features given the class: each family turns a statistic and a prior into a score form.

`needs()` is the statistic that it requests; `solve` gives the score form of ln p(x|k); `sample` draws rows;
`log_likelihood` is that of the data from which the statistic was computed; `n_parameters` counts estimated numbers.
The base class is `Family` in `families/family.py`.
"""
