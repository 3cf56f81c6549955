"""Plays faults one after the other on one stage, and prints each line as soon as it is known."""

from __future__ import annotations

import time
import traceback
from collections.abc import Iterable

from django.db import connection

from tests.chaos.fault import CannotBePlayed, DidNotHappen, Fault
from tests.chaos.judge import Verdict, judge
from tests.chaos.scene import Scene
from tests.chaos.stage import Stage
from tests.chaos.table import HEAD, line, summary

TRIES = 4  # until the dice have killed at least one


def play_all(stage: Stage, faults: Iterable[Fault]) -> list[Verdict]:
    print(HEAD, flush=True)
    verdicts = []
    for fault in faults:
        began = time.monotonic()
        verdict = play(stage, fault)
        verdicts.append(verdict)
        print(f"{line(verdict)}  ({time.monotonic() - began:.0f} s)", flush=True)
    print(summary(verdicts), flush=True)
    return verdicts


def play(stage: Stage, fault: Fault) -> Verdict:
    """Play it until it happened, and judge. A fault that breaks the stage is a failed one."""
    for _ in range(TRIES):
        try:
            scene = Scene(stage, fault)
        except Exception:  # nothing was played; the next fault may still find a stage
            return Verdict(fault.id, fault.what, troubles=[f"no scene: {traceback.format_exc()}"])
        troubles = []
        try:
            fault.act(scene)
        except DidNotHappen:
            continue
        except CannotBePlayed as why:
            return Verdict(fault.id, fault.what, skipped=str(why))
        except AssertionError as failed:
            troubles = [str(failed)]
        except Exception:
            troubles = [traceback.format_exc()]
        connection.close()  # the fault may have cut it
        try:
            verdict = judge(scene)
        except Exception:
            verdict = Verdict(fault.id, fault.what)
            troubles.append(f"cannot be judged: {traceback.format_exc()}")
        verdict.troubles[:0] = troubles
        return verdict
    never = f"it did not happen in {TRIES} tries"
    return Verdict(fault.id, fault.what, troubles=[never])
