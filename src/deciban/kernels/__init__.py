"""Numba kernels: each computes the same function as a definition in NumPy, for large inputs.

A kernel uses one core and releases the interpreter's lock; engines run kernels on blocks of rows in threads.
Importing any module of this package except `execution` imports Numba, so that is done only for large work.
"""
