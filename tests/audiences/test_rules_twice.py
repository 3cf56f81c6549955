"""What rules mean, said twice: whom PostgreSQL selects is whom these few lines of Python do."""

from __future__ import annotations

import json
import re
from datetime import UTC, date, datetime, timedelta
from itertools import zip_longest
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.audiences import audience, rules, selection, why
from campaigns.audiences.durations import parse_duration
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_contact, make_device, make_project

NOW = timezone.now()
NEGATIVE = {"ne": "eq", "not_in": "in", "not_exists": "exists", "has_none": "has_any"}
# Each is something that another one could be taken for.
VALUES: list[Any] = [
    *("", "sport", "Sport", "transport", "[", '"', "20260531", "2026", "36", "now", "true"),
    *("İstanbul", "istanbul", "i̇stanbul", "Istanbul", "ISTANBUL", "ıstanbul", "ΟΔΟΣ", "οδος"),
    *("2026-05-31", "2026-02-30", "2026-05-31T10:00Z", "2026-05-31 10:00:00.5+09:00", "infinity"),
    *(20260531, 2026, 36, 36.0, -1, 0.5, 1e30, True, False, None, 0),
    *([], ["sport"], ["transport", 36], ["2026-05-31"], [["sport"]], [{"a": "sport"}], [True]),
    *({}, {"sport": 1}, {"a": "sport"}),
    *((NOW - timedelta(days=2)).isoformat(), (NOW + timedelta(days=2)).isoformat()),
]
VERSIONS = ["", "9", "9.9.1", "10.2", "10.2.0", "10.02", "10.2.0.1", "10.20", "10.2-beta", "x", "0"]
ISO = re.compile(r"\d{4}-\d\d-\d\d([Tt ]\d\d:\d\d.*)?")


def folded(text: str) -> str:
    letters = ("i" if letter == "İ" else letter.lower() for letter in text)
    return "".join(letters).replace("i̇", "i")


def same(one: Any, other: Any) -> bool:
    """As JSON has it: 36 is 36.0, and neither “36” nor true."""
    return (type(one) in (int, float) and type(other) in (int, float) and one == other) or (
        type(one) is type(other) and one == other
    )  # fmt: skip


def parts(version: str) -> list[int]:
    found = re.search(r"[0-9]+(?:[.][0-9]+)*", version)
    return [int(part) for part in found[0].split(".")] if found else []


def compared(one: str, other: str) -> int:
    for a, b in zip_longest(parts(one), parts(other), fillvalue=0):
        if a != b:
            return -1 if a < b else 1
    return 0


def bare(version: str) -> bool:
    return re.fullmatch(r"[0-9]+(?:[.][0-9]+)*", version) is not None


def moment(value: Any) -> datetime | None:
    parsed = rules.moment(value) if isinstance(value, str) and ISO.fullmatch(value) else None
    if isinstance(parsed, datetime):
        return parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)
    return datetime(*parsed.timetuple()[:3], tzinfo=UTC) if isinstance(parsed, date) else None


def holds(tree: dict[str, Any], attributes: dict[str, Any], version: str | None) -> bool:
    if "all" in tree:
        return all(holds(inner, attributes, version) for inner in tree["all"])
    if "any" in tree:
        return any(holds(inner, attributes, version) for inner in tree["any"])
    if "not" in tree:
        return not holds(tree["not"], attributes, version)
    op, value = tree["op"], tree.get("value")
    if positive := NEGATIVE.get(op):
        return not holds({**tree, "op": positive}, attributes, version)
    if tree["field"] == "app_version":
        return version is not None and version_fits(version, op, value)
    return fits(attributes.get(tree["field"].partition(".")[2]), op, value)


def version_fits(known: str, op: str, value: Any) -> bool:
    if op == "exists":
        return known != ""
    if op == "starts_with":
        return folded(known).startswith(folded(value))
    if op in ("eq", "in"):
        wanted = value if isinstance(value, list) else [value]
        return any(
            compared(known, one) == 0 if bare(known) and bare(one) else known == one
            for one in wanted
        )
    order = compared(known, value)
    signs = {"gt": order > 0, "gte": order >= 0, "lt": order < 0, "lte": order <= 0}
    return bool(parts(known)) and signs[op]


def fits(known: Any, op: str, value: Any) -> bool:
    if op == "exists":
        return known not in (None, "")
    if op in ("eq", "in"):
        return any(same(known, one) for one in (value if op == "in" else [value]))
    if op in ("has", "has_any"):
        wanted = value if op == "has_any" else [value]
        held = known if isinstance(known, list) else []
        return any(same(one, other) for one in held for other in wanted)
    if op in ("contains", "starts_with"):
        if not isinstance(known, str):
            return False
        at = folded(known).find(folded(value))
        return at >= 0 if op == "contains" else at == 0
    if op in ("gt", "gte", "lt", "lte"):
        if type(known) not in (int, float):
            return False
        return bool({"gt": known > value, "gte": known >= value,
                     "lt": known < value, "lte": known <= value}[op])  # fmt: skip
    return time_fits(moment(known), op, value)


def time_fits(known: datetime | None, op: str, value: Any) -> bool:
    if known is None:
        return False
    if op == "within_last":
        return NOW - (parse_duration(value) or timedelta()) <= known <= NOW
    wanted = moment(value)
    assert wanted is not None
    return known < wanted if op == "before" else known > wanted


@pytest.fixture
def people(db: None) -> Project:
    """One for each value and each version: what is selected are their external ids."""
    project = make_project()
    for index, value in enumerate(VALUES):
        make_contact(project, external_id=f"value {index}", attributes={"x": value})
    make_contact(project, external_id="nothing", attributes={})
    for version in VERSIONS:
        owner = make_contact(project, external_id=f"version {version}", attributes={})
        make_device(owner, app_version=version)
    return project


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    return {contact.external_id for contact in selection.sample(project.pk, tree, size=1_000)}


def expected(tree: dict[str, Any]) -> set[str]:
    known: dict[str, tuple[dict[str, Any], str | None]]
    known = {f"value {index}": ({"x": value}, None) for index, value in enumerate(VALUES)}
    known |= {f"version {version}": ({}, version) for version in VERSIONS} | {"nothing": ({}, None)}
    return {name for name, (attributes, version) in known.items()
            if holds(tree, attributes, version)}  # fmt: skip


scalars = st.sampled_from([one for one in VALUES if not isinstance(one, list | dict | None)])
smaller = scalars.filter(lambda value: not isinstance(value, float) or abs(value) < 1e15)
texts = st.sampled_from(["sport", "SPORT", "[", '"', "3", "20", "t", "istan", "İ", "I", "ı", "ς"])
versions = st.sampled_from([version for version in VERSIONS if bare(version)])
numbers = st.sampled_from([36, 2026, 20260531, 0, 0.5])
times = st.sampled_from(
    ["2026-05-31", "2026-05-31T10:00:00Z", "2026-06-01T00:00+09:00", "2020-01-01"]
)


def fitting(field: str, op: str) -> st.SearchStrategy[Any]:
    own = smaller if field == "attributes.x" else st.sampled_from(VERSIONS)
    if op in ("exists", "not_exists"):
        return st.none()
    if op in ("contains", "starts_with"):
        return texts
    if op in ("before", "after"):
        return times
    if op == "within_last":
        return st.sampled_from(["P7D", "PT12H"])
    if op in ("gt", "gte", "lt", "lte"):
        return numbers if field == "attributes.x" else versions
    return st.lists(own, min_size=1, max_size=3) if op in rules.MANY else own


leaves = st.sampled_from(["attributes.x", "app_version"]).flatmap(
    lambda field: st.sampled_from(sorted(rules.field_of(field).ops)).flatmap(
        lambda op: st.fixed_dictionaries(
            {"field": st.just(field), "op": st.just(op), "value": fitting(field, op)}
        )
    )
)
trees = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=4,
)


# The rows are only read, so all examples may share them.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300)
@given(tree=trees)
def test_postgresql_selects_whom_the_rules_describe(
    django_db_blocker: Any, people: Project, tree: dict[str, Any]
) -> None:
    with django_db_blocker.unblock(), transaction.atomic():
        assert selected(people, tree) == expected(tree), json.dumps(tree)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(tree=leaves)
def test_the_explanation_of_a_person_says_what_the_selection_does(
    django_db_blocker: Any, people: Project, tree: dict[str, Any]
) -> None:
    with django_db_blocker.unblock(), transaction.atomic():
        explained = {
            contact.external_id
            for contact in Contact.objects.filter(project=people)
            if why.explain(contact, tree)["holds"]
        }
        assert explained == expected(tree), json.dumps(tree)


@pytest.mark.parametrize("city", ["İstanbul", "istanbul", "ISTANBUL", "i̇stanbul", "Istanbul"])
@pytest.mark.parametrize("typed", ["İSTAN", "istan", "Istan"])
def test_the_case_of_a_dotted_i_does_not_count_and_the_explanation_agrees(
    db: None, city: str, typed: str
) -> None:
    project = make_project()
    contact = make_contact(project, external_id="ayse", attributes={"city": city})
    for op in ("contains", "starts_with"):
        rule = {"field": "attributes.city", "op": op, "value": typed}
        assert selected(project, rule) == {"ayse"}
        assert why.explain(contact, rule)["holds"] is True
