"""`python -m tests.relations --seed 1 --seconds 600` compares what must not matter; exits 1 on a difference."""

from __future__ import annotations

import argparse
import sys
import time

from tests.relations import runner
from tests.relations.settings import SETTINGS
from tests.relations.tables import TABLES


def main() -> int:
    """Parse the arguments and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.relations", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="tables, rows and changes depend on it")
    parser.add_argument("--seconds", type=float, default=60.0, help="no pair of table and setting starts later")
    parser.add_argument("--table", choices=TABLES, help="this table alone")
    parser.add_argument("--setting", choices=SETTINGS, help="this setting alone")
    parser.add_argument("--relation", choices=runner.CHECKS, help="this relation alone")
    given = parser.parse_args()
    until = time.monotonic() + given.seconds
    total, started = runner.Result(), time.monotonic()
    for seed, table, setting in runner.all_pairs(given.seed):
        if time.monotonic() > until or (seed != given.seed and given.table and given.setting):
            break
        if given.table in (None, table) and given.setting in (None, setting):
            done = runner.run(seed, table, setting, [given.relation] if given.relation else runner.CHECKS)
            total.add(done)
            for violation in done.violations:
                print(violation, flush=True)
    for reason, count in total.exceptions.most_common():
        print(f"{count} exceptions: {reason}")
    print(f"seed {given.seed}, {time.monotonic() - started:.0f} s: {total}")
    return int(bool(total.violations))


if __name__ == "__main__":
    sys.exit(main())
