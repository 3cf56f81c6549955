"""What the check foretells is what the run then does."""

from __future__ import annotations

import pytest

from campaigns.runs.ledger import Delivery
from campaigns.sending import sending
from notifications.people.project import Project
from tests.given.builders import make_campaign, make_run
from tests.servers.fcm import Fcm
from tests.text_check.reading import make_reader, one, read

pytestmark = pytest.mark.django_db


def test_who_is_skipped_and_who_is_too_large_is_counted_as_the_run_ends(
    project: Project, fcm: Fcm
) -> None:
    for number in range(12):
        values = {"city": "x" * (600 * number), "name": "Ada" if number % 4 else ""}
        make_reader(project, f"u{number}", ("en", "ko")[number % 2], ("ios", "web")[number % 2],
                    **values)  # fmt: skip
    campaign = make_campaign(
        project,
        template={
            "title": "Hi {{ name }}",
            "body": "In {{ city }}",
            "locales": {"ko": {"title": "안녕", "body": "{{ city }}"}},
        },
    )
    report = read(campaign)
    run = make_run(project, template=campaign.template)
    sending.send(run.pk, 1, run.epoch)
    ended = Delivery.objects.filter(run_id=run.pk)
    assert ended.filter(status="skipped").count() == report["totals"]["skipped"] > 0
    large = ended.filter(status="rejected", reason="too_long").count()
    assert large == sum(each["devices"] for each in report["findings"]
                        if each["code"] == "too_large") > 0  # fmt: skip
    assert one(report, "empty", skips=True, variable="name")["devices"] == 3
