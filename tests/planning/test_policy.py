"""How a campaign is sent is declared once: nothing that reads it can forget a field."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from campaigns import control
from campaigns.engagement.opening import OpenRate
from campaigns.planning import campaign_variants
from campaigns.planning.api.campaigns import CampaignSerializer
from campaigns.planning.api_fields import API_FIELDS
from campaigns.planning.campaign import Campaign
from campaigns.planning.pages import concurrent_edits, steps
from campaigns.planning.pages.form import CampaignForm
from campaigns.runs.api.steering import RateSerializer
from campaigns.runs.pages.dialogs import RateDialog
from campaigns.runs.policy import LIVE, NEVER, POLICY, SETTINGS, TIMES, TIMES_OF, Setting
from campaigns.runs.run import Run
from campaigns.runs.series import repeated
from tests.given.builders import make_campaign, make_project, make_run, make_template
from tests.given.settings import otherwise


def fields_of(model: type[Any]) -> set[str]:
    return {field.name for field in model._meta.concrete_fields}


# Who and what, what files it away, what its days off are called: not how or when it is sent.
BESIDE = {"id", "project", "name", "audience", "template", "weight", "tags", "corrects",
          "archived_at", "moved", "holiday_names", "series_paused_at", "created_at",
          "updated_at"}  # fmt: skip


def test_every_column_of_a_campaign_that_is_edited_is_declared() -> None:
    assert fields_of(Campaign) - BESIDE == {setting.field for setting in SETTINGS}


def test_what_a_campaign_and_its_run_both_have_is_frozen_by_the_launch() -> None:
    assert fields_of(Campaign) & fields_of(Run) - {"id", "project", "corrects"} == set(POLICY)
    assert len(SETTINGS) == len({setting.field for setting in SETTINGS})


def test_every_page_and_the_api_know_all_of_it() -> None:
    everything = {setting.field for setting in SETTINGS}
    asked = [name for names in steps.FIELDS.values() for name in names]
    for known in (CampaignForm.base_fields, concurrent_edits.GUARDED, asked):
        assert everything <= set(known)
    assert set(POLICY) <= set(CampaignSerializer().fields)
    assert set(TIMES) == set(API_FIELDS)


def test_every_step_that_a_setting_stands_on_is_one_of_the_page() -> None:
    assert {setting.step for setting in SETTINGS} <= set(steps.FIELDS)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda setting: setting.field)
def test_it_has_one_name_whichever_row_has_it(setting: Setting) -> None:
    for model in (Campaign, Run):
        names = {field.name: field.verbose_name for field in model._meta.concrete_fields}
        assert names.get(setting.field, setting.words) == setting.words


def test_the_api_asks_for_each_as_its_column_takes_it() -> None:
    fields = CampaignSerializer().fields
    promised = {
        "on_unknown": {"choices": ["resend", "hold"]},
        "rate_per_second": {"least": 1, "most": 100_000, "null": True},
        "spread_seconds": {"least": 60, "most": 604_800, "null": True},
        "opens_per_second": {"least": 1, "most": 100_000, "null": True},
        "ttl_seconds": {"least": 60, "most": 2_419_200},
        "first_percent": {"least": 1, "most": 50, "null": True},
        "first_least": {"least": 1, "most": 1_000_000},
        "first_wait_seconds": {"least": 60, "most": 1_209_600},
        "first_most_rejected": {"least": 0, "most": 100},
        "first_most_dead": {"least": 0, "most": 100},
        "first_least_received": {"least": 0, "most": 100},
        "max_lateness_seconds": {"least": 0, "most": 604_800},
        "analytics_label": {"longest": 50, "blank": True},
        "goal_event": {"longest": 64, "blank": True},
        "goal_within_seconds": {"least": 60, "most": 2_592_000},
        "winner_by": {"choices": ["own", "opened", "goal"]},
        "no_winner": {"choices": ["ask", "first", "split"]},
        "goal_after": {"choices": ["opened", "received"]},
    }
    assert {name: _bounds(fields[name]) for name in promised} == promised
    assert not any(fields[name].required for name in POLICY)


def test_the_api_and_the_runs_own_dialog_say_of_it_what_the_campaigns_page_says() -> None:
    said = {name: field.help_text for name, field in CampaignSerializer().fields.items()}
    hints = {setting.field: setting.hint for setting in SETTINGS}
    assert {name: said[name] for name in POLICY} == {name: hints[name] for name in POLICY}
    for field in (RateSerializer().fields["rate_per_second"], RateDialog.base_fields["rate"]):
        assert field.help_text == hints["rate_per_second"]


def test_each_kind_of_schedule_says_which_of_its_times_it_takes() -> None:
    assert list(TIMES_OF) == Campaign.Schedule.values
    assert {name: getattr(Campaign(), name) for name in NEVER} == NEVER


def _bounds(field: Any) -> dict[str, Any]:
    names = {"least": "min_value", "most": "max_value", "longest": "max_length",
             "blank": "allow_blank", "null": "allow_null"}  # fmt: skip
    found = {short: getattr(field, name, None) for short, name in names.items()}
    found["choices"] = list(getattr(field, "choices", ())) or None
    return {name: one for name, one in found.items() if one is not None and one is not False}


@pytest.mark.parametrize("field", POLICY)
def test_a_run_that_goes_takes_another_value_of_what_is_live_alone(db: None, field: str) -> None:
    run = make_run(make_project(), advanced=False)
    was, kept = getattr(run, field), otherwise(field, run.project).kept
    if field in LIVE:
        with transaction.atomic():
            assert run.change(field, kept, "be changed") == was
    else:
        with pytest.raises(ValueError, match="frozen by the launch"):
            run.change(field, kept, "be changed")
    stored = Run.objects.values_list(field, flat=True).get()
    assert stored == (kept if field in LIVE else was)


@pytest.mark.parametrize("field", POLICY)
def test_a_launch_freezes_it_and_the_next_of_the_series_has_it(
    db: None, field: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = make_project()
    kept = otherwise(field, project).kept
    campaign = make_campaign(project, **{field: kept})
    if field == "winner_by":  # there must be some to choose from
        campaign_variants.choose(campaign, [(make_template(project), 50)])
    if field == "opens_per_second":  # it must be known how many open a message
        monkeypatch.setattr(OpenRate, "known", True)
    assert kept != getattr(Campaign(), field)
    run = control.launch(campaign, by="user:alice", now=timezone.now())
    assert getattr(run, field) == kept
    Campaign.objects.update(**{field: getattr(Campaign(), field)})
    assert getattr(repeated(run, timezone.now()), field) == kept
