"""Inbox tokens, as an intruder tries them: altered, borrowed, late, early, long, and too many."""

from __future__ import annotations

import hmac
import logging
from base64 import urlsafe_b64encode
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import LazySettings
from django.db import connection
from django.test import Client
from django.utils import timezone
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from notifications.api.base.rendering import OrjsonParser
from notifications.gateway import WrongKey
from notifications.keys import inbox_secret, inbox_token
from notifications.keys.inbox_secret import InboxSecret
from notifications.people.contact import Contact
from notifications.people.device import Device
from notifications.people.project import Project
from tests.api.own_app import OwnApp, app_of, token_of
from tests.given.builders import make_contact, make_project

NOON = datetime(2026, 5, 31, 12, tzinfo=UTC)
PHONE = {"token": "live-ada:APA91b", "platform": "web"}
SETTINGS = settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
LETTERS = st.sampled_from([*"AQgwZaz019_-.=+/ \x00\n\x85é", "inbox1", "inbox2", "none", ".."])


@pytest.fixture(autouse=True)
def no_limits(settings: LazySettings) -> None:
    settings.API_RATE_PER_PERSON = settings.API_RATE_PER_KEY = settings.API_RATE_PER_ADDRESS = 0


@pytest.fixture
def ours(db: None) -> Project:
    project = make_project()
    for name in ("ada", "bob"):
        make_contact(project, external_id=name)
    return project


def status_of(token: str) -> int:
    return OwnApp(token)("GET", "preferences").status_code


def text(value: bytes) -> str:
    return urlsafe_b64encode(value).decode().rstrip("=")


def signed(project: Project, **other: Any) -> str:
    """By the project's own secret, as a customer's backend does, with parts of the test's."""
    secret, _ = inbox_secret.first(project)
    parts = {
        "version": "inbox1",
        "name": secret.name,
        "expires": str(int((timezone.now() + timedelta(hours=1)).timestamp())),
        "person": text(b"ada"),
        **other,
    }
    whole = ".".join(parts.values())
    return f"{whole}.{text(hmac.digest(secret.open().encode(), whole.encode(), 'sha256'))}"


def test_what_a_backend_signs_by_the_formula_is_taken(ours: Project) -> None:
    assert status_of(signed(ours)) == 200


# --- Altered ------------------------------------------------------------------------------------


@pytest.fixture
def real(ours: Project) -> str:
    return token_of(ours, "ada")


@settings(SETTINGS)
@given(at=st.integers(0, 400), cut=st.integers(0, 4), put=st.lists(LETTERS, max_size=4))
@example(at=0, cut=0, put=["inbox1", "."])
@example(at=399, cut=1, put=["="])
def test_an_altered_token_is_never_taken(real: str, at: int, cut: int, put: list[str]) -> None:
    at = at % (len(real) + 1)
    altered = real[:at] + "".join(put) + real[at + cut :]
    assume(altered.strip() != real)  # blanks around it are the header's
    assert status_of(altered) == 401
    assert not Device.objects.exists()


@pytest.mark.parametrize(
    "letter", "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
)
def test_a_signature_has_one_spelling(real: str, letter: str) -> None:
    """Its last letter says four bits and has room for six."""
    assert status_of(real[:-1] + letter) == (200 if letter == real[-1] else 401)


@SETTINGS
@given(chosen=st.lists(st.integers(0, 3), min_size=5, max_size=5))
def test_the_parts_of_several_tokens_make_no_other(ours: Project, chosen: list[int]) -> None:
    """Of two people and two projects, and of two times."""
    theirs, _ = Project.objects.get_or_create(slug="theirs", defaults={"name": "Theirs"})
    tokens = [
        token_of(ours, "ada"), token_of(ours, "bob"),
        token_of(theirs, "ada"), token_of(ours, "ada", days=2),
    ]  # fmt: skip
    mixed = ".".join(tokens[which].split(".")[part] for part, which in enumerate(chosen))
    assume(mixed not in tokens)
    assert status_of(mixed) == 401


@pytest.mark.parametrize(
    "other",
    [
        {"version": "inbox2"}, {"version": "inbox0"}, {"version": "none"}, {"version": ""},
        {"version": "INBOX1"}, {"version": "inbox1.inbox1"},
        {"expires": ""}, {"expires": "0"}, {"expires": "-1"}, {"expires": "1e10"},
        {"expires": "99999999999"}, {"expires": "9" * 400}, {"expires": "٢٠٢٦٠٥٣١٠٠"},
        {"person": ""}, {"person": "YQ=="}, {"person": "A"}, {"person": text(b"\xff\xfe")},
        {"person": text(b"a\x00da")}, {"person": text(b"../ada")}, {"person": text(b"bulk")},
        {"person": text(b"x" * 201)}, {"person": text("아".encode() * 201)},
        {"name": "0" * 12}, {"name": ""}, {"name": "../secret"},
    ],
)  # fmt: skip
def test_what_is_signed_but_is_no_token_of_a_person_is_refused(
    ours: Project, other: dict[str, str]
) -> None:
    assert status_of(signed(ours, **other)) == 401


def test_the_longest_id_fits(ours: Project) -> None:
    make_contact(ours, external_id="\U0001f514" * 200)
    longest = token_of(ours, "\U0001f514" * 200)
    assert len(longest) <= inbox_token.MOST
    assert status_of(longest) == 200


# --- Borrowed -----------------------------------------------------------------------------------


def test_a_token_of_one_project_says_nothing_of_another(ours: Project) -> None:
    """Its secret names the project; the same id there is somebody else."""
    theirs = make_project()
    make_contact(theirs, external_id="ada")
    OwnApp(token_of(theirs, "ada"))("PATCH", "preferences", {"subscribed": False})
    assert Contact.objects.get(project=ours, external_id="ada").subscribed
    assert not Contact.objects.get(project=theirs, external_id="ada").subscribed


def test_the_secret_of_another_project_signs_for_its_own_people_only(ours: Project) -> None:
    theirs, _ = inbox_secret.first(make_project())
    our_name = inbox_secret.first(ours)[0].name
    whole = f"inbox1.{our_name}.{int(timezone.now().timestamp()) + 60}.{text(b'ada')}"
    by_them = text(hmac.digest(theirs.open().encode(), whole.encode(), "sha256"))
    assert status_of(f"{whole}.{by_them}") == 401


@pytest.mark.parametrize("kind", ["", "Basic ", "Token ", "Bearer, "])
def test_it_must_come_as_a_bearer_token(real: str, kind: str) -> None:
    reply = Client().get("/api/v1/me/preferences", headers={"Authorization": f"{kind}{real}"})
    assert reply.status_code == 401
    assert reply["WWW-Authenticate"] == 'Bearer realm="carillon"'


@pytest.mark.parametrize("where", ["cookie", "query", "body", "nowhere"])
def test_it_counts_in_no_other_place(real: str, where: str) -> None:
    client = Client()
    if where == "cookie":
        client.cookies["Authorization"] = client.cookies["token"] = f"Bearer {real}"
    query = f"?token={real}&access_token={real}" if where == "query" else ""
    body = {**PHONE, "access_token": real} if where == "body" else PHONE
    reply = client.post(f"/api/v1/me/devices{query}", body, content_type="application/json")
    assert reply.status_code == 401
    assert not Device.objects.exists()


# --- Time ---------------------------------------------------------------------------------------


def test_it_ends_on_the_second_and_the_app_can_tell(ours: Project) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        app = app_of(ours, "ada", seconds=60)
        clock.shift(59)
        assert app("GET", "preferences").status_code == 200
        clock.shift(1)
        refused = app("GET", "preferences")
        assert refused.status_code == 401
        assert refused.json()["type"] == "urn:carillon:token-expired"
        assert refused["WWW-Authenticate"]


def test_none_lives_longer_than_thirty_days_whatever_a_backend_signs(ours: Project) -> None:
    with time_machine.travel(NOON, tick=False):
        assert status_of(token_of(ours, "ada", days=30)) == 200
        assert status_of(token_of(ours, "ada", days=30, minutes=5)) == 200, "its clock is fast"
        refused = app_of(ours, "ada", days=30, minutes=6)("GET", "preferences")
        assert refused.status_code == 401 and "30 days" in refused.json()["detail"]


def test_old_and_new_secrets_are_good_side_by_side_until_the_old_one_ends(ours: Project) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        old = token_of(ours, "ada", days=30)
        assert inbox_secret.replace(ours, now=timezone.now())
        new = token_of(ours, "ada", days=30)
        assert (status_of(old), status_of(new)) == (200, 200)
        assert inbox_secret.replace(ours, now=timezone.now()) is None, "two are enough"
        inbox_secret.end_the_one_before(ours, now=timezone.now())
        assert (status_of(old), status_of(new)) == (401, 200)
        assert inbox_secret.replace(ours, now=timezone.now())
        clock.shift(timedelta(days=29))
        late = signed_by(InboxSecret.before(ours, now=timezone.now()), days=2)
        assert status_of(late) == 200
        clock.shift(timedelta(days=1))
        assert status_of(late) == 401, "the old secret ends by itself"


def signed_by(secret: InboxSecret | None, **lasting: float) -> str:
    assert secret is not None
    return inbox_token.make(secret, "ada", expires_at=timezone.now() + timedelta(**lasting))


# --- What it costs, and what it leaves ----------------------------------------------------------


@pytest.mark.parametrize(
    "shown",
    [
        "x", "inbox1", "inbox1." * 5_000,
        "inbox1." + "0" * 12 + ".1" + "0" * 9 + ".YWRh." + "A" * 43,
        "inbox1." + "a" * 12 + ".9999999999." + "A" * 60_000 + "." + "A" * 43,
    ],
)  # fmt: skip
def test_what_cannot_be_a_token_costs_no_question_to_the_database(
    db: None, django_assert_num_queries: Callable[[int], Any], shown: str
) -> None:
    """An expired one neither."""
    with django_assert_num_queries(0):
        assert status_of(shown) == 401


def test_a_forged_one_costs_one_row(
    real: str, django_assert_num_queries: Callable[[int], Any]
) -> None:
    with django_assert_num_queries(1):
        assert status_of(f"{real[:-8]}AAAAAAAA") == 401


def test_nothing_of_a_token_gets_into_the_log(
    ours: Project, real: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.DEBUG)
    app = OwnApp(real)
    app("POST", "devices", {**PHONE, "platform": "fridge"})
    OwnApp(f"{real[:-1]}.")("GET", "preferences")
    with connection.cursor() as cursor:  # our own fault: it is logged with its traceback
        cursor.execute("ALTER TABLE notifications_category RENAME TO gone")
    assert app("GET", "preferences").status_code in (500, 503)
    assert caplog.text
    assert real.rpartition(".")[2][:-1] not in caplog.text


def test_without_the_key_of_its_secret_no_token_is_taken_and_none_is_made(
    ours: Project, real: str, settings: LazySettings
) -> None:
    settings.CREDENTIALS_KEY = "another one, which opens nothing of it"
    assert status_of(real) == 401
    with pytest.raises(WrongKey, match="Add that key"):
        token_of(ours, "ada")


def test_the_secret_is_sealed_at_rest_and_bound_to_its_name(ours: Project) -> None:
    row, shown = inbox_secret.replace(ours, now=timezone.now()) or (None, "")
    assert row is not None
    name, secret = shown.split(".")
    assert (row.name, row.open()) == (name, secret)
    assert secret.encode() not in bytes(row.sealed) and secret not in repr(row.__dict__)
    other, _ = inbox_secret.first(make_project())
    other.sealed = row.sealed
    with pytest.raises(WrongKey):
        other.open()


@pytest.mark.parametrize(("method", "path"), [("POST", "devices"), ("PATCH", "preferences")])
def test_a_large_body_is_refused_before_it_is_read(
    real: str, method: str, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[object] = []

    def parse(*given: object, **_: object) -> object:
        read.append(given)
        return {}

    monkeypatch.setattr(OrjsonParser, "parse", parse)
    refused = OwnApp(real)(method, path, {"app_version": "x" * 70_000})
    assert refused.status_code == 413
    assert "65,536 bytes" in refused.json()["detail"]
    assert read == []


# --- How often ----------------------------------------------------------------------------------


def test_one_person_is_limited_whichever_of_their_tokens_they_show(
    ours: Project, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.middleware.rate_limits.clock", lambda: "1000000.0")
    settings.API_RATE_PER_PERSON = 2
    tokens = [token_of(ours, "ada", hours=hours) for hours in range(1, 6)]
    assert [status_of(token) for token in tokens] == [200] * 4 + [429]
    refused = OwnApp(tokens[0])("GET", "preferences")
    assert refused["Retry-After"] == "1"
    assert refused.json()["type"] == "urn:carillon:too-many-requests"
    assert "for this person" in refused.json()["detail"]
    assert status_of(token_of(ours, "bob")) == 200
    namesakes = make_project()
    make_contact(namesakes, external_id="ada")
    assert status_of(token_of(namesakes, "ada")) == 200


def test_a_stranger_uses_up_nothing_that_is_a_persons(
    real: str, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("config.middleware.rate_limits.clock", lambda: "1000000.0")
    settings.API_RATE_PER_PERSON = 1
    forged = f"{real[:-8]}AAAAAAAA"
    assert [status_of(forged) for _ in range(5)] == [401] * 5
    assert status_of(real) == 200


def test_a_stranger_is_limited_by_address_before_anything_is_looked_up(
    real: str,
    settings: LazySettings,
    monkeypatch: pytest.MonkeyPatch,
    django_assert_num_queries: Callable[[int], Any],
) -> None:
    monkeypatch.setattr("config.middleware.rate_limits.clock", lambda: "1000000.0")
    settings.API_RATE_PER_ADDRESS = 2
    forged = [f"{real[:-8]}{number:08d}" for number in range(5)]
    assert [status_of(one) for one in forged[:4]] == [401] * 4
    with django_assert_num_queries(0):
        assert status_of(forged[4]) == 429
