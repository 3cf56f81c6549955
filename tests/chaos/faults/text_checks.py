"""F84: a worker is killed while it reads a campaign's text for everybody, again and again."""

from __future__ import annotations

import time

from django.utils import timezone

from campaigns import control, tasks
from campaigns.text_check.model import TextCheck
from notifications.people.contact import Contact
from notifications.task_queue import enqueue_on_commit
from tests.chaos.bugs.text_checks import DEVICES_AT_ONCE, NAP_SECONDS
from tests.chaos.fault import fault
from tests.chaos.scene import Scene
from tests.given.builders import make_campaign

PEOPLE, KILLS = 3_000, 3
SLOW = {"CHAOS_PLANTED": "small text check parts"}
TEXT = {"title": "Hello {{ first_name }}", "body": "See you in {{ city }}"}


@fault(
    "F84",
    "worker killed in the middle of a text check",
    people=PEOPLE,
    ends="",
    workers=("bulk", "control", "beat"),
    different={"bulk": SLOW},
    patience=90,
)
def killed_while_it_reads(scene: Scene) -> None:
    """Then there is one whole report, and everybody is counted in it once."""
    people = scene.fault.people
    with_city = Contact.objects.filter(project=scene.project).order_by("pk")[: people // 3]
    for person in with_city:
        person.attributes = {**person.attributes, "city": "Seoul"}
    Contact.objects.bulk_update(with_city, ["attributes"], batch_size=1_000)
    campaign = make_campaign(scene.project, template=TEXT)
    (check,) = control.begin_text_check(campaign, by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.check_texts, check_id=check.pk)
    for number in range(1, KILLS + 1):
        _until_read(scene, check, number * people // (KILLS + 2))
        time.sleep(2 / 3 * NAP_SECONDS)  # the next part is counted by now, and not kept
        scene.worker("bulk").kill()
        scene.start("bulk")
    scene.wait("the check is over", lambda: not _fresh(check).under_way, seconds=150)
    _judge(scene, check, people)


def _fresh(check: TextCheck) -> TextCheck:
    check.refresh_from_db()
    return check


def _until_read(scene: Scene, check: TextCheck, devices: int) -> None:
    def reached() -> bool:
        assert _fresh(check).under_way, f"it is {check.state}: {check.problem}"
        return check.devices_read >= devices

    scene.wait(f"{devices} are read", reached, seconds=90)


def _judge(scene: Scene, check: TextCheck, people: int) -> None:
    assert check.state == "finished", f"it is {check.state}: {check.problem}"
    assert TextCheck.objects.filter(project=scene.project).count() == 1, "there is another one"
    assert check.lease > KILLS, f"taken {check.lease} times: nobody took it over"
    report = check.report or {}
    lacking = people - people // 3
    wanted = {"devices": people, "skipped": lacking, "sent_to": people - lacking}
    counted = {name: report["totals"][name] for name in wanted}
    assert counted == wanted, f"counted {counted}, wanted {wanted}"
    found = {(one["code"], one["variable"]): one["devices"] for one in report["findings"]}
    assert found == {("missing", "city"): lacking}, f"found {found}"
    assert people > DEVICES_AT_ONCE * (KILLS + 2), "too few parts to die in"
