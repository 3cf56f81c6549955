"""Whoever can write to the broker can waste a worker's time, and cannot make it run anything."""

from __future__ import annotations

import base64
import json
import os
import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import redis
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine
from campaigns.runs.run import Run
from config.celery import app
from notifications.people.project import Project
from notifications.task_queue import enqueue_on_commit
from tests.given.builders import make_campaign, make_people
from tests.given.waiting import eventually
from tests.servers.workers import Workers


class Bomb:
    """Unpickled, it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return os.system, (f"touch {self.path}",)


def message(body: bytes, content_type: str, encoding: str, **headers: Any) -> str:
    """As kombu writes one into Redis, by hand."""
    task_id = str(uuid4())
    named = {"task": "campaigns.tasks.advance", "id": task_id, "lang": "py", "root_id": task_id}
    return json.dumps(
        {
            "body": base64.b64encode(body).decode(),
            "content-type": content_type,
            "content-encoding": encoding,
            "headers": {**named, **headers},
            "properties": {
                "correlation_id": task_id,
                "delivery_mode": 2,
                "delivery_info": {"exchange": "", "routing_key": "control"},
                "priority": 0,
                "body_encoding": "base64",
                "delivery_tag": str(uuid4()),
            },
        }
    )


def call(*arguments: Any, task: str = "campaigns.tasks.advance", **named: Any) -> str:
    embed = {"callbacks": None, "errbacks": None, "chain": None, "chord": None}
    body = json.dumps([list(arguments), named, embed]).encode()
    return message(body, "application/json", "utf-8", task=task)


def hostile(folder: Path) -> dict[str, str]:
    """Messages by what is wrong with them; those that would run something make a file there."""
    pickled = [pickle.dumps(([], {"run_id": Bomb(folder / f"p{n}")}, {})) for n in range(3)]
    yaml = f"!!python/object/apply:os.system ['touch {folder / 'yaml'}']".encode()
    deep = b"[" * 100_000 + b"]" * 100_000
    return {
        "a pickle": message(pickled[0], "application/x-python-serialize", "binary"),
        "a pickle called data": message(pickled[1], "application/data", "binary"),
        "a pickle called JSON": message(pickled[2], "application/json", "utf-8"),
        "yaml": message(yaml, "application/x-yaml", "utf-8"),
        "nonsense": message(b"\x00\xff\xfe", "application/json", "utf-8"),
        "a deep nest": message(deep, "application/json", "utf-8"),
        "a content type nobody knows": message(b"{}", "application/x-unheard-of", "utf-8"),
        "a task nobody knows": call(1, task="os.system"),
        "a task of Celery's own": call([["x"]], task="celery.map"),
        "too many arguments": call(1, 2, 3, 4),
        "none": call(),
        "a text for a number": call(run_id="1; DROP TABLE campaigns_run"),
        "a number too large": call(run_id=10**400),
        "half a number": call(run_id=1.5),
        "a list": call(run_id=[1, 2]),
        "an object": call(run_id={"__reduce__": "os.system"}),
        "nothing": call(run_id=None),
        "a run that is not there": call(run_id=2**62),
        "a NUL": call(run_id="\x00"),
        "no chunk": call(run_id=-1, number=-1, epoch=-1, task="campaigns.tasks.send_chunk"),
        "a time that is none": message(b"[[], {}, {}]", "application/json", "utf-8", eta="soon"),
        "an end that is none": message(b"[[], {}, {}]", "application/json", "utf-8", expires=[1]),
        "limits that are none": message(b"[[], {}, {}]", "application/json", "utf-8",
                                        timelimit="a", retries="b", chord={"c": 1}),
        "no id": message(b"[[], {}, {}]", "application/json", "utf-8", id=None),
        "a task that is no text": message(b"[[], {}, {}]", "application/json", "utf-8", task=["x"]),
        "no headers": json.dumps({**json.loads(call(run_id=1)), "headers": None}),
        "odd results": call([{"accepted": "many"}], run_id=1, wave=1,
                            task="campaigns.tasks.wave_done"),
    }  # fmt: skip


def good(**different: Any) -> dict[str, Any]:
    return {**json.loads(call(run_id=2**62)), **different}


def with_properties(**different: Any) -> str:
    made = good()
    return json.dumps({**made, "properties": {**made["properties"], **different}})


def to(**more: Any) -> dict[str, Any]:
    return {"exchange": "", "routing_key": "control", **more}


def without(name: str, inside: str = "") -> str:
    made = good()
    del (made[inside] if inside else made)[name]
    return json.dumps(made)


NO_MESSAGES: dict[str, str | bytes] = {
    "no JSON": "garbage",
    "empty": "",
    "no UTF-8": b"\xff\xfe",
    "a JSON text": '"x"',
    "a list": "[1]",
    "nothing": "null",
    "an empty object": "{}",
    "a deep nest": "[" * 200_000,
    "a nest almost too deep": json.dumps(good(nest=0)).replace(
        '"nest": 0', '"nest": ' + "[" * 900 + "]" * 900
    ),
    "a type that nobody knows": json.dumps(good(more={"__type__": "x", "__value__": 1})),
    "no properties": without("properties"),
    "no tag": without("delivery_tag", "properties"),
    "no way": without("delivery_info", "properties"),
    "a tag that is a list": with_properties(delivery_tag=[1]),
    "a tag that is nothing": with_properties(delivery_tag=None),
    "a tag that cannot be written": with_properties(delivery_tag="\ud800"),
    "an encoding that nobody knows": with_properties(body_encoding="zip"),
    "an encoding that is a number": with_properties(body_encoding=1),
    "a way that is a text": with_properties(delivery_info="x"),
    "half a way": with_properties(delivery_info={"exchange": ""}),
    "a way by a consumer": with_properties(delivery_info=to(consumer_tag=[1])),
    "a body cut short": json.dumps(good(body="abc")),
    "a body that is a number": json.dumps(good(body=7)),
    "headers that are a list": json.dumps(good(headers=[1])),
    "a bomb": json.dumps(good(headers={**good()["headers"], "compression": "application/x-bz2"})),
}


@pytest.fixture
def broker(workers: Workers) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(workers.broker) as client:
        yield client


def test_only_json_is_read() -> None:
    assert app.conf.accept_content == app.conf.result_accept_content == ["json"]
    assert app.conf.task_serializer == app.conf.result_serializer == "json"


@pytest.mark.django_db(transaction=True)
def test_no_message_runs_anything_and_the_worker_goes_on(
    project: Project, beat: Workers, broker: redis.Redis, tmp_path: Path
) -> None:
    made = hostile(tmp_path)
    before = {name: process.pid for name, process in beat.processes.items()}
    for each in (*made.values(), *NO_MESSAGES.values()):
        broker.lpush("control", each)
        broker.lpush("bulk", each)
    make_people(project, 3)

    run = control.launch(make_campaign(project), by="user:ada", now=timezone.now())
    eventually("the run ends", lambda: _state(run) == Run.State.FINISHED, seconds=60)
    eventually("all is taken", lambda: not broker.llen("control") + broker.llen("bulk"))

    assert list(tmp_path.iterdir()) == []
    assert {name: process.pid for name, process in beat.processes.items()} == before
    assert all(process.poll() is None for process in beat.processes.values())
    assert Run.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", NO_MESSAGES)
def test_what_is_no_message_is_dropped_and_the_same_worker_does_the_next(
    workers: Workers, broker: redis.Redis, name: str
) -> None:
    process, said = workers.processes["control"], NO_MESSAGES[name]
    before = len(workers.log("control"))
    timers = _held(broker)  # a start some minutes away, of another test's campaign
    broker.lpush("control", said)
    following = call(task="campaigns.tasks.sweep")
    broker.lpush("control", following)

    done = f"[{json.loads(following)['headers']['id']}] succeeded"
    eventually("the next is done", lambda: done in workers.log("control")[before:])
    eventually("nothing is held", lambda: _held(broker) <= timers)
    assert process.poll() is None
    assert not broker.llen("control")
    dropped = [line for line in workers.log("control")[before:].splitlines() if "dropped" in line]
    assert len(dropped) == 1, dropped
    length = len(said.encode() if isinstance(said, str) else said)
    assert f"no message in control: {length} bytes are dropped (" in dropped[0]


def test_what_is_rung_carries_ids_and_nothing_else(
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    """So neither the broker nor Flower has anything to show of a person."""
    rung: list[dict[str, Any]] = []

    def keep(producer: Any, name: str, message: Any, **_: Any) -> None:
        args, kwargs, _embedded = message.body
        assert args == ()
        rung.append(kwargs)

    monkeypatch.setattr("celery.app.amqp.AMQP.send_task_message", property(lambda self: keep))
    make_people(project, 3)
    with django_capture_on_commit_callbacks(execute=True):
        run = control.launch(make_campaign(project), by="user:ada", now=timezone.now())
        enqueue_on_commit(tasks.advance, run_id=run.pk)
        released = engine.advance(run.pk, now=timezone.now())
        assert released
        tasks.publish_wave(released)
    assert {"run_id": run.pk} in rung
    assert {"run_id": run.pk, "number": 1, "epoch": run.epoch} in rung


def _held(broker: redis.Redis) -> set[bytes]:
    """What a worker has taken and has not said it did."""
    return {*broker.hkeys("unacked"), *broker.zrange("unacked_index", 0, -1)}


def _state(run: Run) -> str:
    run.refresh_from_db()
    return str(run.state)
