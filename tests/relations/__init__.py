"""Relations: what must not matter changes no answer.

`TABLES` of `tables`, drawn from a seed, are learned with the settings of `settings`. Each line of `transformations`
changes the rows of training and of prediction and says what must follow; each line of `laws` says what must hold of a
learned model. `exceptions` lists the cases that may differ, with the reason.
`python -m tests.relations --seed 1 --seconds 600` counts all comparisons.
"""
