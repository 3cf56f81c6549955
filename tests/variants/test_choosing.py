"""Choosing variants: in the form, in the API; what a launch refuses, and what the review tells."""

from __future__ import annotations

import pytest
from django.utils import timezone

from campaigns import control
from campaigns.launch_check import freshness
from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.runs.variants.variant import as_launched
from notifications.people.project import Project
from tests.admin.desk import Desk
from tests.api.caller import Caller, fields_at_fault
from tests.given.builders import make_campaign, make_people, make_project, make_run, make_template
from tests.variants.shared import TITLES, make_split

pytestmark = pytest.mark.django_db


def variants_of(campaign: Campaign) -> list[tuple[int, str, int]]:
    rows = campaign.variants.select_related("template")
    return [(one.number, one.template.title, one.weight) for one in rows]


def form_of(desk: Desk, campaign: Campaign) -> dict[str, str]:
    """What the page would post if nobody touched it."""
    from django.urls import reverse

    page = desk.client.get(reverse("admin:campaigns_campaign_change", args=[campaign.pk]))
    form = page.context["adminform"].form
    posted = {}
    for name, field in form.fields.items():
        value = form[name].value()
        if value is None or value is False:
            continue
        prepared = field.prepare_value(value)
        posted[name] = prepared if isinstance(prepared, str) else str(prepared)
    return posted


def test_variants_are_chosen_removed_and_weighted_in_the_form(desk: Desk, project: Project) -> None:
    campaign = make_split(project, (50, 50, 50))
    form = form_of(desk, campaign)
    assert (form["weight"], form["weight_2"]) == ("50", "50")
    form |= {"variant_1": "", "weight_2": "20", "weight": "80", "control_percent": "10"}
    desk.save("campaigns_campaign_change", campaign.pk, **form)
    campaign.refresh_from_db()
    assert variants_of(campaign) == [(1, TITLES[2], 20)], "C is the new B"
    assert (campaign.weight, campaign.control_percent) == (80, 10)


def test_the_form_refuses_the_same_text_twice_and_a_weight_out_of_range(
    desk: Desk, project: Project
) -> None:
    campaign = make_split(project)
    form = form_of(desk, campaign)
    twice = form | {"variant_1": str(campaign.template_id)}
    said = desk.save("campaigns_campaign_change", campaign.pk, **twice)
    assert "Another variant has the same text. Choose another template." in said
    odd = form | {"weight_2": "0", "variant_2": "999"}
    said = desk.save("campaigns_campaign_change", campaign.pk, **odd)
    assert "There is no such template in this project." in said
    assert variants_of(campaign) == [(1, TITLES[1], 50)], "nothing was saved"


def test_beside_the_form_one_sees_the_shares_and_the_texts_beside_one_another(
    desk: Desk, project: Project
) -> None:
    make_people(project, 3)
    campaign = make_split(project, (75, 25), control_percent=20)
    reply = desk.post("campaign_what", **form_of(desk, campaign))
    text = reply.content.decode()
    assert "60 %" in text and "20 %" in text
    assert text.count("Text A") >= 2 and "Text B" in text


def test_nonsense_in_the_form_costs_the_panel_nothing(desk: Desk, project: Project) -> None:
    make_people(project, 1)
    form = form_of(desk, make_split(project))
    for odd in ("-1", "9" * 40, "x", "1e9", "½"):
        reply = desk.post("campaign_what", **{**form, "weight": odd, "variant_1": odd,
                                              "weight_1": odd, "control_percent": odd})  # fmt: skip
        assert reply.status_code == 200


def test_the_api_writes_and_tells_variants(project: Project) -> None:
    call, campaign = Caller(project), make_campaign(project)
    other = make_template(project)
    body = {"variants": [{"template": other.pk, "weight": 30}], "weight": 70, "control_percent": 5}
    told = call.patch(f"campaigns/{campaign.pk}", body).json()
    assert told["variants"] == [{"template": other.pk, "weight": 30}]
    assert (told["weight"], told["control_percent"]) == (70, 5)
    told = call.patch(f"campaigns/{campaign.pk}", {"name": "Renamed"}).json()
    assert told["variants"] == [{"template": other.pk, "weight": 30}], "a PATCH keeps them"
    whole = {"name": "Anew", "audience": campaign.audience_id, "template": campaign.template_id}
    told = call.put(f"campaigns/{campaign.pk}", whole).json()
    assert (told["variants"], told["weight"]) == ([], 50)


def test_the_api_refuses_a_sixth_text_and_a_strangers(project: Project) -> None:
    call, campaign = Caller(project), make_campaign(project)
    five = [{"template": make_template(project).pk} for _ in range(5)]
    refused = call.patch(f"campaigns/{campaign.pk}", {"variants": five})
    assert refused.status_code == 400
    stranger = make_template(make_project())
    refused = call.patch(f"campaigns/{campaign.pk}", {"variants": [{"template": stranger.pk}]})
    assert refused.status_code == 400 and "variants" in fields_at_fault(refused)[0]
    assert not campaign.variants.exists()


def test_a_launch_refuses_an_empty_variant_and_says_which(project: Project) -> None:
    campaign = make_split(project)
    make_people(project, 1)
    campaign.variants.get().template.__class__.objects.filter(
        pk=campaign.variants.get().template_id
    ).update(title="", body="")
    refused = Caller(project).post(f"campaigns/{campaign.pk}/launch")
    assert refused.status_code == 422
    assert fields_at_fault(refused) == ["variants"]
    assert "Variant B" in refused.json()["errors"][0]["message"]


def test_a_launch_freezes_each_text_and_edits_reach_none(project: Project) -> None:
    campaign = make_split(project)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    template = campaign.variants.get().template
    template.title = "Edited"
    template.save()
    assert {n: content["title"] for n, content in as_launched(run).items()} == {
        0: TITLES[0], 1: TITLES[1],
    }  # fmt: skip


def test_a_changed_variant_asks_for_another_look_before_the_launch(project: Project) -> None:
    campaign = make_split(project)
    seen = freshness.marks(campaign)
    assert freshness.changed(campaign, seen) == []
    campaign.variants.update(weight=10)
    assert len(freshness.changed(campaign, seen)) == 1


def test_the_review_and_the_dialog_tell_how_many_of_each_and_how_many_it_takes(
    desk: Desk, project: Project
) -> None:
    make_people(project, 1_000)
    campaign = make_split(project, (75, 25), control_percent=20)
    for page in ("campaign_review", "campaigns_campaign_launch"):
        text = desk.open(page, campaign.pk)
        people = " 600 600" if page == "campaign_review" else " 600"
        assert f"60 %{people} Variant B" in text and "Control group nothing 20 %" in text
        assert "about 200 control group" in text or "about 200 will be skipped" in text
        assert "To see 5 % opened against 4 %, about" in text
        assert "nobody would hear which is opened more" in text
        assert "It has a control group and no goal" in text
    told = Caller(project).get(f"campaigns/{campaign.pk}/check").json()
    assert (told["who"]["devices"], told["who"]["sent_to"]) == (1_000, 800)
    assert {"status": "skipped", "reason": "control", "devices": 200}.items() <= next(
        one for one in told["skipped"] if one["reason"] == "control"
    ).items()


def test_a_copy_has_the_variants_and_what_follows_a_run_has_no_control_group(
    project: Project,
) -> None:
    campaign = make_split(project, control_percent=10)
    copy = campaign.duplicate()
    assert variants_of(copy) == variants_of(campaign)
    assert copy.control_percent == 10
    follows = campaign.duplicate_for(campaign.audience, named="%(name)s (rest)")
    assert (follows.control_percent, len(variants_of(follows))) == (0, 1)
    run = make_run(project, advanced=False)
    corrects = campaign.duplicate_for(campaign.audience, named="%(name)s (c)", corrects=run)
    assert variants_of(corrects) == []


def test_a_template_that_is_a_variant_is_not_deleted_and_says_whose_it_is(
    desk: Desk, project: Project
) -> None:
    campaign = make_split(project)
    template = campaign.variants.get().template
    refused = Caller(project).delete(f"templates/{template.pk}")
    assert refused.status_code == 409
    assert f"is still used by variant B of campaign {campaign.pk}." in refused.json()["detail"]
    assert variants_of(campaign)


def test_the_project_page_sets_the_holdout(desk: Desk, project: Project) -> None:
    text = desk.open("notifications_project_change", project.pk)
    assert "Holdout, percent" in text


def test_a_run_of_one_text_keeps_no_groups(project: Project) -> None:
    run = control.launch(make_campaign(project), by="user:alice", now=timezone.now())
    assert Run.objects.get(pk=run.pk).split == {}
