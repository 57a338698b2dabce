"""HOW IT IS FAST: the Numba loops. Each is a function of `ledger` or `scores` again, for large inputs.

One core each and free of the interpreter's lock; engines run them on blocks of rows in threads. Importing
any module of this room imports Numba, so engines do so only for large work.
"""
