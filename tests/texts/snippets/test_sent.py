"""Snippets on their way: each reader in their language, frozen by a launch, through every door."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from campaigns import control, tasks
from campaigns.engine import engine
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.snippets.snippet import Snippet
from campaigns.texts.template import Template
from notifications.people.project import Project
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import (
    make_automation,
    make_campaign,
    make_contact,
    make_device,
    make_project,
    make_run,
    make_snippet,
    make_template,
)
from tests.given.by_hand import work
from tests.servers.fcm import Fcm
from tests.triggers import doing

SAYS = {"title": "Sale", "body": "Come by. {{ snippet.footer }}"}


@pytest.fixture
def footer(project: Project) -> Snippet:
    return make_snippet(project, "footer", "Shop for {{ first_name | default: 'you' }}", ko="샵")


def reader(project: Project, locale: str, **values: Any) -> None:
    who = make_contact(project, external_id=locale, locale=locale, **values)
    make_device(who, f"live-{locale}:APA91b")


def read(fcm: Fcm) -> dict[str, str]:
    """What each reader's phone got, by their language; the last of several."""
    return {one["address"].partition("-")[2].split(":")[0]: one["body"] for one in fcm.witness()}


def rewrite(snippet: Snippet, text: str) -> None:
    answer = Caller(snippet.project).patch(f"snippets/{snippet.pk}", {"text": text, "locales": {}})
    assert answer.status_code == 200, answer.content


def test_each_reader_gets_the_snippet_in_their_language_or_the_main_text(
    project: Project, footer: Snippet, fcm: Fcm
) -> None:
    for locale in ("ko-KR", "de"):
        reader(project, locale, attributes={"first_name": "Ada"})
    work(make_run(project, template=SAYS))
    assert read(fcm) == {"ko-KR": "Come by. 샵", "de": "Come by. Shop for Ada"}


def test_a_snippet_falls_back_by_itself_whatever_the_text_around_it_has(
    project: Project, fcm: Fcm
) -> None:
    make_snippet(project, "footer", "Shop", zh_Hant="商店", pt="Loja")
    for locale in ("zh-TW", "pt-BR", "fr"):
        reader(project, locale)
    locales = {"pt-BR": {"body": "Venha. {{ snippet.footer }}"}, "fr": {"title": "Soldes"}}
    work(make_run(project, template={**SAYS, "locales": locales}))
    assert read(fcm) == {
        "zh-TW": "Come by. 商店", "pt-BR": "Venha. Loja", "fr": "Come by. Shop"
    }  # fmt: skip


def test_a_running_run_says_what_it_was_launched_with_whatever_is_saved_since(
    project: Project, footer: Snippet, fcm: Fcm
) -> None:
    reader(project, "ko")
    run = make_run(project, template=SAYS)
    rewrite(footer, "Something else")
    work(run)
    assert read(fcm) == {"ko": "Come by. 샵"}
    assert run.content["snippets"]["footer"]["revision"] == 1

    work(make_run(project, template=run.campaign.template))
    assert read(fcm) == {"ko": "Come by. Something else"}


def test_those_sent_to_again_read_the_frozen_snippet(
    project: Project, footer: Snippet, fcm: Fcm
) -> None:
    make_device(make_contact(project, external_id="de", locale="de"), "lost-de:APA91b")
    run = work(make_run(project, template=SAYS, on_unknown="hold"))
    assert Run.objects.get(pk=run.pk).unknown == 1
    rewrite(footer, "Something else")
    control.send_again(run, by="user:alice")
    engine.advance(run.pk, now=timezone.now())
    work(Run.objects.get(pk=run.pk))
    assert {one["body"] for one in fcm.witness()} == {"Come by. Shop for Ada"}
    assert len(fcm.witness()) == 2


def test_a_series_repeats_the_words_it_was_launched_with(project: Project, footer: Snippet) -> None:
    run = make_run(project, template=SAYS)
    rewrite(footer, "Something else")
    assert Run.objects.get(pk=run.pk).content["snippets"]["footer"]["text"] == footer.text


def test_a_message_says_a_snippet_from_a_template_and_from_its_own_text(
    project: Project, footer: Snippet, fcm: Fcm
) -> None:
    reader(project, "ko")
    call, template = Caller(project), make_template(project, **SAYS)
    for text in ({"template": template.pk}, {"content": SAYS},
                 {"template": template.pk, "priority": "high"}):  # fmt: skip
        answer = call.post("messages", {"to": {"contact": "ko"}, **text})
        assert answer.status_code == 202, answer.content
    rewrite(footer, "Something else")
    tasks.send_messages()
    assert [one["body"] for one in fcm.witness()] == ["Come by. 샵"] * 3
    call.post("messages", {"to": {"contact": "ko"}, "content": SAYS})
    tasks.send_messages()
    assert fcm.witness()[-1]["body"] == "Come by. Something else"


def test_a_messages_own_text_is_refused_with_the_nearest_snippet(
    project: Project, footer: Snippet
) -> None:
    said = {"title": "Sale", "body": "{{ snippet.foter }}"}
    answer = Caller(project).post("messages", {"to": {"contact": "ko"}, "content": said})
    assert (answer.status_code, fields_at_fault(answer)) == (400, ["content.body"])
    assert "Did you mean “footer”?" in answer.content.decode()


def test_the_snippet_of_another_project_is_not_said(project: Project, footer: Snippet) -> None:
    other = make_project(name="Museum")
    answer = Caller(other).post("templates", {"name": "A", **SAYS})
    assert answer.status_code == 400
    assert "There are none yet" in answer.content.decode()


def test_an_automation_says_a_snippet(project: Project, footer: Snippet, fcm: Fcm) -> None:
    reader(project, "ko")
    make_automation(project, template=make_template(project, **SAYS))
    doing.tell(Caller(project), doing.did("ko"))
    doing.work()
    assert read(fcm) == {"ko": "Come by. 샵"}


def test_a_snippet_that_asks_for_what_a_person_lacks_skips_them(project: Project, fcm: Fcm) -> None:
    make_snippet(project, "city", "in {{ city }}")
    reader(project, "ko")
    reader(project, "de", attributes={"city": "Berlin"})
    run = work(make_run(project, template={"title": "A", "body": "We are {{ snippet.city }}"}))
    assert read(fcm) == {"de": "We are in Berlin"}
    assert (run.accepted, run.skipped) == (1, 1)


def test_data_says_a_snippet_too(project: Project, footer: Snippet, fcm: Fcm) -> None:
    reader(project, "ko")
    work(make_run(project, template={**SAYS, "data": {"legal": "{{ snippet.footer }}"}}))
    (record,) = fcm.witness()
    assert "샵" in str(record)


def test_a_text_without_snippets_asks_the_database_for_none(project: Project) -> None:
    template = Template.objects.get(pk=make_template(project).pk)
    with CaptureQueriesContext(connection) as asked:
        content = template.frozen()
    assert not asked.captured_queries
    assert "snippets" not in content


def test_the_launch_is_refused_when_a_snippet_is_gone(project: Project, footer: Snippet) -> None:
    """Deleted behind our back, as by hand in the database."""
    campaign = make_campaign(project, template=SAYS)
    reader(project, "ko")
    footer.uses.all().delete()
    footer.delete()
    with pytest.raises(Campaign.NotReady, match="there is no snippet “footer”"):
        control.launch(Campaign.objects.get(pk=campaign.pk), by="user:alice", now=timezone.now())


def test_a_correction_says_the_snippet_as_it_was_put_right(
    project: Project, footer: Snippet, fcm: Fcm
) -> None:
    reader(project, "ko")
    run = work(make_run(project, template=SAYS))
    correction = control.correct(run, text="every", by="user:alice")
    assert correction.template.body == SAYS["body"]
    rewrite(footer, "Put right")
    assert correction.template.frozen()["snippets"]["footer"]["text"] == "Put right"
