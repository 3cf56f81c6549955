"""Changing the text for whoever still waits: written, then looked at with whom it reaches and what
it would cost, and only then sent.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from campaigns.admin.run.dialogs import RunDialog
from campaigns.admin.run.result.as_sent import Reading
from campaigns.admin.run.text.said import snippets
from campaigns.engine import cancelling
from campaigns.planning.correcting import MAIN
from campaigns.planning.new_text import changing, handing_on, skipping
from campaigns.planning.new_text.changing import NewText
from campaigns.planning.new_text.skipping import Skips
from campaigns.runs import sums
from campaigns.runs.revisions.revision import content_of
from campaigns.runs.run import Run
from campaigns.texts import comparison, preview
from campaigns.texts.content import TEXTS
from campaigns.texts.liquid import Problem
from campaigns.texts.writing.places import place, shown
from notifications.admin.furniture.keyset import row_id
from notifications.admin.furniture.widgets import LineInput
from notifications.values import exact

LONGEST = {"title": 500, "body": 4_000, "image": 2_000, "link": 2_000}
Path = tuple[str, str]  # language (none: the main text), and which text


class ChangeTextDialog(RunDialog):
    template = "admin/campaigns/run/change_text.html"
    wide = True

    next_times = forms.BooleanField(required=False, widget=UnfoldBooleanWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.content: dict[str, Any] | None = None  # what it would say, once it is in order
        next_times = self.fields.pop("next_times")
        if not self.possible:
            return
        for path in self._paths():
            self.fields[_name(path)] = _field(path, self.now)
        if label := self._next_times():
            next_times.label = label
            self.fields["next_times"] = next_times

    @cached_property
    def now(self) -> dict[str, Any]:
        return content_of(self.run)

    @cached_property
    def problem(self) -> str:
        return changing.problem(self.run)

    @property
    def possible(self) -> bool:
        return not self.problem

    def _paths(self) -> Iterator[Path]:
        """The main text, and what each language has of its own."""
        yield from (("", name) for name in TEXTS)
        for tag, own in self.now["locales"].items():
            yield from ((tag, name) for name in TEXTS if own.get(name))

    def _next_times(self) -> str:
        """“Also in …”; nothing where there is no next time."""
        template = handing_on.template_of(self.run)
        if handing_on.has_next_runs(self.run):
            if template is None:
                return _("Also in the next runs of this series")
            said = _("Also in the next runs of this series, and in the template “%(name)s”")
            return said % {"name": template}
        said = _("Also in the template “%(name)s”, for next times")
        return said % {"name": template} if template else ""

    # --- Written, then looked at -----------------------------------------------------------------

    @property
    def seen(self) -> int:
        """The revision that the texts were written over."""
        return row_id(self.data.get("revision")) or self.run.revision

    @property
    def texts(self) -> dict[str, Any]:
        """Those that read differently from what it says."""
        found: dict[str, Any] = {"locales": {}}
        for tag, name in self._paths():
            said = self.cleaned_data.get(_name((tag, name)), "").replace("\r\n", "\n")
            own = self.now["locales"][tag] if tag else self.now
            if said != own[name]:
                (found["locales"].setdefault(tag, {}) if tag else found)[name] = said
        return found

    def clean(self) -> dict[str, Any]:
        if not self.errors and self.possible and self.seen == self.run.revision:
            try:
                self.content = changing.rewritten(self.run, self.texts)
            except ValidationError as error:
                self._place(error)
        if self.content and (hopeless := changing.hopeless(self.run, self.content)):
            self.add_error(None, hopeless)
            self.content = None
        return self.cleaned_data

    def is_valid(self) -> bool:
        """Whoever has not seen yet what changes, and for whom, is shown it first."""
        return super().is_valid() and not self.looks

    @cached_property
    def mark(self) -> str:
        """Of what is looked at: whoever writes on has another look."""
        return hashlib.sha256(exact.dumps([self.seen, self.content])).hexdigest()

    @property
    def looks(self) -> bool:
        """Whether it is in order, and nobody has looked at it."""
        return self.content is not None and self.data.get("looked_at") != self.mark

    @property
    def button(self) -> str:
        return _("Send this text from now on") if self.looks else ""

    def _place(self, error: ValidationError) -> None:
        """Each problem at its field; of what has none here, above them all."""
        by_field = error.error_dict if hasattr(error, "error_dict") else {"": error.error_list}
        for field, errors in by_field.items():
            for one in errors:
                problem = (one.params or {}).get("problem")
                path = (problem.locale, problem.field) if isinstance(problem, Problem) else None
                name = _name(path or ("", field))
                words = problem.said if isinstance(problem, Problem) else one.messages[0]
                known = name in self.fields
                self.add_error(name if known else None, words if known else _at(path, field, words))

    # --- What it needs, and what is told ---------------------------------------------------------

    @property
    def asked(self) -> dict[str, Any]:
        next_times = bool(self.cleaned_data.get("next_times"))
        new = NewText(
            self.seen,
            self.texts,
            accept_skips=True,  # the look has told of them
            next_runs=next_times and handing_on.has_next_runs(self.run),
            in_template=next_times,
        )
        return {"new": new}

    def context(self) -> dict[str, Any]:
        if self.problem:
            return {"problem": self.problem}
        told = {"run": self.run, "seen": self.seen, **_whom(self.run)}
        if self.content is None:
            return told
        return {
            **told,
            "mark": self.mark,
            "looks": self.looks,
            "changes": shown(comparison.changes(self.now, self.content)),
            "snippets": snippets(self.now, self.content),
            "skips": self.skips,
            "reading": Reading(preview.card(self.content, skipping.somebody(self.run))),
        }

    @cached_property
    def skips(self) -> Skips | None:
        return skipping.foretold(self.run, self.content) if self.content else None


def _whom(run: Run) -> dict[str, Any]:
    """Whom it reaches, who has another one already, and of whom it comes too late."""
    totals = sums.totals_of(run)
    return {
        "chosen": run.planned is not None,
        "waiting": totals.waiting,
        "got": totals.accepted + totals.unknown,
        "on_the_way": min(totals.waiting, cancelling.may_have_it(run)) if run.planned else 0,
    }


def _name(path: Path) -> str:
    """Of its field. A bare “title” would be the dialog's own."""
    tag, name = path
    return f"{tag or MAIN}.{name}"


def _field(path: Path, content: dict[str, Any]) -> forms.CharField:
    tag, name = path
    own = content["locales"][tag] if tag else content
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3}) if name == "body" else LineInput()
    if tag:
        widget.attrs["lang"] = tag
    label = place(("locales", tag, name) if tag else (name,))
    return forms.CharField(
        label=label,
        initial=own[name],
        required=False,
        strip=False,
        max_length=LONGEST[name],
        widget=widget,
    )


def _at(path: Path | None, field: str, words: str) -> str:
    where = place(("locales", *path) if path and path[0] else (path[1] if path else field,))
    return f"{where}: {words}" if where else words
