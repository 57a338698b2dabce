"""Fuzzing: mutated inputs of every kind that may be untrusted, each checked in a process of its own.

Every module here that defines `seeds` is a target and has three functions:

    seeds() -> list[bytes]                               valid inputs
    mutate(raw: bytes, rng: random.Random) -> bytes      an input made from one of them
    check(raw: bytes) -> None                            use the input as a user would

`check` returns when the input was accepted, lets a `DecibanError` through when it was refused, and raises
AssertionError when what was read differs from an independent reading or a refused operation changed something. Any
other exception, a crash, more than 2 s of CPU time (of each operation, where `begin_operation` separates them) and
more than 1 GiB of memory are findings too.
"""
