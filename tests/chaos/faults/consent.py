"""F71: people who say no while a run is under way."""

from __future__ import annotations

from django.utils import timezone

from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.consent.record import EVERYTHING, ConsentAnswer, record_answers
from notifications.people.consent.suppression import suppress
from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query

LEAVERS = 1_000  # half of them unsubscribe, half are suppressed


@fault("F71", "1,000 people say no between freeze and window", people=8_000)
def said_no(scene: Scene) -> None:
    """Whom no window named at that moment is sent nothing, and the result says why."""
    run = scene.launch()
    scene.until(0.05)
    chosen = scene.stage.random.sample(scene.devices, LEAVERS)
    people = {device.pk: device.contact.external_id for device in chosen}
    unsubscribed, suppressed = [*people][: LEAVERS // 2], [*people][LEAVERS // 2 :]
    now = timezone.now()
    noes = [ConsentAnswer(people[pk], EVERYTHING, False) for pk in unsubscribed]
    record_answers(scene.project, noes, source="api", by="key:chaos", now=now)
    never = [people[pk] for pk in suppressed]
    suppress(scene.project, never, reason="", by="key:chaos", now=now)
    in_window = _in_window(run, [*people])  # read after both were committed
    scene.finish()
    _sent_nothing(scene, {"unsubscribed": unsubscribed, "suppressed": suppressed}, in_window)


def _in_window(run: Run, devices: list[int]) -> set[int]:
    found = query(
        "SELECT r.device_id FROM campaigns_recipient r JOIN campaigns_window w"
        " ON w.run_id = r.run_id AND r.seq = ANY(w.seqs)"
        " WHERE r.run_id = %s AND r.device_id = ANY(%s)",
        run.pk,
        devices,
    )
    return {device for (device,) in found}


def _sent_nothing(scene: Scene, leavers: dict[str, list[int]], in_window: set[int]) -> None:
    scene.stage.fcm.witness()
    asked_for = {str(record["id"]) for record in scene.stage.fcm.everything_witnessed()}
    rows = Delivery.objects.filter(run_id=scene.run.pk)
    for reason, devices in leavers.items():
        late = set(devices) - in_window
        assert len(late) > LEAVERS / 8, "most were sent to before they said no"
        ends = rows.filter(device_id__in=late).values_list("seq", "status", "reason")
        sent = [seq for seq, _status, _reason in ends if f"{scene.run.pk}:{seq}" in asked_for]
        assert not sent, f"requests left for {len(sent)} who were {reason} by then"
        wrong = {(status, why) for _, status, why in ends} - {("skipped", reason)}
        assert not wrong and len(ends) == len(late), f"{reason}: {len(ends)} rows, {wrong}"
