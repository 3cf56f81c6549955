"""F81: whoever judges what is wrong is killed while alerts are raised and ended."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

from django.utils import timezone

from campaigns import control
from campaigns.alerts.models import Alert, open_alerts
from campaigns.alerts.tasks import evaluate_alerts
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.runs.tick import Tick
from notifications.webhooks.event_types import OFFERED
from tests.chaos.fault import DidNotHappen, fault
from tests.chaos.faults.outgoing import _nothing_waits
from tests.chaos.scene import Scene
from tests.given.builders import make_scheduled_run
from tests.given.endpoints import make_endpoint
from tests.given.waiting import eventually
from tests.servers.receiver import Receiver, receiving

RUNS, ROUNDS = 40, 3
MIN_KILLS = 5
BETWEEN = 0.5  # seconds between two looks


@fault(
    "F81",
    "worker that judges killed while alerts come and go",
    people=1,
    workers=("control", "beat"),
    failpoint="alert_changed:kill:0.08",
    ends="",
)
def killed(scene: Scene) -> None:
    """It dies between the change of an alert and the word of it, again and again. Of each alert it
    is told once that it is raised and once that it is over, each by one id."""
    with receiving(Path(scene.stage.state.emulator)) as receiver:
        make_endpoint(scene.project, receiver.url, kinds=list(OFFERED))
        trusts = {
            "OUTGOING_ALLOWED": "127.0.0.0/8,::1/128",
            "OUTGOING_CA_FILE": receiver.ca_file,
        }
        scene.stage.start_worker("outgoing", trusts)
        at = timezone.now() + timedelta(days=30)
        runs = [make_scheduled_run(scene.project, at) for _ in range(RUNS)]
        for number in range(1, ROUNDS + 1):
            for run in runs:
                run.pause(Cause.BAD_CREDENTIALS)
            _looked(scene, "all are raised", lambda: _standing(scene) == RUNS)
            for run in runs:
                control.resume(run, by="user:ada")
            _looked(scene, "all are over", lambda: _standing(scene) == 0)
            assert Alert.objects.filter(project=scene.project).count() == number * RUNS
        if scene.kills < MIN_KILLS:
            raise DidNotHappen
        scene.healed()
        eventually("all are told", _nothing_waits, seconds=120)
        scene.stage.end_worker("outgoing")
        _judge(receiver)
        Run.objects.filter(pk__in=[run.pk for run in runs]).delete()


def _looked(scene: Scene, what: str, condition: Callable[[], bool]) -> None:
    """A look is due each minute; here at once, however the last one ended."""

    def looks() -> bool:
        scene.stage.tend()
        Tick.objects.update(judged_at=None)
        evaluate_alerts.delay()
        time.sleep(BETWEEN)
        return condition()

    eventually(what, looks, seconds=240)


def _standing(scene: Scene) -> int:
    return open_alerts().filter(project=scene.project).count()


def _judge(receiver: Receiver) -> None:
    ids: dict[tuple[str, int], set[str]] = defaultdict(set)
    for event in receiver.events:
        ids[event["type"], event["data"]["alert"]].add(event["id"])
    told = Counter(kind for kind, _ in ids)
    assert told == dict.fromkeys(OFFERED, RUNS * ROUNDS), f"some are not told of: {told}"
    again = sum(len(names) > 1 for names in ids.values())
    assert not again, f"{again} were told of twice"
