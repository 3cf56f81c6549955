from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:  # noqa: PLR0915  # a list: who is told of what
        from campaigns import naming, tasks  # these need the models, not there before this
        from campaigns.alerts import clearing as old_alerts
        from campaigns.alerts import words as of_alerts
        from campaigns.audiences import membership  # noqa: F401  # it says what it knows of people
        from campaigns.echo.converting import count_events
        from campaigns.engine import forgetting, load, retaining
        from campaigns.outgoing import telling, words  # above whoever does what is told
        from campaigns.results import echoed, sent  # noqa: F401  # so do these
        from campaigns.results.why import answers  # noqa: F401  # and this
        from campaigns.runs import run
        from campaigns.runs.best_hour.opens import forget as forget_opens
        from campaigns.runs.caps.counted import forget as forget_counted
        from campaigns.runs.had.had import forget as forget_had
        from campaigns.runs.messages.of_person import forget
        from campaigns.runs.policy import SETTINGS
        from campaigns.runs.run import messages_leave
        from campaigns.sending import settling
        from campaigns.test_sends.clearing import forget as forget_tests
        from campaigns.triggers import going
        from notifications import imports
        from notifications import tasks as doorbells
        from notifications.naming import name_columns, name_rows
        from notifications.outgoing import composing, outbox
        from notifications.pace import health
        from notifications.people import device
        from notifications.people.consent import saying
        from notifications.people.contact import ERASED
        from notifications.people.events import clearing, writing

        name_rows(self, naming.FIELDS, naming.ROWS)
        name_columns({setting.field: setting.words for setting in SETTINGS}, self.get_models())
        imports.URGENT.append(messages_leave)
        ERASED.extend(
            [
                forget,
                forgetting.forget_answers,
                forget_counted,
                forget_had,
                forget_opens,
                forget_tests,
            ]
        )
        writing.LISTENERS += [tasks.answer_events, count_events]
        clearing.WITH_THEM.append(going.remove_old)
        run.LISTENERS.append(telling.of_move)
        settling.LISTENERS.append(telling.of_outcomes)
        device.LISTENERS.append(telling.of_retired)
        saying.LISTENERS.append(telling.of_nos)
        composing.WORDS |= words.WORDS | of_alerts.WORDS
        retaining.KINDS[old_alerts.KIND.name] = old_alerts.KIND
        outbox.BELLS.append(doorbells.ring_reports)
        health.LISTENERS.append(load.reported)
