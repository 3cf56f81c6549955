"""F35, F36, F47: FCM refuses: whose fault is it, and does the run stop before it costs somebody?

Each process tries a first hundred before it believes in key and text, so what is refused for
everybody costs a hundred attempts for each of them.
"""

from __future__ import annotations

from campaigns import control, tasks
from campaigns.runs.reasons import Cause
from campaigns.runs.run import Run
from campaigns.sending.sending import TRIAL
from notifications.people.device import Device
from notifications.task_queue import enqueue_on_commit
from tests.chaos.fault import fault
from tests.chaos.faults.postgres_faults import arrived
from tests.chaos.scene import Scene
from tests.chaos.stage import POOL


def attempts(scene: Scene) -> int:
    return int(scene.stage.fcm.counts()["requests"])


def _retired(scene: Scene) -> int:
    return Device.objects.filter(project=scene.project, retired_at__isnull=False).count()


def _stops_and_goes_on(scene: Scene, cause: Cause, *, at_most: int) -> None:
    """A person finds it paused, has the trouble mended, and resumes."""
    run = scene.launch()
    scene.until_state(Run.State.PAUSED)
    scene.wait("nobody sends any more", lambda: not run.chunks.filter(state="leased").exists())
    tried = attempts(scene)
    assert run.cause == cause, f"it paused for {run.cause}"
    assert TRIAL <= tried <= at_most, f"{tried} attempts, at most {at_most} may be"
    assert not arrived(scene)
    scene.stage.fcm.mend()
    control.resume(run, by="user:alice")
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.healed()
    scene.finish()
    assert not _retired(scene), f"{_retired(scene)} devices paid for it"
    assert run.accepted == run.planned, f"{run.rejected} were refused"


@fault(
    "F35",
    "403 SENDER_ID_MISMATCH for everybody",
    people=5_000,
    within=10,
    workers=("bulk", "bulk.2", "control", "beat"),
)
def of_another_project(scene: Scene) -> None:
    scene.stage.fcm.script("answer", answer="foreign")
    _stops_and_goes_on(scene, Cause.OTHER_PROJECT, at_most=500)


@fault("F47", "400 INVALID_ARGUMENT: the text", people=5_000, within=10)
def of_a_bad_text(scene: Scene) -> None:
    """The shape that names no field: nobody's address is to blame."""
    scene.stage.fcm.script("answer", answer="vague")
    _stops_and_goes_on(scene, Cause.REFUSED_MESSAGE, at_most=POOL * TRIAL)


GONE = "gone"


def _some_are_gone(scene: Scene, *, every: int) -> set[int]:
    """From now on their addresses begin so; their ids."""
    some = scene.devices[::every]
    for number, device in enumerate(some):
        device.address = f"{GONE}{number}:{scene.project.pk}"
    Device.objects.bulk_update(some, ["address"])
    return {device.pk for device in some}


def _each_was_asked_for_once(scene: Scene, gone: set[int]) -> None:
    run, tried = scene.run, attempts(scene)
    assert tried == run.planned, f"{tried} attempts for {run.planned} people"
    assert run.rejected == len(gone), f"{run.rejected} were refused, not {len(gone)}"
    wrongly = Device.objects.filter(project=scene.project, retired_at__isnull=False)
    assert not wrongly.exclude(pk__in=gone).exists(), "somebody's living device was retired"


@fault("F47t", "400 INVALID_ARGUMENT: the token of 1 in 50", people=5_000)
def of_bad_tokens(scene: Scene) -> None:
    """The shape that names the token: the run goes on without them."""
    gone = _some_are_gone(scene, every=50)
    scene.stage.fcm.script("answer", answer="malformed", prefix=GONE)
    scene.launch()
    scene.finish()
    _each_was_asked_for_once(scene, gone)
    assert _retired(scene) == len(gone), f"{_retired(scene)} were retired, not {len(gone)}"


@fault("F36", "404 UNREGISTERED for one in two", people=5_000, within=10)
def unregistered(scene: Scene) -> None:
    """So many at once are strange: a person is asked before it costs a device, and says go on."""
    gone = _some_are_gone(scene, every=2)
    scene.stage.fcm.script("answer", answer="dead", prefix=GONE)
    run = scene.launch()
    scene.until_state(Run.State.PAUSED)
    assert run.cause == Cause.DEAD_ADDRESSES, f"it paused for {run.cause}"
    scene.wait("nobody sends any more", lambda: not run.chunks.filter(state="leased").exists())
    before = _retired(scene)
    control.resume(run, by="user:alice")
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.healed()
    scene.finish()
    _each_was_asked_for_once(scene, gone)
    assert before < _retired(scene), "nobody was retired once a person had agreed"
