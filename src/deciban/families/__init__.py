"""WHAT WE ASSUME: each family solves a statistic and a prior into a score form; one file each.

`needs()` says which statistic it wants; `solve` gives ln p(x|k); `sample` draws rows; `log_likelihood` is
that of the very data the statistic was learned from; `n_parameters` counts what was estimated. The contract
is `families/family.py`.
"""
