"""Whatever a program sends, it is never our fault: no request ends in a 5xx."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.audiences.behavior.kinds import KINDS
from campaigns.audiences.rules import FIELDS, OPERATORS
from notifications.people.project import Project
from tests.api.caller import Caller
from tests.given.builders import make_campaign, make_contact, make_device, make_run

SETTINGS = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.integers(min_value=2**62, max_value=2**70)
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["\x00", "\ud800", "u1", "now", "at", "ko", "9" * 400, "{{ a", "2030-01-01"])
)
ATTRIBUTES = {
    "text": "infinity", "number": 1e300, "late": "294276-12-31", "early": "4713-01-01 BC",
    "truth": True, "several": [1, "a"],
}  # fmt: skip
JSON = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
    ),
    max_leaves=12,
)
NAMES = {
    "contacts/bulk": ["contacts"],
    "devices": ["contact", "token", "fid", "platform", "app_version"],
    "audiences": ["name", "rules", "contacts"],
    "audiences/estimate": ["rules"],
    "templates": ["name", "title", "body", "image", "link", "data", "locales"],
    "templates/{template}/preview": ["contact"],
    "campaigns": ["name", "audience", "template", "on_unknown", "rate_per_second", "ttl_seconds",
                  "max_lateness_seconds", "schedule", "first_percent", "first_wait_seconds"],
    "campaigns/{campaign}/launch": ["x"],
    "campaigns/{campaign}/stop": ["x"],
    "campaigns/{campaign}/pause": ["x"],
    "campaigns/{campaign}/resume": ["x"],
    "campaigns/{campaign}/move": ["at", "to", "timezone"],
    "runs/{run}/pause": ["x"],
    "runs/{run}/resume": ["x"],
    "runs/{run}/cancel": ["x"],
}  # fmt: skip


def object_of(names: list[str], values: st.SearchStrategy[Any] = JSON) -> st.SearchStrategy[Any]:
    return st.dictionaries(st.sampled_from(names), values, max_size=len(names))


@pytest.fixture
def addresses(ours: Project) -> dict[str, str]:
    contact = make_contact(ours, external_id="u1", attributes=ATTRIBUTES)
    for version in ("", "1.2.3", ".5", "5.", "1..2", "v1", ".", "9" * 50, "٣.١"):
        make_device(contact, app_version=version)
    campaign, run = make_campaign(ours), make_run(ours)
    ids = {"template": campaign.template_id, "campaign": campaign.pk, "run": run.pk}
    ids["audience"] = campaign.audience_id
    return {path: path.format(**ids) for path in [*NAMES, *PARTS]}


@pytest.mark.parametrize("path", NAMES)
@SETTINGS
@given(data=st.data())
def test_no_body_makes_a_post_fail(
    alice: Caller, addresses: dict[str, str], path: str, data: st.DataObject
) -> None:
    body = data.draw(JSON | object_of(NAMES[path]) | object_of(["x"]))
    assert alice.post(addresses[path], body).status_code < 500


PARTS = {
    "contacts/u1": ["attributes", "locale", "timezone", "devices", "external_id"],
    "audiences/{audience}": NAMES["audiences"],
    "templates/{template}": NAMES["templates"],
    "campaigns/{campaign}": NAMES["campaigns"],
}


@pytest.mark.parametrize("path", PARTS)
@SETTINGS
@given(data=st.data())
def test_no_body_makes_a_change_fail(
    alice: Caller, addresses: dict[str, str], path: str, data: st.DataObject
) -> None:
    body = data.draw(JSON | object_of(PARTS[path]) | object_of(["x"]))
    assert alice.put(addresses[path], body).status_code < 500
    assert alice.patch(addresses[path], body).status_code < 500


@SETTINGS
@given(raw=st.binary(max_size=200))
def test_no_bytes_make_a_post_fail(alice: Caller, raw: bytes) -> None:
    assert alice.post("contacts/bulk", raw).status_code in (200, 400)


PERSON = st.fixed_dictionaries(
    {"external_id": st.sampled_from(["u1", "u2"]) | SCALARS},
    optional={
        "attributes": st.dictionaries(st.sampled_from(["plan", "n", "a b", ""]), JSON),
        "locale": st.sampled_from(["ko", "pt-BR", "x"]) | SCALARS,
        "timezone": st.sampled_from(["UTC", "Asia/Seoul"]) | SCALARS,
        "devices": st.lists(
            object_of(NAMES["devices"][1:], SCALARS | st.sampled_from(["ios", "t1", "t2"])),
            max_size=3,
        ),
        "odd": SCALARS,
    },
)


@SETTINGS
@given(people=st.lists(PERSON, max_size=5))
def test_no_people_make_the_bulk_call_fail(alice: Caller, people: list[Any]) -> None:
    # JSON that cannot be read at all (a lone surrogate, an infinity) refuses the whole call.
    assert alice.post("contacts/bulk", {"contacts": people}).status_code in (200, 400)


A_DAY = timedelta(days=1) - timedelta.resolution
OFFSETS = st.timedeltas(-A_DAY, A_DAY).map(timezone)
MOMENTS = st.datetimes(timezones=st.none() | OFFSETS).map(str)
LEAF = st.fixed_dictionaries(
    {
        "field": st.sampled_from([*FIELDS, *(f"attributes.{name}" for name in ATTRIBUTES)]),
        "op": st.sampled_from(OPERATORS),
    },
    optional={
        "value": SCALARS
        | st.lists(SCALARS, min_size=1, max_size=3)
        | st.sampled_from(["P30D", "P99999W", "PT999999999S", "2030-01-01", "0001-01-01", "5.1"])
        | st.dates().map(str)
        | MOMENTS
        | st.from_regex(r"[0-9.]{1,8}", fullmatch=True)
    },
)
TIME_LEAF = st.fixed_dictionaries(
    {
        "field": st.sampled_from(["created_at", "last_seen_at", "attributes.late"]),
        "op": st.sampled_from(["before", "after"]),
        "value": MOMENTS,
    }
)
VALUE_PARTS: dict[str, list[Any]] = {
    "outcome": ["planned", "not_reached", "opened", "not_opened"], "reason": ["expired"],
    "run": ["last", 1], "campaign": [1], "variable": ["city"], "name": ["bought"],
    "within": ["P30D", "P99999W"], "at_least": [1, 2], "percent": [10, 1e-9], "most": [5],
    "seed": ["a"], "where": [[{"property": "price", "op": "gte", "value": 1}]], "runs": [[1]],
    "can_tell": [True],
}  # fmt: skip
HAPPENED_LEAF = st.fixed_dictionaries(
    {
        "field": st.sampled_from([*KINDS]),
        "op": st.sampled_from(sorted({op for kind in KINDS.values() for op in kind.ops})),
        "value": st.fixed_dictionaries(
            {}, optional={name: st.sampled_from(some) | JSON for name, some in VALUE_PARTS.items()}
        )
        | JSON,
    }
)
TREE = st.recursive(
    LEAF | TIME_LEAF | HAPPENED_LEAF,
    lambda inner: (
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"any": st.lists(inner, max_size=3)})
        | st.fixed_dictionaries({"not": inner})
    ),
    max_leaves=6,
)


@settings(SETTINGS, max_examples=150)
@given(tree=TREE)
def test_rules_are_refused_at_the_door_or_can_be_asked(
    alice: Caller, ours: Project, addresses: dict[str, str], tree: Any
) -> None:
    assert alice.post("audiences/estimate", {"rules": tree}).status_code in (200, 400)
    made = alice.post("audiences", {"name": "Fuzz", "rules": tree})
    assert made.status_code in (201, 400)
    if made.status_code == 201:
        path = f"audiences/{made.json()['id']}"
        assert alice.get(f"{path}/explain?contact=u1").status_code == 200
        assert alice.delete(path).status_code == 204
