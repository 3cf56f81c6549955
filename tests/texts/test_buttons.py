"""Buttons: the same for whoever writes them, and on each platform as it has them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.core.exceptions import ValidationError

from campaigns.corrections import draft_correction
from campaigns.texts import revision
from campaigns.texts.rendering import Unrenderable, render
from campaigns.texts.template import Template
from campaigns.texts.translating import as_csv, as_xliff, upload_changes
from campaigns.texts.translating.units import Cell
from notifications.fcm import payload, sizes
from notifications.people.project import Project
from tests.given.builders import make_contact, make_project, make_run, make_template
from tests.texts.rendered import reader

BUTTONS = [
    {"id": "open", "title": "Open, {{ first_name }}", "link": "https://example.com/{{ city }}"},
    {"id": "later", "title": "Later"},
]


def template(**values: Any) -> Template:
    return Template(**{"name": "t", "title": "Hi", "body": "B", "buttons": BUTTONS, **values})


def on(platform: str, locale: str = "en", **values: Any) -> dict[str, Any]:
    """As FCM gets it."""
    person = reader(locale, platform, first_name="Ada", city="Seoul")
    frozen = template(**values).frozen()
    return payload.as_fcm(render(frozen, person, collapse_id="c", ttl_seconds=60))


def test_on_android_the_app_gets_them_in_the_data_and_draws_them() -> None:
    sent = on("android")
    assert json.loads(sent["data"]["carillon_buttons"]) == [
        {"id": "open", "title": "Open, Ada", "link": "https://example.com/Seoul"},
        {"id": "later", "title": "Later"},
    ]
    assert "actions" not in sent["android"].get("notification", {})


def test_a_browser_draws_them_and_finds_their_links_in_the_data() -> None:
    sent = on("web")
    assert sent["webpush"]["notification"]["actions"] == [
        {"action": "open", "title": "Open, Ada"}, {"action": "later", "title": "Later"},
    ]  # fmt: skip
    links = [{"id": "open", "link": "https://example.com/Seoul"}, {"id": "later"}]
    assert json.loads(sent["data"]["carillon_buttons"]) == links


def test_on_ios_the_category_names_the_buttons_of_the_app() -> None:
    sent = on("ios", options={"ios": {"category": "OFFER"}})
    assert sent["apns"]["payload"]["aps"]["category"] == "OFFER"
    assert "carillon_buttons" not in json.dumps(sent)


def test_actions_written_as_an_option_of_the_web_win() -> None:
    own = [{"action": "x", "title": "Mine", "icon": "https://example.com/i.png"}]
    assert on("web", options={"web": {"actions": own}})["webpush"]["notification"]["actions"] == own


def test_a_data_only_message_says_their_titles_too() -> None:
    sent = on("web", options={"web": {"data_only": True}})
    assert json.loads(sent["data"]["carillon_buttons"])[1] == {"id": "later", "title": "Later"}
    assert "notification" not in sent["webpush"]


def test_a_language_has_titles_of_its_own_and_the_main_texts_for_the_rest() -> None:
    korean = {"ko": {"buttons": {"open": "{{ first_name }}님, 열기"}}}
    sent = on("web", "ko-KR", locales=korean)
    titles = [one["title"] for one in sent["webpush"]["notification"]["actions"]]
    assert titles == ["Ada님, 열기", "Later"]


def test_a_value_that_a_button_needs_is_missed_like_any_other() -> None:
    with pytest.raises(Unrenderable) as refusal:
        render(template().frozen(), reader(city="x"), collapse_id="c", ttl_seconds=60)
    assert "first_name" in refusal.value.detail


def test_they_count_in_the_bytes() -> None:
    bare, full = (
        sizes.measure(on("android", buttons=some))["Android"] for some in ([], BUTTONS[1:])
    )
    assert full - bare == len("carillon_buttons") + len('[{"id":"later","title":"Later"}]')
    long = [{"id": "a", "title": "x", "link": f"https://example.com/{'y' * 1_900}"}] * 1
    with pytest.raises(ValidationError) as refusal:
        template(buttons=long, body="b" * 2_300).clean()
    assert "FCM takes 4,096" in refusal.value.message_dict["body"][0]


@pytest.mark.parametrize(
    ("buttons", "said"),
    [
        ({}, "must be a list"),
        (["x"], "must be a list"),
        ([{"id": "a", "title": "A"}] * 4, "At most 3 buttons; there are 4"),
        ([{"id": "a", "title": "A"}] * 2, "the same id"),
        ([{"id": "A B", "title": "A"}], "1: id: 1 to 32 of"),
        ([{"title": "A"}], "1: id: 1 to 32 of"),
        ([{"id": "a", "title": " "}], "1: title: write what stands on the button"),
        ([{"id": "a", "title": "{{"}], "1: title: line 1"),
        ([{"id": "a", "title": "x" * 101}], "longer than 100"),
        ([{"id": "a", "title": "{{ snippet.x }}"}], "a snippet can stand in"),
        ([{"id": "a", "title": "A", "link": "javascript:x"}], "1: link: must be https"),
        ([{"id": "a", "title": "A", "link": "{{ url }}"}], "1: link: begin with https"),
        ([{"id": "a", "title": "A", "link": "https://a@b.example/"}], "user name"),
        ([{"id": "a", "title": "A", "icon": "x"}], "a button has id, title, link"),
        ([{"id": "a", "title": 5}], "must be a text"),
    ],
)
def test_what_is_no_button_is_refused_with_what_to_write(buttons: Any, said: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        template(buttons=buttons).clean()
    assert said in " ".join(refusal.value.message_dict["buttons"])


@pytest.mark.parametrize(
    ("said", "words"),
    [({"gone": "x"}, "gone: there is no such button"), ({"open": "{{"}, "open: line 1"),
     ([], "must be an object"), ({"open": 1}, "open: must be a text")],
)  # fmt: skip
def test_titles_of_a_language_are_judged_with_their_place(said: Any, words: str) -> None:
    with pytest.raises(ValidationError) as refusal:
        template(locales={"ko": {"buttons": said}}).clean()
    assert f"ko.buttons: {words}" in " ".join(refusal.value.message_dict["locales"])


def test_their_key_in_the_data_is_carillons_own() -> None:
    with pytest.raises(ValidationError) as refusal:
        template(data={"carillon_buttons": "[]"}).clean()
    assert "Carillon's own" in refusal.value.message_dict["data"][0]


def test_translators_get_their_titles_and_bring_them_back() -> None:
    text = template(locales={"ko": {"buttons": {"later": "나중에"}}})
    csv = as_csv.written(text.written(), [])
    xliff = as_xliff.written(text.written(), [], source="en", original="t")
    assert "buttons.later" in csv and "나중에" in csv
    for kind, file in (("csv", csv), ("xliff", xliff)):
        changed = file.replace("나중에", "다음에").encode()
        proposal = upload_changes.propose(text, upload_changes.parse_file(kind, changed))
        assert proposal.refused == []
        assert proposal.locales["ko"]["buttons"] == {"later": "다음에"}


@pytest.mark.parametrize("id", ["title.x", "buttons.gone", "buttons", "data", "locales.ko"])
def test_an_id_that_no_text_has_is_refused_and_breaks_nothing(id: str) -> None:
    text = template(locales={"ko": {"title": "안녕"}})
    cell = Cell(2, id, "ko", "x")
    [refused] = upload_changes.propose(text, [cell]).refused
    assert "There is no text" in refused.words


@pytest.mark.django_db
def test_a_run_keeps_the_buttons_it_was_launched_with_and_a_correction_begins_with_them() -> None:
    project = make_project()
    run = make_run(project, template={"buttons": BUTTONS}, advanced=False)
    Template.objects.update(buttons=[])
    run.refresh_from_db()
    assert run.content["buttons"] == BUTTONS
    assert draft_correction._as_sent(run, 0, named="x", by="user:alice").buttons == BUTTONS


@pytest.mark.django_db
def test_a_text_from_before_there_were_buttons_is_the_same_text() -> None:
    project: Project = make_project()
    make_contact(project)
    text = make_template(project)
    revision.keep(text, by="user:alice")
    assert "buttons" not in text.frozen() and "buttons" not in text.revisions.get().content
    assert revision.keep(text, by="user:alice") is None
    text.buttons = BUTTONS
    assert revision.keep(text, by="user:alice").number == 2
    text.buttons = []
    assert revision.keep(text, by="user:alice").number == 3
