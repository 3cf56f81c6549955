"""What each role may and may not, in sentences, with rows as witnesses."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.urls import reverse

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.texts.template import Template
from campaigns.verbs import VERBS, Verb
from notifications.people.project import Project
from notifications.staff.api_key import ApiKey
from notifications.staff.team import Role, TeamMember, role_of
from tests.admin.desk import Desk, text_of
from tests.given.builders import make_campaign, make_contact, make_people, make_run, make_template
from tests.roles.people import logged_in, somebody

pytestmark = pytest.mark.django_db
DOORKEEPER = "config.entry.Doorkeeper"


def desk_of(role: Role | None) -> Desk:
    return Desk(logged_in(role))


@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR])
def test_who_is_not_a_sender_cannot_launch(role: Role, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    reply: Any = desk_of(role).confirm("campaigns_campaign_launch", campaign.pk)
    assert reply.status_code == 403
    assert f"You are {role.word}; this needs Sender" in text_of(reply)
    assert not Run.objects.exists()


def test_a_roles_word_needs_no_colon_in_its_language(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    translations = {"Viewer": "Looker: on", "Sender": "Posts – all"}
    monkeypatch.setattr(
        "django.utils.translation._trans.gettext", lambda words: translations.get(words, words)
    )
    campaign = make_campaign(project)
    reply: Any = desk_of(Role.VIEWER).confirm("campaigns_campaign_launch", campaign.pk)
    assert "You are Looker: on; this needs Posts – all" in text_of(reply)
    assert f"{Role.VIEWER.label}" == "Looker: on: sees people, texts, runs and results"


@pytest.mark.parametrize("role", [Role.SENDER, Role.OPERATOR, Role.OWNER])
def test_a_sender_and_above_launches(role: Role, project: Project) -> None:
    make_people(project, 1)
    campaign = make_campaign(project)
    desk_of(role).confirm("campaigns_campaign_launch", campaign.pk)
    assert Run.objects.get().launched_by == f"user:{role}-person"


def test_nobody_is_shown_a_button_that_would_not_work(project: Project) -> None:
    make_people(project, 1)
    run = make_run(project)
    pause = reverse("admin:campaigns_run_pause", args=[run.pk])
    for role, shown in {Role.EDITOR: False, Role.SENDER: True}.items():
        client = logged_in(role)
        page = client.get(reverse("admin:campaigns_run_change", args=[run.pk]))
        assert (pause in page.content.decode()) is shown, role


@pytest.mark.parametrize("verb", [*VERBS, None])
def test_a_verb_is_locked_where_nobody_keeps_the_doors_too(
    verb: Verb | None, project: Project, settings: LazySettings
) -> None:
    make_people(project, 1)
    run = make_run(project)
    settings.MIDDLEWARE = [each for each in settings.MIDDLEWARE if each != DOORKEEPER]
    before = Run.objects.values().get()
    page = verb.page if verb else "campaigns_run_duplicate"
    reply = desk_of(Role.EDITOR if verb else Role.VIEWER).confirm(page, run.pk)
    assert reply.status_code == 403
    assert Run.objects.values().get() == before and Campaign.objects.count() == 1


def test_a_viewer_sees_a_text_and_changes_none(project: Project) -> None:
    korean = {"ko": {"title": "안녕하세요"}}
    template = make_template(project, name="Spring", title="Hello", locales=korean)
    desk = desk_of(Role.VIEWER)
    page = desk.open("campaigns_template_change", template.pk)
    assert "Title Hello" in page and "ko · Title 안녕하세요" in page
    values = {"project": project.pk, "name": "Spring", "title": "Owned", "body": "x"}
    assert desk.post("campaigns_template_change", template.pk, **values).status_code == 403
    assert Template.objects.get().title == "Hello"


def test_only_an_operator_makes_and_revokes_keys(project: Project) -> None:
    row, _ = ApiKey.issue(project, "shop")
    assert desk_of(Role.SENDER).confirm("notifications_apikey_revoke", row.pk).status_code == 403
    assert ApiKey.objects.get().revoked_at is None
    desk_of(Role.OPERATOR).confirm("notifications_apikey_revoke", row.pk)
    assert ApiKey.objects.get().revoked_at is not None


def test_who_has_no_role_is_told_whom_to_ask(project: Project) -> None:
    somebody(Role.OWNER, "grace")
    reply: Any = logged_in(None).get(reverse("admin:index"))
    assert reply.status_code == 403
    assert "an owner has to give you a role first" in text_of(reply)
    assert "grace" in text_of(reply)


def test_a_superuser_is_an_owner_without_being_made_one(admin_user: User) -> None:
    assert role_of(admin_user) == Role.OWNER
    assert not TeamMember.objects.exists()


def test_who_was_made_inactive_has_no_role(db: None) -> None:
    user = somebody(Role.OWNER)
    user.is_active = False
    user.save()
    assert role_of(user) is None


def test_permissions_given_by_other_means_open_nothing(project: Project) -> None:
    """Rows of Django's own permission tables would be a second truth."""
    from django.contrib.auth.models import Permission

    user = somebody(Role.VIEWER)
    user.user_permissions.set(Permission.objects.all())
    user = User.objects.get(pk=user.pk)
    assert not user.has_perm("campaigns.change_campaign")
    assert user.has_perm("campaigns.view_campaign")


def test_the_database_knows_the_five_roles_and_no_other(db: None) -> None:
    user = somebody(None)
    with pytest.raises(IntegrityError), transaction.atomic():
        TeamMember.objects.create(user=user, role="emperor")


# --- The team page ------------------------------------------------------------------------------


def details(user: User, **values: Any) -> dict[str, Any]:
    return {"username": user.username, "is_active": "on", "role": Role.VIEWER, **values}


def test_an_owner_adds_a_member_who_can_log_in_as_what_was_said(db: None) -> None:
    password = "five quiet bells at noon"
    desk_of(Role.OWNER).save(
        "auth_user_add",
        username="eve",
        password1=password,
        password2=password,
        role="editor",
    )
    eve = User.objects.get(username="eve")
    assert role_of(eve) == Role.EDITOR
    assert eve.check_password(password)


def test_an_owner_changes_a_role_and_it_holds_at_once(db: None) -> None:
    bob = somebody(Role.VIEWER, "bob")
    desk_of(Role.OWNER).save("auth_user_change", bob.pk, **details(bob, role="sender"))
    assert role_of(User.objects.get(pk=bob.pk)) == Role.SENDER


def test_a_superuser_made_a_viewer_is_no_superuser_any_more(admin_user: User) -> None:
    desk_of(Role.OWNER).save("auth_user_change", admin_user.pk, **details(admin_user))
    assert role_of(User.objects.get(pk=admin_user.pk)) == Role.VIEWER


@pytest.mark.parametrize("change", [{"role": "viewer"}, {"role": "owner", "is_active": ""}])
def test_the_last_owner_stays_owner(admin_user: User, change: dict[str, str]) -> None:
    desk = Desk(logged_in(Role.OPERATOR))
    desk.client.force_login(admin_user)
    said = desk.save("auth_user_change", admin_user.pk, **details(admin_user, **change))
    assert "There must be an owner" in said
    assert role_of(User.objects.get(pk=admin_user.pk)) == Role.OWNER


def test_an_operator_does_not_see_the_team(admin_user: User) -> None:
    client = logged_in(Role.OPERATOR)
    assert client.get(reverse("admin:auth_user_changelist")).status_code == 403
    assert client.post(reverse("admin:auth_user_add")).status_code == 403


def test_the_team_says_when_somebody_was_there_last(project: Project) -> None:
    Project.objects.update(timezone="Asia/Seoul")
    bob = somebody(Role.VIEWER, "bob")
    desk = desk_of(Role.OWNER)
    assert "never" in desk.open("auth_user_changelist", q="bob")
    User.objects.filter(pk=bob.pk).update(last_login=datetime(2026, 11, 21, 19, 30, tzinfo=UTC))
    assert "22 Nov 2026, 04:30 Asia/Seoul" in desk.open("auth_user_changelist", q="bob")


def test_a_viewer_is_not_offered_to_correct_a_person(project: Project) -> None:
    contact = make_contact(project, attributes={"name": "서연"})
    page = desk_of(Role.VIEWER).open("notifications_contact_change", contact.pk)
    assert "서연" in page and "Correct by hand" not in page
    assert "Correct by hand" in desk_of(Role.OWNER).open("notifications_contact_change", contact.pk)
