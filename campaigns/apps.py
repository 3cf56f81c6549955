from __future__ import annotations

from django.apps import AppConfig
from django.utils.translation import gettext_lazy as _


class CampaignsConfig(AppConfig):
    name = "campaigns"
    verbose_name = _("Campaigns")

    def ready(self) -> None:
        """Who is told of what."""
        _forget_with_people()
        from campaigns import naming, tasks  # these need the models, not there before this
        from campaigns.alerts import retention as old_alerts
        from campaigns.alerts import texts as of_alerts
        from campaigns.audiences import membership  # noqa: F401  # it says what it knows of people
        from campaigns.echo.converting import count_events
        from campaigns.engine import load, retaining
        from campaigns.outgoing import telling, words  # above whoever does what is told
        from campaigns.results import echoed, sent  # noqa: F401  # so do these
        from campaigns.results.why import answers  # noqa: F401  # and this
        from campaigns.runs import endings, run
        from campaigns.runs.policy import SETTINGS
        from campaigns.runs.run import messages_leave
        from campaigns.triggers import going
        from notifications import imports
        from notifications import tasks as doorbells
        from notifications.naming import name_columns, name_rows
        from notifications.outgoing import composing, outbox
        from notifications.pace import health
        from notifications.people import device
        from notifications.people.consent import saying
        from notifications.people.events import clearing, writing

        name_rows(self, naming.FIELDS, naming.ROWS)
        name_columns({setting.field: setting.words for setting in SETTINGS}, self.get_models())
        imports.URGENT.append(messages_leave)
        writing.LISTENERS += [tasks.answer_events, count_events]
        clearing.WITH_THEM.append(going.remove_old)
        run.LISTENERS.append(telling.of_move)
        endings.LISTENERS.append(telling.of_outcomes)
        device.LISTENERS.append(telling.of_retired)
        saying.LISTENERS.append(telling.of_nos)
        composing.WORDS |= words.WORDS | of_alerts.WORDS
        retaining.KINDS[old_alerts.KIND.name] = old_alerts.KIND
        outbox.BELLS.append(doorbells.send_reports_on_commit)
        health.LISTENERS.append(load.reported)


def _forget_with_people() -> None:
    """What goes with who is erased."""
    from campaigns.engine.forgetting import forget_answers  # these need the models, too
    from campaigns.runs import best_hour, prior_recipients
    from campaigns.runs.caps import counted
    from campaigns.runs.messages import of_person
    from campaigns.test_sends import retention
    from notifications.people.erased import ERASED

    ours = (of_person, counted, prior_recipients, best_hour, retention)
    ERASED.extend([forget_answers, *(one.forget for one in ours)])
