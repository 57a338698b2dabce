"""Benchmarks of speed, memory and start-up against other libraries, and evaluations on public data."""
