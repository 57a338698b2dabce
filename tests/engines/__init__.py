"""Engines: whichever way the rows are stored and walked, the same sums and scores."""
