"""`python -m tests.day`: a day of campaigns in thirty time zones, under a clock of its own, held
against what was foreseen of it; exit code 1 where they differ.

--people N       100,000 unless said
--planted NAME   with a bug of tests/chaos/bugs/ in the workers: it must be noticed
--keep           leave the folder with the logs
"""

from __future__ import annotations

import argparse
import os
import sys

import django
from django.core.management import call_command

from tests.chaos.stage import WORKERS, stage
from tests.day.clock import mine, start_again
from tests.day.when import BEGINS


def main() -> int:
    wanted = _arguments()
    clock = mine() or start_again(BEGINS)
    with stage(seed=1, keep=wanted.keep) as built:
        if wanted.keep:
            print(f"logs in {built.state.logs}", flush=True)
        os.environ.update(built.environment)
        os.environ["LOG_LEVEL"] = "ERROR"  # of this process; the workers write their own
        django.setup()
        call_command("migrate", verbosity=0)
        from tests.day.judge import troubles  # these need the settings
        from tests.day.story import Day

        planted = {"CHAOS_PLANTED": wanted.planted} if wanted.planted else {}
        day = Day(built, clock, wanted.people)
        built.have_workers(*WORKERS, different=dict.fromkeys(WORKERS, planted))
        day.play()
        found = troubles(day)
    print("\n".join(found) or "Nothing differs.")
    return 1 if found else 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.day",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--people", type=int, default=100_000, metavar="N")
    parser.add_argument("--planted", default="", metavar="NAME")
    parser.add_argument("--keep", action="store_true")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
