"""Registrations: which listeners are called by code that cannot import them.

Each registry is declared where it is called. `apps.py` imports this file once the models exist.
"""

from __future__ import annotations

from campaigns import tasks
from campaigns.alerts import retention as alert_retention
from campaigns.alerts import texts as alert_texts
from campaigns.audiences import membership
from campaigns.engagement.converting import count_events
from campaigns.engine import forgetting, load, retaining
from campaigns.results import phone_reports, sent
from campaigns.results.why import answers
from campaigns.runs import best_hour, final_outcomes, prior_recipients, run
from campaigns.runs.caps import counted_pushes
from campaigns.runs.messages import person_data as messages_of_person
from campaigns.test_sends import retention as test_retention
from campaigns.triggers import retention
from campaigns.webhooks import texts, write_reports
from notifications import imports
from notifications.inbox import reading as inbox
from notifications.pacing import health
from notifications.people import device, erased_people, person_export
from notifications.people.consent import record, suppression
from notifications.people.events import clearing, reading, writing
from notifications.staff import login_signals  # noqa: F401  # connects Django's signals of sign-ins
from notifications.tasks import send_reports_on_commit
from notifications.webhooks import composing, outbox
from notifications.webhooks import person_data as reports_of_person

# --- Something happened ---------------------------------------------------------------------------

run.on_run_moved.add(write_reports.report_run)
final_outcomes.on_outcomes.add(write_reports.report_outcomes)
device.on_devices_retired.add(write_reports.report_retired_devices)
record.on_opt_outs.add(write_reports.report_opt_outs)
writing.on_events_written.add(tasks.answer_events, count_events)
health.on_level_reported.add(load.reported)
outbox.on_report_written.add(send_reports_on_commit)

# --- What goes with people, and with old events ---------------------------------------------------

erased_people.on_people_erased.add(
    reports_of_person.forget,
    forgetting.forget_answers,
    messages_of_person.forget,
    counted_pushes.forget,
    prior_recipients.forget,
    best_hour.forget,
    test_retention.forget,
)
clearing.on_events_removed.add(retention.remove_old)
retaining.KINDS[alert_retention.KIND.name] = alert_retention.KIND

# --- What an export says of one person ------------------------------------------------------------

person_export.sections.add(
    ("contact", person_export.contact_itself),
    ("devices", person_export.devices_of),
    ("consent", suppression.consent_of),
    ("lists", membership.lists_of),
    ("events", reading.events_of),
    ("messages", messages_of_person.messages_of),
    ("deliveries", sent.deliveries_of),
    ("answers", answers.answers_of),
    ("receipts", phone_reports.receipts_of),
    ("opens", phone_reports.opens_of),
    ("goals", phone_reports.goals_of),
    ("had", prior_recipients.prior_campaigns_of),
    ("automations", retention.automations_of),
    ("tests", test_retention.tests_of),
    ("inbox", inbox.export_items),
    ("reports", reports_of_person.reports_of),
)

# --- The rest -------------------------------------------------------------------------------------

imports.urgent_work.add(run.messages_leave)
composing.TEXT_BUILDERS |= texts.WORDS | alert_texts.WORDS
