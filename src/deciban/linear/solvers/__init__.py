"""Minimisers of the penalised logistic loss."""
