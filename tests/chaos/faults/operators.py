"""F48–F54, F62: people who click at once, and who change things while a run is under way."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from django.utils import timezone

from campaigns import control, tasks
from campaigns.planning.campaign import Campaign
from campaigns.runs.ledger import Delivery
from campaigns.runs.run import Run
from notifications.people.device import Device, retire
from notifications.task_queue import enqueue_on_commit
from tests.chaos.door import Answer
from tests.chaos.fault import DidNotHappen, fault
from tests.chaos.faults.postgres_faults import arrived
from tests.chaos.scene import Scene, query
from tests.given.builders import make_campaign

CLICKS, ROUNDS = 50, 20
NOBODY = {
    "name": "edited",
    "rules": {"all": [{"field": "attributes.plan", "op": "eq", "value": "none"}]},
}
BITES_WITHIN = 2.0  # seconds after a pause or a cancel


@fault("F48", "launched by 50 clicks at once", people=2_000)
def double_launch(scene: Scene) -> None:
    door, campaign = scene.door(), make_campaign(scene.project)
    answers = _at_once(CLICKS, lambda: door.launch(campaign))
    scene.adopt(Run.objects.filter(campaign=campaign).earliest("pk"))
    _one_launch(campaign, answers)
    scene.finish()


@fault("F49", "two operators launch, twenty times", people=100)
def two_operators(scene: Scene) -> None:
    door = scene.door()
    campaigns = [make_campaign(scene.project) for _ in range(ROUNDS)]
    for campaign in campaigns:
        answers = _at_once(2, lambda campaign=campaign: door.launch(campaign))  # type: ignore[misc]
        scene.adopt(Run.objects.filter(campaign=campaign).earliest("pk"))
        _one_launch(campaign, answers)
    runs = Run.objects.filter(campaign__in=campaigns)
    unfinished = runs.filter(finished_at=None)
    scene.wait("all of them end", lambda: not unfinished.exists(), seconds=90)
    assert {run.accepted for run in runs} == {100}


def _at_once(count: int, deed: Callable[[], Answer]) -> list[Answer]:
    start = threading.Barrier(count)

    def together(_: int) -> Answer:
        start.wait()
        return deed()

    with ThreadPoolExecutor(count) as people:
        return list(people.map(together, range(count)))


def _one_launch(campaign: Campaign, answers: list[Answer]) -> None:
    said = sorted(answer.status for answer in answers)
    assert said == [202] + [409] * (len(answers) - 1), f"the clicks were answered {said}"
    runs = Run.objects.filter(campaign=campaign).count()
    assert runs == 1, f"{runs} runs were launched"


CHANGED = "Good evening {{ first_name }}"


@fault("F50", "template, audience, then its own text edited", people=5_000)
def edited(scene: Scene) -> None:
    """What was launched is frozen: an edit of the template or the audience reaches nobody. Who
    changes the run's own text reaches whoever waits, and each row says which text left."""
    door = scene.door()
    run = scene.launch(rate_per_second=1_000)
    scene.until(0.2)
    template = {"name": "edited", "title": "Another title", "body": "Another body"}
    answers = [
        door.api(f"templates/{run.campaign.template_id}", template, "PUT"),
        door.api(f"audiences/{run.campaign.audience_id}", NOBODY, "PUT"),
    ]
    assert [answer.status for answer in answers] == [200, 200], [a.body[:200] for a in answers]
    scene.until(0.4)
    asked = {"revision": 1, "title": CHANGED}
    answers = _at_once(5, lambda: door.api(f"runs/{run.pk}/change-text", asked))
    changed_at = timezone.now()
    said = sorted(answer.status for answer in answers)
    assert said == [200, 409, 409, 409, 409], f"five who changed it were answered {said}"
    scene.finish()
    scene.stage.fcm.witness()
    records = {
        int(str(record["id"]).partition(":")[2]): record
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{run.pk}:")
    }
    _each_row_says_what_was_read(run, {seq: one["title"] for seq, one in records.items()})
    late = changed_at.timestamp() + BITES_WITHIN
    old = [seq for seq, one in records.items() if one["title"] == "Hello Ada" and one["at"] > late]
    assert not old, f"{len(old)} read the old text long after it was changed"


def _each_row_says_what_was_read(run: Run, titles: dict[int, str]) -> None:
    said = {1: "Hello Ada", 2: "Good evening Ada"}
    assert {*titles.values()} == {*said.values()}, f"these were sent: {Counter(titles.values())}"
    rows = Delivery.objects.filter(run_id=run.pk, status="accepted")
    wrong = [
        seq
        for seq, revision in rows.values_list("seq", "revision")
        if titles.get(seq) != said[revision]
    ]
    assert not wrong, f"the rows of {len(wrong)} name another text than they read"


@fault(
    "F83",
    "workers killed as its text changes, thrice",
    people=5_000,
    failpoint="mid_send:kill:0.08",
    on_unknown="hold",
    within=20,
)
def changed_under_kills(scene: Scene) -> None:
    """Of whoever was in a dead worker's hands nobody knows whether their phone rang, but which text
    it was: the window says it, and so does the row."""
    door = scene.door()
    run = scene.launch(rate_per_second=1_000)
    said = {1: "Hello Ada"}
    for revision, share in ((1, 0.05), (2, 0.4), (3, 0.7)):
        scene.until(share)
        said[revision + 1] = f"Text {revision + 1}"
        asked = {"revision": revision, "title": said[revision + 1]}
        answer = door.api(f"runs/{run.pk}/change-text", asked)
        assert answer.status == 200, answer.body[:200]
    scene.until_killed()
    scene.healed()
    scene.finish()
    scene.stage.fcm.witness()
    titles = {
        int(str(record["id"]).partition(":")[2]): record["title"]
        for record in scene.stage.fcm.everything_witnessed()
        if str(record["id"]).startswith(f"{run.pk}:")
    }
    rows = Delivery.objects.filter(run_id=run.pk)
    doubtful = {*rows.filter(status="unknown").values_list("seq", flat=True)}
    if not any(titles.get(seq, said[1]) != said[1] for seq in doubtful):
        raise DidNotHappen  # nobody died over a text that was changed, and had left
    each = rows.values_list("seq", "revision")
    wrong = [seq for seq, revision in each if titles.get(seq, said[revision]) != said[revision]]
    assert not wrong, f"the rows of {len(wrong)} name another text than they read"


@fault("F51", "audience, template, campaign deleted at half", people=5_000)
def deleted(scene: Scene) -> None:
    """Refused or done, but the snapshot stays."""
    door = scene.door()
    run = scene.launch()
    scene.until(0.4)
    places = (
        f"audiences/{run.campaign.audience_id}",
        f"templates/{run.campaign.template_id}",
        f"campaigns/{run.campaign_id}",
    )
    said = [door.api(place, method="DELETE").status for place in places]
    assert all(status in (204, 409) for status in said), f"deleting was answered {said}"
    scene.finish()


@fault("F52", "1,000 people opt out under way", people=10_000)
def opted_out(scene: Scene) -> None:
    """Only whom a worker had in hand at that moment is still sent to."""
    run = scene.launch()
    scene.until(0.1)
    chosen = scene.stage.random.sample([device.pk for device in scene.devices], 1_000)
    in_hand = _in_hand(run, chosen)
    now = timezone.now()
    retire(chosen, reason="removed", sent_at=now, now=now)
    since = timezone.now()
    in_hand |= _in_hand(run, chosen)  # a chunk that was taken while we wrote
    scene.finish()
    scene.stage.fcm.witness()
    late = {
        int(record["id"].partition(":")[2])
        for record in scene.stage.fcm.everything_witnessed()
        if record["at"] > since.timestamp()
    }
    rows = Delivery.objects.filter(run_id=run.pk, device_id__in=chosen)
    late &= set(rows.values_list("seq", flat=True))
    assert late <= in_hand, f"{len(late - in_hand)} got it after they had opted out"
    assert rows.filter(status="skipped").count() >= 1_000 / 2, "most were sent to before"


def _in_hand(run: Run, devices: list[int]) -> set[int]:
    """Who of them is in a chunk that a worker holds."""
    found = query(
        "SELECT r.seq FROM campaigns_recipient r JOIN campaigns_chunk c"
        " ON c.run_id = r.run_id AND r.seq BETWEEN c.first_seq AND c.last_seq"
        " WHERE r.run_id = %s AND r.device_id = ANY(%s) AND c.state = 'leased'",
        run.pk,
        devices,
    )
    return {seq for (seq,) in found}


@fault("F53", "paused and resumed twenty times", people=8_000, patience=90)
def toggled(scene: Scene) -> None:
    """It goes on from the rows; once it is left paused for a while, nothing leaves any more."""
    run = scene.launch(rate_per_second=700)  # or a fast machine ends it before the last pause
    scene.until(0.02)
    for number in range(20):
        if number == 10:
            _nothing_arrives(scene, "the pause", lambda: _pause(run))
        else:
            _pause(run)
            time.sleep(0.25)
        _resume(run)
        time.sleep(0.25)
    scene.finish()


def _pause(run: Run) -> None:
    control.pause(run, by="user:alice")


def _resume(run: Run) -> None:
    control.resume(run, by="user:bob")
    enqueue_on_commit(tasks.advance, run_id=run.pk)


def _nothing_arrives(scene: Scene, since: str, stop: Callable[[], None]) -> None:
    """FCM is so slow meanwhile that a chunk would take half a minute."""
    scene.stage.fcm.change(latency_ms=600)
    time.sleep(1)
    stop()
    time.sleep(BITES_WITHIN)
    before = arrived(scene)
    time.sleep(2)
    late = arrived(scene) - before
    scene.stage.fcm.change(latency_ms=50)
    assert not late, f"{late} arrived more than {BITES_WITHIN:.0f} s after {since}"


@fault("F54", "cancelled at half", people=8_000, ends="cancelled")
def cancelled(scene: Scene) -> None:
    """What is in flight is settled, everybody else is skipped."""
    run = scene.launch()
    scene.until(0.3)
    _nothing_arrives(scene, "the cancellation", lambda: control.cancel(run, by="user:alice"))
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    scene.finish()
    assert run.waiting == 0
    assert run.skipped > 0, "it was too late to cancel"


ROTATED = "old"  # how the addresses that die begin
DEAD_OF_A_THOUSAND = 40  # below what makes a run stop and ask


@fault("F62", "tokens rotated under way", people=5_000)
def rotated(scene: Scene) -> None:
    """A 404 for what was sent before an address was registered again does not cost it."""
    mortal = _rename_some(scene)
    scene.stage.fcm.script("answer", answer="dead", prefix=ROTATED)
    scene.stage.fcm.change(latency_ms=1_500)  # so that their windows are open when they register
    scene.launch()
    with _slow_for(scene, 3):
        renewed = timezone.now()
        Device.objects.filter(pk__in=mortal).update(registered_at=renewed)
    scene.finish()
    retired = query(
        "SELECT d.id, w.opened_at FROM notifications_device d"
        " JOIN campaigns_delivery x ON x.device_id = d.id AND x.run_id = %s"
        " JOIN campaigns_window w ON w.run_id = x.run_id AND x.seq = ANY(w.seqs)"
        " WHERE d.id = ANY(%s) AND d.retired_at IS NOT NULL",
        scene.run.pk,
        mortal,
    )
    wrongly = [id for id, opened_at in retired if opened_at < renewed]
    assert len(retired) < len(mortal), "all of them were asked for after they had registered"
    assert not wrongly, f"{len(wrongly)} were retired though they had registered again"
    rejected = scene.run.rejected
    assert rejected == len(mortal), f"{rejected} were refused, not {len(mortal)}"


def _rename_some(scene: Scene) -> list[int]:
    step = 1_000 // DEAD_OF_A_THOUSAND
    some = scene.devices[::step]
    for number, device in enumerate(some):
        device.address = f"{ROTATED}{number}:{scene.project.pk}"
    Device.objects.bulk_update(some, ["address"])
    return [device.pk for device in some]


@contextmanager
def _slow_for(scene: Scene, seconds: float) -> Iterator[None]:
    time.sleep(seconds)
    yield
    scene.stage.fcm.change(latency_ms=50)
