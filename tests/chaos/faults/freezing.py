"""F68: what people and phones do while an audience is frozen, part by part."""

from __future__ import annotations

import time

from django.utils import timezone

from campaigns import tasks
from campaigns.failpoints import NAP_SECONDS
from notifications.people.device import Device
from notifications.task_queue import enqueue_on_commit
from tests.chaos.door import Answer, Door
from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query

# A part takes seconds, as if it were of many more devices; two may want to write the next one.
SLOW = {"CARILLON_FAILPOINT": "prepare:sleep", "CHAOS_PLANTED": "small parts"}
IN_SLOW_PARTS = {
    "workers": ("bulk", "control", "control.2", "beat"),
    "different": {"control": SLOW, "control.2": SLOW},
}
DEVICES_EACH = 4
ANSWERED_WITHIN = 1.0  # seconds
MOVED = 40  # devices each way


@fault(
    "F68", "paused, resumed, cancelled in the freeze", people=500, ends="cancelled", **IN_SLOW_PARTS
)
def stopped_in_the_freeze(scene: Scene) -> None:
    """Each is answered at once. The pause does not hold the freezing up, the cancel ends it."""
    _give_more_devices(scene)
    door, run = scene.door(), scene.launch()
    _until_planned(scene, 1)
    _is_answered(door, f"runs/{run.pk}/pause")
    _until_planned(scene, 1 + (run.planned or 0))
    assert run.state == "paused", f"it is {run.state}"
    _is_answered(door, f"runs/{run.pk}/resume")
    assert run.freezing, "it was frozen whole before it could be cancelled"
    _is_answered(door, f"runs/{run.pk}/cancel")
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.finish()
    time.sleep(2 * NAP_SECONDS)  # for the part that was being written
    run.refresh_from_db()
    everybody = DEVICES_EACH * scene.fault.people
    assert (run.planned or 0) < everybody, "it was frozen to the end all the same"


def _give_more_devices(scene: Scene) -> None:
    now = timezone.now()
    Device.objects.bulk_create(
        Device(
            project=scene.project,
            contact_id=device.contact_id,
            address=f"{number}-{device.address}",
            platform=device.platform,
            registered_at=now,
            last_seen_at=now,
        )
        for number in range(1, DEVICES_EACH)
        for device in scene.devices
    )


def _until_planned(scene: Scene, count: int) -> None:
    def reached() -> bool:
        scene.run.refresh_from_db()
        return (scene.run.planned or 0) >= count

    scene.wait(f"{count} are in the snapshot", reached)


def _is_answered(door: Door, path: str) -> None:
    answer = door.api(path, {})
    assert answer.status == 200, f"{path} was answered {answer.status}: {answer.body[:200]}"
    assert answer.seconds <= ANSWERED_WITHIN, f"{path} was answered in {answer.seconds:.1f} s"


@fault("F68m", "devices change hands in the freeze", people=2_000, **IN_SLOW_PARTS)
def moved_in_the_freeze(scene: Scene) -> None:
    """Each is in the run once, whether its new owner was looked at before or not yet."""
    door, run = scene.door(), scene.launch()
    _until_planned(scene, 1)
    early, late = scene.devices[:MOVED], scene.devices[-MOVED:]
    owners = {device.pk: device.contact.external_id for device in (*early, *late)}
    for one, other in zip(early, late, strict=True):
        _registers(door, one, owners[other.pk])
        _registers(door, other, owners[one.pk])
    run.refresh_from_db()
    assert run.freezing, "it was frozen whole before anybody moved"
    scene.finish()
    devices = query(
        "SELECT count(*), count(DISTINCT device_id) FROM campaigns_recipient WHERE run_id = %s",
        run.pk,
    )
    assert devices == [(2_000, 2_000)], f"of 2,000 devices, rows and devices are {devices[0]}"


def _registers(door: Door, device: Device, owner: str) -> None:
    body = {"contact": owner, "token": device.address, "platform": device.platform}
    answer: Answer = door.api("devices", body)
    assert answer.status == 200, f"moving a device was answered {answer.status}"
