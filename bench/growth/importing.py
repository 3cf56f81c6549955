"""`python -m bench.growth.importing N`: a file of N people is imported twice, by this process, and
then replaced by one in which each of them has the phone of somebody far away in the file.

`… N beside`: once and by the workers, when a line on standard input says that they are busy.

Inside the stack's environment; prints its numbers as JSON. Only people_figures.py starts it.
"""

from __future__ import annotations

import gc
import hashlib
import json
import os
import resource
import sys
import time
from pathlib import Path

import django

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
django.setup()

from django.db import connection
from django.utils import timezone

from notifications import imports, tasks
from notifications.people.importing import columns
from notifications.people.importing.model import Import
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit

HEAD = "external_id,token,platform,app_version,locale,time_zone,first_name,city,plan,points,age\n"
CITIES, PLANS = ("Boston", "Seoul", "Atlanta", "Busan"), ("free", "free", "plus", "pro")
ZONES, LOCALES = ("America/New_York", "Asia/Seoul"), ("en", "ko")
PLATFORMS = ("android", "ios")
SLUG = "bench-import"
BARE = "CREATE UNLOGGED TABLE bench_bare (%s)"
SLICE_SECONDS = 0.5  # while it is read: the phases are told apart by it
MERGE_SECONDS = 20.0  # as a worker has it
LOOK_EVERY = 0.5
PART_BYTES = 2 * 1024**2
FOLDER = Path("var/bench")


def main(count: int, how: str = "") -> None:
    if how == "beside":
        print(json.dumps(beside(count)), flush=True)
        return
    gc.collect()  # as in a worker: config/celery.py
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)
    print(json.dumps(measure(count)))


def beside(count: int) -> dict[str, float]:
    """When the workers began it, had it staged, and were through: seconds since 1970."""
    path = _write(FOLDER / f"people-{count}.csv", count)
    one = _uploaded(_project(), path)
    path.unlink()
    print("ready", flush=True)
    sys.stdin.readline()
    began = timezone.now()
    imports.start(one, by="carillon", now=began)
    enqueue_on_commit(tasks.work_on_import, import_id=one.pk)
    while one.under_way:
        time.sleep(LOOK_EVERY)
        one.refresh_from_db()
    assert one.counts["created"] == count and one.staged_at and one.finished_at, one.counts
    moments = {"began": began, "staged": one.staged_at, "merged": one.finished_at}
    return {name: moment.timestamp() for name, moment in moments.items()}


def _project() -> Project:
    defaults = {"name": "Import", "firebase_project_id": "carillon-demo"}
    return Project.objects.get_or_create(slug=SLUG, defaults=defaults)[0]


def measure(count: int) -> dict[str, float]:
    path = _write(FOLDER / f"people-{count}.csv", count)
    project = _project()
    bare = _bare_copy(path)
    first, second = _import(project, path, check=False), _import(project, path, check=True)
    assert first["created"] == second["unchanged"] == count, (first, second)
    # Nobody keeps a device, and each is looked up in the parts of the file that come later.
    third = _import(project, _write(path, count, apart=count // 2), check=False, mode="replace")
    assert third["moved"] == count, third
    path.unlink()
    return {
        "bare_per_second": count / bare,
        "staged_per_second": count / first["staged"],
        "prepared_seconds": first["prepared"],
        "merged_seconds": first["merged"],
        "seconds": first["staged"] + first["prepared"] + first["merged"],
        "checked_seconds": second["checked"],
        "again_seconds": second["merged"],
        "replaced_seconds": third["prepared"] + third["merged"],
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _write(path: Path, count: int, *, apart: int = 0) -> Path:
    """As an app exports them: one phone each, two languages, five attributes. `apart`: whose phone
    each of them has, so many people further on."""
    with path.open("w") as out:
        out.write(HEAD)
        for n in range(count):
            whose = str((n + apart) % count)
            digest = hashlib.md5(whose.encode(), usedforsecurity=False).hexdigest()
            device = f"{digest[:22]}:APA91b{digest * 4},{PLATFORMS[n % 2]},5.1.3"
            said = f"{LOCALES[n % 2]},{ZONES[n % 2]},Name{n % 1000},{CITIES[n % 4]},{PLANS[n % 4]}"
            out.write(f"b{n},{device},{said},{n % 5000},{16 + n % 60}\n")
    return path


def _bare_copy(path: Path) -> float:
    names = HEAD.strip().split(",")
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE IF EXISTS bench_bare")
        cursor.execute(BARE % ", ".join(f"{name} text" for name in names))
        began = time.monotonic()
        into = "COPY bench_bare FROM STDIN (FORMAT csv, HEADER)"
        with cursor.copy(into) as copy, path.open("rb") as content:
            while piece := content.read(1024**2):
                copy.write(piece)
        took = time.monotonic() - began
        cursor.execute("DROP TABLE bench_bare")
    return took


def _import(project: Project, path: Path, *, check: bool, mode: str = "add") -> dict[str, float]:
    """Seconds of each phase, and the counts."""
    one = _uploaded(project, path)
    imports.set_mapping(one, columns.columns_of(one), mode=mode)
    took: dict[str, float] = {}
    if check:
        imports.check(one, by="carillon")
        took |= _worked(one, "checked")
    imports.start(one, by="carillon", now=timezone.now())
    return {**took, **_worked(one, "merged"), **one.counts}


def _uploaded(project: Project, path: Path) -> Import:
    one = imports.begin(project, name="people.csv", size=path.stat().st_size, by="carillon")
    with path.open("rb") as content:
        for number in range(one.size // PART_BYTES + 1):
            if piece := content.read(PART_BYTES):
                imports.add_part(one, number, piece)
    imports.complete(one)
    return one


def _worked(one: Import, last: str) -> dict[str, float]:
    """Until it is done: seconds by phase, the last of which is called so."""
    took = {"staged": 0.0, "prepared": 0.0, last: 0.0}
    began = time.monotonic()
    while one.under_way:
        imports.work(one.pk, seconds=MERGE_SECONDS if one.staged_at else SLICE_SECONDS)
        one.refresh_from_db()
        now, phase = time.monotonic(), _phase(one, last)
        took[phase] += now - began
        began = now
    return took


def _phase(one: Import, last: str) -> str:
    if one.staged_at:
        return last
    return "prepared" if one.position.get("file") else "staged"


if __name__ == "__main__":
    main(int(sys.argv[1]), *sys.argv[2:])
