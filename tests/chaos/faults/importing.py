"""F72: a worker is killed while it merges a file into the people, again and again."""

from __future__ import annotations

import time

from django.utils import timezone

from notifications import imports, tasks
from notifications.people.contact import Contact
from notifications.people.importing import columns
from notifications.people.importing.model import Import
from notifications.task_queue import enqueue_on_commit
from tests.chaos.bugs.importing import NAP_SECONDS
from tests.chaos.fault import fault
from tests.chaos.scene import Scene, query

ROWS, EVERY_BAD, EVERY_TWICE = 6_000, 20, 10
KILLS = 3
SLOW = {"CHAOS_PLANTED": "small import parts"}


@fault(
    "F72",
    "worker killed in the middle of a merge",
    people=1,
    ends="",
    workers=("bulk", "control", "beat"),
    different={"bulk": SLOW},
    patience=90,
)
def killed_in_the_merge(scene: Scene) -> None:
    """Then every row of the file is in once, or refused, and the counts say so."""
    one = _started(scene)
    for number in range(1, KILLS + 1):
        _until_handled(scene, one, number * ROWS // (KILLS + 4))
        time.sleep(2 / 3 * NAP_SECONDS)  # the next part is written by now, and not committed
        scene.worker("bulk").kill()
        scene.start("bulk")
    scene.wait("the import is over", lambda: _state(one) not in ("merging",), seconds=150)
    _judge(scene, one)


def _started(scene: Scene) -> Import:
    content = _file()
    one = imports.begin(scene.project, name="people.csv", size=len(content), by="user:alice")
    imports.add_part(one, 0, content)
    imports.complete(one)
    imports.set_mapping(one, columns.columns_of(one))
    imports.start(one, by="user:alice", now=timezone.now())
    enqueue_on_commit(tasks.work_on_import, import_id=one.pk)
    return one


def _file() -> bytes:
    lines = ["id,token,platform,n"]
    for n in range(ROWS):
        platform = "fax" if n % EVERY_BAD == 0 else "ios"
        lines.append(f"i{n:05},import-{n},{platform},{n}")
        if n % EVERY_TWICE == 1:
            lines.append(f"i{n:05},import-{n},ios,{n + 1}")
    return "\n".join(lines).encode()


def _state(one: Import) -> str:
    one.refresh_from_db()
    return one.state


def _until_handled(scene: Scene, one: Import, count: int) -> None:
    def reached() -> bool:
        assert _state(one) == "merging", f"it is {one.state}: {one.problem}"
        return one.handled >= count

    scene.wait(f"{count} are merged", reached, seconds=90)


def _judge(scene: Scene, one: Import) -> None:
    assert one.state == "finished", f"it is {one.state}: {one.problem}"
    bad, twice = ROWS // EVERY_BAD, ROWS // EVERY_TWICE
    assert one.rows == ROWS + twice, f"{one.rows} rows were read of {ROWS + twice}"
    assert one.refused == one.refusals.count() == bad, f"{one.refused} refused, {bad} are bad"
    assert one.duplicates == twice, f"{one.duplicates} named again, {twice} are"
    created = {"created": ROWS - bad, "updated": 0, "unchanged": 0, "moved": 0}
    assert one.counts == created, f"counted {one.counts}, wanted {created}"
    people = Contact.objects.filter(project=scene.project, external_id__startswith="i")
    assert people.count() == ROWS - bad, f"{people.count()} people are there"
    wrong = [each for each in people if each.attributes["n"] != _last_word(each.external_id)]
    assert not wrong, f"{len(wrong)} have another value than the file's last word"
    (touched,) = query(
        "SELECT count(*), count(DISTINCT id) FROM (SELECT unnest(contact_ids) AS id"
        " FROM notifications_importbatch WHERE owner_id = %s) each",
        one.pk,
    )
    assert touched == (ROWS - bad, ROWS - bad), f"the result names {touched}"


def _last_word(external_id: str) -> int:
    n = int(external_id[1:])
    return n + 1 if n % EVERY_TWICE == 1 else n
