"""FCM's JSON is built once for a message: what was checked is what is sent."""

from __future__ import annotations

import pytest

from campaigns.sending import sending
from notifications.fcm import payload
from notifications.gateway import Push
from notifications.people.project import Project
from tests.given.builders import make_people, make_run
from tests.servers.fcm import Fcm


def test_what_was_checked_is_what_is_sent_and_is_built_once(
    project: Project, fcm: Fcm, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_people(project, 5)
    run = make_run(project)
    built: list[str] = []
    android = payload.BLOCKS["android"]

    def counted(message: Push, shown: payload.Json) -> payload.Json:
        built.append(message.reference)
        return android(message, shown)

    monkeypatch.setitem(payload.BLOCKS, "android", counted)

    assert sending.send(run.pk, 1, run.epoch) == {"accepted": 5}

    assert sorted(built) == [f"{run.pk}:{seq}" for seq in range(1, 6)]
