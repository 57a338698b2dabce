"""`python -m tests.surfaces --seed 1 --seconds 600` compares what every surface answers; exits 1 on a difference."""

from __future__ import annotations

import argparse
import itertools
import sys
import time
from contextlib import nullcontext

from tests.postgres import reason_to_skip, running_server
from tests.surfaces import runner


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.surfaces", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the seed of the first case; the next have the next ones")
    parser.add_argument("--seconds", type=float, default=60.0, help="no case starts later")
    parser.add_argument("--cases", type=int, help="the number of cases")
    given = parser.parse_args()
    started, missing = time.monotonic(), reason_to_skip()
    seeds = range(given.seed, given.seed + given.cases) if given.cases else itertools.count(given.seed)
    with nullcontext() if missing else running_server() as postgres:
        total = runner.run(seeds, postgres, started + given.seconds)
    for violation in total.violations:
        print(violation)
    for reason, count in total.exceptions.most_common():
        print(f"{count} exceptions: {reason}")
    if missing:
        print(f"not compared: PostgreSQL, since {missing}")
    print(f"seed {given.seed}, {time.monotonic() - started:.0f} s: {total}")
    return int(bool(total.violations))


if __name__ == "__main__":
    sys.exit(main())
