"""Rows on a GPU: tensors of torch and arrays of CuPy, sums and scores of them, and Triton kernels for large ones.

`sums` and `device_scores` are definitions in torch; `kernels` compute the same for large tensors of single precision.
No module of this package imports torch before a tensor was given.
"""
