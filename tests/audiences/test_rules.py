"""Rules select exactly whom they describe, and nonsense is refused by name."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.audiences import audience, reach, rules, selection, why, words
from campaigns.audiences.selection import compile_tree
from notifications.people.contact import Contact
from notifications.people.project import Project
from tests.given.builders import make_audience, make_contact, make_device, make_project


@pytest.fixture
def project(db: None) -> Project:
    return make_project()


@pytest.fixture
def people(project: Project) -> dict[str, Contact]:
    """Three people who differ in everything a rule can ask."""
    today = timezone.now()
    ada = make_contact(
        project,
        external_id="ada",
        locale="en-GB",
        timezone="Europe/London",
        attributes={
            "plan": "pro", "age": 36, "vip": True, "tags": ["run", "chess"],
            "ordered": (today - timedelta(days=2)).isoformat(),
        },
    )  # fmt: skip
    bob = make_contact(
        project,
        external_id="bob",
        locale="ko",
        timezone="Asia/Seoul",
        attributes={"plan": "free", "age": "36", "ordered": "never", "note": ""},
    )
    make_contact(project, external_id="cleo", locale="", timezone="", attributes={})
    make_device(ada, platform="ios", app_version="10.2.0")
    make_device(ada, platform="android", app_version="9.9.1", last_seen_at=today)
    make_device(bob, platform="android", app_version="", last_seen_at=today - timedelta(days=60))
    return {"ada": ada, "bob": bob}


def selected(project: Project, tree: dict[str, Any]) -> set[str]:
    audience.validate_rules(tree, project_id=project.pk)
    return {contact.external_id for contact in selection.sample(project.pk, tree)}


def counted(project: Project, tree: dict[str, Any]) -> tuple[int, int]:
    found = reach.count(project.pk, tree)
    return found.people, found.devices


def leaf(field: str, op: str, value: Any = None) -> dict[str, Any]:
    return {"field": field, "op": op, "value": value}


EVERYBODY = {"ada", "bob", "cleo"}


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (leaf("attributes.plan", "eq", "pro"), {"ada"}),
        (leaf("attributes.plan", "ne", "pro"), {"bob", "cleo"}),
        (leaf("attributes.plan", "in", ["pro", "free"]), {"ada", "bob"}),
        (leaf("attributes.plan", "not_in", ["pro"]), {"bob", "cleo"}),
        (leaf("attributes.age", "eq", 36), {"ada"}),
        (leaf("attributes.age", "gte", 36), {"ada"}),
        (leaf("attributes.age", "lt", 36), set()),
        (leaf("attributes.vip", "eq", True), {"ada"}),
        (leaf("attributes.tags", "has", "chess"), {"ada"}),
        (leaf("attributes.tags", "has", "che"), set()),
        (leaf("attributes.tags", "has_any", ["tea", "chess"]), {"ada"}),
        (leaf("attributes.tags", "has_none", ["tea", "chess"]), {"bob", "cleo"}),
        (leaf("attributes.tags", "has_none", ["tea"]), EVERYBODY),
        (leaf("attributes.plan", "has", "pro"), set()),
        (leaf("attributes.tags", "contains", "chess"), set()),
        (leaf("attributes.tags", "contains", "["), set()),
        (leaf("attributes.age", "contains", "3"), {"bob"}),
        (leaf("attributes.age", "starts_with", "3"), {"bob"}),
        (leaf("attributes.plan", "contains", "RE"), {"bob"}),
        (leaf("attributes.plan", "starts_with", "PR"), {"ada"}),
        (leaf("attributes.note", "exists"), set()),
        (leaf("attributes.plan", "not_exists"), {"cleo"}),
        (leaf("attributes.ordered", "within_last", "P7D"), {"ada"}),
        (leaf("attributes.ordered", "before", "2020-01-01"), set()),
        (leaf("attributes.ordered", "after", "2020-01-01"), {"ada"}),
        (leaf("external_id", "in", ["bob", "nobody"]), {"bob"}),
        (leaf("locale", "starts_with", "en"), {"ada"}),
        (leaf("locale", "not_exists"), {"cleo"}),
        (leaf("timezone", "eq", "Asia/Seoul"), {"bob"}),
        (leaf("created_at", "within_last", "PT1H"), EVERYBODY),
        (leaf("created_at", "before", "2020-01-01T00:00:00Z"), set()),
        # PostgreSQL reads no offset of 16 hours, and none with a fraction of a second.
        (leaf("created_at", "after", "2020-01-01T00:00:00+16:00"), EVERYBODY),
        (leaf("created_at", "after", "2020-01-01T00:00:00-23:59:59.5"), EVERYBODY),
        (leaf("platform", "eq", "ios"), {"ada"}),
        (leaf("platform", "not_exists"), {"cleo"}),
        (leaf("app_version", "gt", "9.10"), {"ada"}),
        (leaf("app_version", "lt", "10"), {"ada"}),
        (leaf("app_version", "lte", "10.2"), {"ada"}),
        (leaf("app_version", "eq", "10.2"), {"ada"}),
        (leaf("app_version", "in", ["8", "10.02.0.0"]), {"ada"}),
        (leaf("app_version", "gt", "10.2.0.0"), set()),
        (leaf("last_seen_at", "within_last", "P30D"), {"ada"}),
        ({"all": []}, EVERYBODY),
        ({"any": []}, set()),
        ({"not": leaf("attributes.plan", "eq", "pro")}, {"bob", "cleo"}),
        ({"not": leaf("attributes.ordered", "within_last", "P7D")}, {"bob", "cleo"}),
        (
            {
                "all": [
                    leaf("attributes.ordered", "exists"),
                    {"not": leaf("attributes.ordered", "within_last", "P7D")},
                ]
            },
            {"bob"},
        ),
        (
            {"any": [leaf("locale", "eq", "ko"), {"not": leaf("locale", "exists")}]},
            {"bob", "cleo"},
        ),
    ],
)
def test_a_rule_selects_whom_it_describes(
    project: Project, people: dict[str, Contact], rule: dict[str, Any], expected: set[str]
) -> None:
    assert selected(project, rule) == expected


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (leaf("attributes.ordered", "within_last", "P90D"),
         "ordered is not within the last 90 days, or is not known"),
        (leaf("attributes.points", "gt", 5), "points is not more than 5, or is not known"),
        (leaf("created_at", "within_last", "P90D"), "first seen is not within the last 90 days"),
    ],
)  # fmt: skip
def test_a_turned_rule_says_that_it_matches_people_without_the_value(
    rule: dict[str, Any], said: str
) -> None:
    assert words.clause({"not": rule}, project_id=1, names={}) == said


@pytest.mark.parametrize("value", [20260531, "20260531", "2026", 2026, "now", ["2026-05-31"], "x"])
def test_a_text_that_only_looks_like_a_date_is_neither_before_nor_after_one(
    project: Project, value: Any
) -> None:
    make_contact(project, external_id="odd", attributes={"joined": value})
    make_contact(project, external_id="iso", attributes={"joined": "2026-05-31T09:00:00+09:00"})
    for op, value in (("after", "1990-01-01"), ("before", "2090-01-01"), ("within_last", "P9999D")):
        assert "odd" not in selected(project, leaf("attributes.joined", op, value))
    assert selected(project, leaf("attributes.joined", "after", "2026-05-30")) == {"iso"}
    assert selected(project, leaf("attributes.joined", "before", "2026-05-31")) == set()


def test_a_platform_rule_counts_the_devices_of_that_platform_only(
    project: Project, people: dict[str, Contact]
) -> None:
    assert counted(project, leaf("platform", "eq", "ios")) == (1, 1)
    assert counted(project, {"all": []}) == (3, 3)


def test_another_projects_people_are_never_selected(
    project: Project, people: dict[str, Contact]
) -> None:
    assert selected(make_project(), {"all": []}) == set()


def test_a_static_list_selects_its_members(project: Project, people: dict[str, Contact]) -> None:
    friends = make_audience(project, kind="list")
    friends.members.create(contact=people["bob"])

    assert selected(project, friends.effective_rules) == {"bob"}
    assert selected(project, leaf("list", "ne", friends.pk)) == {"ada", "cleo"}


def test_explaining_a_person_shows_each_rule_and_the_value_seen(
    project: Project, people: dict[str, Contact]
) -> None:
    tree = {"all": [leaf("attributes.plan", "eq", "pro"), {"not": leaf("locale", "eq", "ko")}]}

    explained = why.explain(people["bob"], tree)

    assert explained["holds"] is False
    assert (explained["all"][0]["holds"], explained["all"][0]["seen"]) == (False, "free")
    assert explained["all"][1]["not"]["seen"] == "ko"


def test_explaining_looks_at_one_device_as_a_launch_does(
    project: Project, people: dict[str, Contact]
) -> None:
    tree = {"all": [leaf("platform", "eq", "ios"), leaf("app_version", "eq", "9.9.1")]}

    explained = why.explain(people["ada"], tree)

    assert selected(project, tree) == set()
    assert explained["holds"] is False
    assert why.explain(people["ada"], {"all": []})["holds"] is True


@pytest.mark.parametrize(
    ("tree", "complaint"),
    [
        (None, "rules: must be an object"),
        ({"all": {}}, "rules.all: must be a list"),
        ({"all": [], "any": []}, "use one of all, any and not"),
        ({"all": [leaf("atributes.plan", "eq", "x")]}, "rules.all[0].field: unknown field"),
        (leaf("attributes.a; DROP TABLE", "eq", "x"), "A name starts with a letter"),
        (leaf("attributes.plan", "regex", "x"), "“regex” cannot be used with"),
        (leaf("platform", "gt", "x"), "cannot be used with platform"),
        (leaf("attributes.age", "gt", "36"), "must be a number"),
        (leaf("app_version", "gt", ".5"), "a version such as 4.10.1"),
        (leaf("attributes.age", "gt", float("nan")), "must be a number"),
        (leaf("attributes.age", "gt", 10**15), "must be a number of at most 15 digits"),
        (leaf("attributes.age", "eq", -1e30), "must be a number of at most 15 digits"),
        (leaf("attributes.plan", "in", []), "needs at least one value."),
        (leaf("attributes.tags", "has_any", []), "needs at least one value."),
        (leaf("attributes.tags", "has_none", ["x"] * 1_001), "a list of 1 to 1,000"),
        (leaf("attributes.tags", "has_any", "x"), "a list of 1 to"),
        (leaf("attributes.tags", "has", ["x"]), "must be a text, number or true/false"),
        (leaf("locale", "has", "ko"), "“has” cannot be used with locale"),
        (leaf("attributes.plan", "eq", {}), "must be a text, number or true/false"),
        (leaf("attributes.plan", "eq", "a\x00b"), "ordinary characters"),
        (leaf("attributes.plan", "eq", "\ud800"), "ordinary characters"),
        (leaf("attributes.plan", "exists", "a\x00b"), "takes none"),
        (leaf("created_at", "before", "yesterday"), "ISO 8601"),
        (leaf("created_at", "before", "2026-02-30"), "ISO 8601"),
        (leaf("created_at", "before", "0001-01-01T00:00:00+14:00"), "ISO 8601"),
        (leaf("created_at", "before", "9999-12-31T23:59:59-12:00"), "ISO 8601"),
        (leaf("last_seen_at", "within_last", "P1M"), "ISO 8601 duration"),
        (leaf("list", "eq", 999_999), "no static list 999999"),
        (leaf("list", "eq", True), "id of a static list"),
        ({"not": {"not": {"not": {"not": {"not": {"not": {"all": []}}}}}}}, "deeper than 6"),
        ({"all": [leaf("locale", "exists")] * 101}, "at most 100 rules"),
    ],
)
def test_nonsense_is_refused_with_its_place_and_the_fix(
    project: Project, tree: Any, complaint: str
) -> None:
    with pytest.raises(ValidationError) as refusal:
        audience.validate_rules(tree, project_id=project.pk)
    assert complaint in " ".join(refusal.value.messages)


# --- Whatever passes the check can be asked, and means what its tree means ------------------------

texts, numbers = st.text(min_size=1, max_size=8), st.integers(-99, 99)
scalars = st.one_of(texts, numbers, st.booleans(), st.floats(-9, 9))
names = st.sampled_from(["plan", "age", "tags", "ordered", "nothing"])
fields = st.one_of(
    names.map(lambda name: f"attributes.{name}"),
    st.sampled_from(sorted({*rules.FIELDS} - {"list"})),
)


def fitting(field: str, op: str) -> st.SearchStrategy[Any]:
    own = scalars if field.startswith("attributes.") else texts
    by_op: dict[str, st.SearchStrategy[Any]] = {
        "contains": texts,
        "starts_with": texts,
        "within_last": st.sampled_from(["P7D", "PT12H"]),
        **dict.fromkeys(rules.MANY, st.lists(own, min_size=1, max_size=3)),
        **dict.fromkeys(("before", "after"), st.sampled_from(["2026-01-01", "2026-01-01T09:00Z"])),
    }
    if op in ("gt", "gte", "lt", "lte"):
        versions = st.sampled_from(["9", "10.2", "0.0.0"])
        return numbers if field.startswith("attributes.") else versions
    return by_op.get(op, own)


some_leaf = fields.flatmap(
    lambda field: st.sampled_from(sorted(rules.field_of(field).ops)).flatmap(
        lambda op: st.builds(leaf, st.just(field), st.just(op), fitting(field, op))
    )
)
trees = st.recursive(
    some_leaf,
    lambda inner: st.one_of(
        st.fixed_dictionaries({"all": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"any": st.lists(inner, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=6,
)


# The rows are only read, so all examples may share them.
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None, max_examples=300
)
@given(tree=trees)
@pytest.mark.usefixtures("people")
def test_a_tree_that_passes_the_check_never_fails_in_sql_and_not_is_its_complement(
    django_db_blocker: Any, project: Project, tree: dict[str, Any]
) -> None:
    with django_db_blocker.unblock(), transaction.atomic():
        try:
            audience.validate_rules(tree, project_id=project.pk)
        except ValidationError:
            return
        _, inside = counted(project, tree)
        _, outside = counted(project, {"not": tree})
        assert inside + outside == 3
        assert compile_tree(tree).sql.count("%s") == len(compile_tree(tree).params)


def test_a_problem_says_where_it_is_without_being_taken_apart() -> None:
    rule = {"field": "attributes.age", "op": "gt", "value": "x. rules.all[7].op: y"}
    [problem] = rules.problems({"all": [{"all": []}, {"not": {"any": [rule]}}]})
    assert (problem.node, problem.part) == ("rules.all[1].not.any[0]", "value")
    assert (problem.number, problem.words) == (
        "2.1",
        "must be a number. For dates use before or after.",
    )
    assert str(problem) == f"{problem.node}.value: {problem.words}"


def test_a_list_that_is_nowhere_is_a_problem_of_the_whole_tree() -> None:
    tree = {"field": "list", "op": "eq", "value": 7}
    with pytest.raises(ValidationError) as refused:
        rules.validate(tree, lists=())
    problem: Any = refused.value.error_dict["rules"][0].message
    assert (problem.node, problem.number) == ("rules", "")


@pytest.mark.parametrize("field", ["attributes.city", "external_id", "created_at", "app_version"])
def test_an_operator_without_sql_is_an_error_and_not_another_operator(
    monkeypatch: pytest.MonkeyPatch, field: str
) -> None:
    monkeypatch.setattr(selection, "refuse_broken", lambda tree: None)
    with pytest.raises(KeyError, match="sounds_like"):
        compile_tree({"field": field, "op": "sounds_like", "value": "2031-05-06"})
