"""Run actions: a verb of `campaigns/verbs.py` as an action of the run's page, with a dialog."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils.translation import gettext as _

from campaigns import tasks
from campaigns.runs.pages.dialogs import RunDialog
from campaigns.runs.run import Run
from campaigns.verbs import Verb
from notifications.admin.ui.dialogs import ask, close_dialog, refused
from notifications.admin.ui.page import actor, page_url
from notifications.admin.ui.unfolded import action
from notifications.task_queue import enqueue_on_commit


def steered(verb: Verb, dialog: type[RunDialog] = RunDialog) -> Any:
    """An Unfold action for a verb. It needs permission to view the run, and the verb's own."""

    def steer(page: Any, request: HttpRequest, form: RunDialog, object_id: str) -> HttpResponse:
        return _run_verb(verb, request, form)

    steer.__name__ = verb.name  # it becomes the action's URL
    dialog_options = ask(
        verb.question, form=dialog, text=verb.text, button=verb.button, danger=verb.danger
    )
    return action(description=verb.label, permissions=["view"], dialog=dialog_options)(steer)


def _run_verb(verb: Verb, request: HttpRequest, form: RunDialog) -> HttpResponse:
    run, follows = form.run, form.follows  # read first: afterwards it may no longer follow
    try:
        result = verb.do(run, by=actor(request), **form.arguments)
    except Run.InvalidMove as error:
        faster = _("The run has changed in the meantime.")
        return refused(request, form, f"{error} {faster}")
    except ValidationError as error:
        return refused(request, form, error.messages[0])
    except OperationalError:  # a snapshot of millions holds the run for longer than we wait
        again = _("The run is being prepared. Try again in a moment.")
        return refused(request, form, again)
    enqueue_on_commit(tasks.advance, run_id=run.pk)
    return close_dialog(
        request, f"{verb.message(run, result)} {follows}".rstrip(), to=page_url(run)
    )
