"""Snippets through the API: kept with their past, named by who says them, and not taken away."""

from __future__ import annotations

from typing import Any

from campaigns.texts.snippets.snippet import Snippet
from notifications.people.project import Project
from notifications.staff.audit import AuditEntry
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_automation,
    make_campaign,
    make_contact,
    make_device,
    make_people,
    make_project,
    make_run,
    make_snippet,
    make_template,
)
from tests.given.by_hand import work

FOOTER: dict[str, Any] = {
    "name": "footer", "text": "Shop Ltd. {{ city }}", "locales": {"ko": {"text": "(주)샵"}}
}  # fmt: skip
SAYS = {"title": "Sale", "body": "Come by. {{ snippet.footer }}"}


def test_a_snippet_is_saved_and_shown_as_it_came(alice: Caller) -> None:
    made = alice.post("snippets", FOOTER)
    assert made.status_code == 201
    shown = alice.get(f"snippets/{made.json()['id']}").json()
    assert {name: shown[name] for name in FOOTER} == FOOTER
    assert shown["revision"] == 1
    assert [one["name"] for one in alice.get("snippets").json()["results"]] == ["footer"]


def test_each_change_is_a_revision_and_the_same_again_is_none(alice: Caller) -> None:
    path = f"snippets/{alice.post('snippets', FOOTER).json()['id']}"
    alice.patch(path, {"text": "Shop"})
    alice.patch(path, {"text": "Shop"})
    assert alice.get(path).json()["revision"] == 2
    kept = Snippet.objects.get().revisions.values_list("number", "content__text")
    assert list(kept) == [(2, "Shop"), (1, "Shop Ltd. {{ city }}")]
    trail = AuditEntry.objects.filter(subject_kind="snippet").values_list("action", flat=True)
    assert sorted(trail) == ["changed", "created"]


def test_put_takes_away_the_languages_it_leaves_out(alice: Caller) -> None:
    path = f"snippets/{alice.post('snippets', FOOTER).json()['id']}"
    answer = alice.put(path, {"name": "footer", "text": "Shop"})
    assert answer.json()["locales"] == {}


def test_who_says_it_is_named(project: Project) -> None:
    alice, footer = Caller(project), make_snippet(project, "footer", "Shop")
    make_people(project, 1)
    template = make_template(project, **SAYS)
    make_template(project, title="Something else")
    draft = make_campaign(project, template=template)
    going = make_run(project, template=template)
    answers = make_automation(project, template=template)
    assert alice.get(f"snippets/{footer.pk}/used-by").json() == {
        "templates": [template.pk],
        "campaigns": [going.campaign_id, draft.pk],
        "automations": [answers.pk],
    }


def test_a_campaign_that_has_ended_does_not_say_it_any_more(project: Project) -> None:
    alice, footer = Caller(project), make_snippet(project, "footer", "Shop")
    make_people(project, 1)
    run = make_run(project, template=SAYS)
    users = f"snippets/{footer.pk}/used-by"
    assert alice.get(users).json()["campaigns"] == [run.campaign_id]
    work(run)
    assert alice.get(users).json()["campaigns"] == []


def test_a_snippet_that_a_template_mentions_is_kept_until_none_does(project: Project) -> None:
    alice, footer = Caller(project), make_snippet(project, "footer", "Shop")
    path = f"snippets/{footer.pk}"
    template = make_template(project, **SAYS)
    refused = alice.delete(path)
    assert (refused.status_code, refused.json()["type"]) == (409, "urn:carillon:in-use")
    assert f"template {template.pk}" in refused.json()["detail"]
    renamed = alice.patch(path, {"name": "foot"})
    assert (renamed.status_code, fields_at_fault(renamed)) == (400, ["name"])

    alice.patch(f"templates/{template.pk}", {"body": "Come by."})
    assert alice.patch(path, {"name": "foot"}).status_code == 200
    assert alice.delete(path).status_code == 204
    assert not Snippet.objects.exists()


def test_a_name_is_taken_once_in_a_project_and_free_in_another(alice: Caller) -> None:
    alice.post("snippets", FOOTER)
    again = alice.post("snippets", FOOTER)
    assert (again.status_code, fields_at_fault(again)) == (409, ["name"])
    other = Caller(make_project(name="Museum"))
    assert other.post("snippets", FOOTER).status_code == 201
    assert other.get(f"snippets/{Snippet.objects.earliest('pk').pk}").status_code == 404


def test_a_preview_says_the_snippet_in_the_persons_language(project: Project) -> None:
    alice = Caller(project)
    make_snippet(project, "footer", "Shop", ko="샵")
    make_device(make_contact(project, external_id="ko", locale="ko-KR"))
    path = f"templates/{make_template(project, **SAYS).pk}/preview"
    shown = alice.post(path, {"contact": "ko"}).json()["message"]
    assert shown["notification"]["body"] == "Come by. 샵"


def test_a_project_holds_so_many_snippets_and_no_more(project: Project) -> None:
    alice = Caller(project)
    Snippet.objects.bulk_create(
        Snippet(project=project, name=f"s{number}", text="x") for number in range(200)
    )
    answer = alice.post("snippets", FOOTER)
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["name"])
    assert "at most 200 snippets" in answer.content.decode()
