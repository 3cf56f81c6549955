"""`python -m tests.chaos`: every fault against real processes; exit code 1 when an invariant broke.

--quick          the few that `make test` plays
--only F3 F21    these, by id
--seed N         of what the harness itself draws (the failpoints' dice are the workers' own)
--planted        with the bugs of bugs/: each must be caught by its fault
--keep           leave the folder with the logs
--recipients N   of each, instead of its own few; it has as much more time
--storm          instead: one run of --recipients N, and a fault by chance --every SECONDS
"""

from __future__ import annotations

import argparse
import os
import random
import sys

import django
from django.core.management import call_command

from tests.chaos.stage import stage

IN_A_STORM = 20_000


def main() -> int:
    wanted = _arguments()
    print(f"seed {wanted.seed}", flush=True)
    with stage(seed=wanted.seed, keep=wanted.keep) as built:
        if wanted.keep:
            print(f"logs in {built.state.logs}", flush=True)
        os.environ.update(built.environment)
        os.environ["LOG_LEVEL"] = "ERROR"  # of this process; the workers write their own
        django.setup()
        call_command("migrate", verbosity=0)
        from tests.chaos.faults import chosen  # these need the settings
        from tests.chaos.planted import play_planted
        from tests.chaos.play import play_all

        faults = chosen(only=wanted.only, quick=wanted.quick)
        if wanted.recipients:
            faults = [fault.with_people(wanted.recipients) for fault in faults]
        if wanted.storm:
            from tests.chaos.storm import storm

            faults = [storm(recipients=wanted.recipients or IN_A_STORM, every=wanted.every)]
        verdicts = (play_planted if wanted.planted else play_all)(built, faults)
    return 0 if all(verdict.ok for verdict in verdicts) else 1


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.chaos",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", default=[], metavar="ID")
    parser.add_argument("--seed", type=int, default=random.randrange(1_000_000))
    parser.add_argument("--planted", action="store_true")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--storm", action="store_true")
    parser.add_argument("--recipients", type=int, default=0, metavar="N")
    parser.add_argument("--every", type=float, default=20.0, metavar="SECONDS")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
