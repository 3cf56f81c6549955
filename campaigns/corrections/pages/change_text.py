"""The text on a run's page: changing it during the run, and its revisions."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _
from unfold.widgets import UnfoldAdminTextareaWidget, UnfoldBooleanWidget

from campaigns.corrections import apply_to_series, change_running_text, skips_by_new_text
from campaigns.corrections.change_running_text import NewText
from campaigns.corrections.draft_correction import MAIN as MAIN_TEXT
from campaigns.engine import cancelling
from campaigns.results.reports import held_back_and_waiting
from campaigns.runs import sums
from campaigns.runs.pages.dialogs import RunDialog
from campaigns.runs.pages.result.sent_text import Reading
from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST, texts_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, in_words, name_of
from campaigns.runs.variants.variant import as_launched, has_variants
from campaigns.texts import comparison, preview
from campaigns.texts.comparison import changes
from campaigns.texts.content import TEXTS
from campaigns.texts.liquid import Problem
from campaigns.texts.writing.field_labels import Shown, describe_changes, place
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.widgets import LineInput
from notifications.staff.actors import who
from notifications.values import exact

# --- Revisions ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Said:
    """One revision, and the outcomes of messages with it."""

    number: int
    by: str
    at: datetime
    counts: shares.Counts
    variants: str = ""  # those that changed, in words, if the run has several

    @property
    def got(self) -> int:
        return shares.got(self.counts)


@dataclass(frozen=True)
class Changed:
    """The changes of one revision from the one before."""

    number: int
    changes: list[Shown]
    snippets: list[tuple[str, int]]  # those that changed, each with its own revision
    variant: str = ""


def list_revisions(run: Run) -> list[Said]:
    """The revisions, first one first. Empty if the text was never changed."""
    if run.revision == FIRST:
        return []
    counts = shares.by_revision(run)
    first = Said(FIRST, who(run.launched_by), run.launched_at, counts[FIRST])
    variants_of: dict[int, list[str]] = defaultdict(list)
    later = {}
    for number, variant, by, at in run.revisions.values_list("number", "variant", "by", "at"):
        variants_of[number].append(_words(run, variant))
        later[number] = (who(by), at)
    later_revisions = [
        Said(number, *about, counts[number], ", ".join(variants_of[number]))
        for number, about in later.items()
    ]
    return [first, *later_revisions]


def changes_of(run: Run) -> dict[str, Any]:
    if run.revision == FIRST:
        return {}
    current, lines = as_launched(run), []
    for changed_text in run.revisions.all():
        before, current[changed_text.variant] = current[changed_text.variant], changed_text.content
        differing = describe_changes(changes(before, changed_text.content))
        about = snippets(before, changed_text.content), _words(run, changed_text.variant)
        lines.append(Changed(changed_text.number, differing, *about))
    return {"text_changes": lines[::-1]}


def _words(run: Run, variant: int) -> str:
    return in_words(variant) if has_variants(run) else ""


def snippets(before: dict[str, Any], after: dict[str, Any]) -> list[tuple[str, int]]:
    old, new = before.get("snippets", {}), after.get("snippets", {})
    return [(name, new[name]["revision"]) for name in new if old.get(name, new[name]) != new[name]]


# --- The dialog that changes a text ---------------------------------------------------------------

LONGEST = {"title": 500, "body": 4_000, "image": 2_000, "link": 2_000}
Path = tuple[int, str, str]  # variant, language (none: the main text), and which text


class ChangeTextDialog(RunDialog):
    template = "admin/campaigns/run/change_text.html"
    wide = True

    next_times = forms.BooleanField(required=False, widget=UnfoldBooleanWidget)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # The new content, once it is valid, of the variants that change.
        self.contents: dict[int, dict[str, Any]] = {}
        next_times = self.fields.pop("next_times")
        if not self.possible:
            return
        for path in self._paths():
            self.fields[_name(path)] = self._field(path)
        if label := self._next_times():
            next_times.label = label
            self.fields["next_times"] = next_times

    @cached_property
    def now(self) -> dict[int, dict[str, Any]]:
        return texts_of(self.run)

    @cached_property
    def problem(self) -> str:
        return change_running_text.problem(self.run)

    @property
    def possible(self) -> bool:
        return not self.problem

    def _paths(self) -> Iterator[Path]:
        """Each variant's main texts, and each language's own texts."""
        for variant, content in self.now.items():
            yield from ((variant, "", name) for name in TEXTS)
            for tag, own in content["locales"].items():
                yield from ((variant, tag, name) for name in TEXTS if own.get(name))

    def _field(self, path: Path) -> forms.CharField:
        variant, tag, name = path
        label = place(("locales", tag, name) if tag else (name,))
        if len(self.now) > 1:
            label = f"{in_words(variant)} · {label}"
        return _field(tag, name, self.now[variant], label)

    def _next_times(self) -> str:
        """The label “Also in …”; empty if the text is not used again."""
        if len(self.now) > 1:
            if apply_to_series.has_next_runs(self.run):
                return _("Also in the next runs of this series, and in the templates")
            return _("Also in the templates of these texts, for next times")
        template = apply_to_series.template_of(self.run)
        if apply_to_series.has_next_runs(self.run):
            if template is None:
                return _("Also in the next runs of this series")
            text = _("Also in the next runs of this series, and in the template “%(name)s”")
            return text % {"name": template}
        text = _("Also in the template “%(name)s”, for next times")
        return text % {"name": template} if template else ""

    # --- Write, then review ----------------------------------------------------------------------

    @property
    def seen_revision(self) -> int:
        """The revision that the user has edited."""
        return row_id(self.data.get("revision")) or self.run.revision

    @property
    def texts(self) -> dict[int, dict[str, Any]]:
        """Changed texts by variant. If none changed: the main variant without changes, as its
        snippets may have changed since."""
        changed: dict[int, dict[str, Any]] = {}
        for path in self._paths():
            variant, tag, name = path
            text = self.cleaned_data.get(_name(path), "").replace("\r\n", "\n")
            own = self.now[variant]["locales"][tag] if tag else self.now[variant]
            if text != own[name]:
                of_it = changed.setdefault(variant, {"locales": {}})
                (of_it["locales"].setdefault(tag, {}) if tag else of_it)[name] = text
        return changed or {MAIN: {"locales": {}}}

    def clean(self) -> dict[str, Any]:
        if self.errors or not self.possible or self.seen_revision != self.run.revision:
            return self.cleaned_data
        checked = {number: self._rewrite(number, texts) for number, texts in self.texts.items()}
        self.contents = {number: content for number, content in checked.items() if content}
        if self.errors:
            self.contents = {}
        return self.cleaned_data

    def _rewrite(self, variant: int, texts: dict[str, Any]) -> dict[str, Any] | None:
        """The variant's new content. None: it is invalid, and the form's errors say why."""
        try:
            content = change_running_text.rewritten(self.run, texts, variant)
        except ValidationError as error:
            self._place(error, variant)
            return None
        if hopeless := change_running_text.hopeless(self.run, content):
            self.add_error(None, hopeless)
            return None
        return content

    def is_valid(self) -> bool:
        """Valid only after the user has reviewed the changes and the people they affect."""
        return super().is_valid() and not self.looks

    @cached_property
    def mark(self) -> str:
        """A fingerprint of the reviewed content: after further edits there is another review."""
        return hashlib.sha256(
            exact.dumps([self.seen_revision, [*self.contents.items()]])
        ).hexdigest()

    @property
    def looks(self) -> bool:
        """Whether the content is valid but not reviewed yet."""
        return bool(self.contents) and self.data.get("looked_at") != self.mark

    @property
    def button(self) -> str:
        return _("Send this text from now on") if self.looks else ""

    def _place(self, error: ValidationError, variant: int) -> None:
        """Add each problem to its field; those without a field here, above the form."""
        by_field = error.error_dict if hasattr(error, "error_dict") else {"": error.error_list}
        for field, errors in by_field.items():
            for refusal in errors:
                problem = (refusal.params or {}).get("problem")
                path = (problem.locale, problem.field) if isinstance(problem, Problem) else None
                name = _name((variant, *(path or ("", field))))
                words = (
                    problem.with_position if isinstance(problem, Problem) else refusal.messages[0]
                )
                known = name in self.fields
                prefix = f"{in_words(variant)} · " if len(self.now) > 1 else ""
                above = prefix + _at(path, field, words)
                self.add_error(name if known else None, words if known else above)

    # --- The action's arguments, and the template context ----------------------------------------

    @property
    def arguments(self) -> dict[str, Any]:
        next_times = bool(self.cleaned_data.get("next_times"))
        new = NewText(
            self.seen_revision,
            self.texts.get(MAIN, {}),
            others={number: texts for number, texts in self.texts.items() if number != MAIN},
            accept_skips=True,  # the review has shown them
            next_runs=next_times and apply_to_series.has_next_runs(self.run),
            in_template=next_times,
        )
        return {"new": new}

    def context(self) -> dict[str, Any]:
        if self.problem:
            return {"problem": self.problem}
        splits = len(self.now) > 1
        context = {
            "run": self.run,
            "seen": self.seen_revision,
            "splits": splits,
            **_count_reached(self.run),
        }
        if not self.contents:
            return context
        looks = [self._look(number, content) for number, content in self.contents.items()]
        return {**context, "mark": self.mark, "looks": looks if self.looks else []}

    def _look(self, variant: int, content: dict[str, Any]) -> dict[str, Any]:
        now = self.now[variant]
        return {
            "variant": in_words(variant) if len(self.now) > 1 else "",
            "changes": describe_changes(comparison.changes(now, content)),
            "snippets": snippets(now, content),
            "skips": skips_by_new_text.foretold(self.run, content, variant),
            "reading": Reading(
                preview.card(content, skips_by_new_text.pick_person(self.run, variant))
            ),
        }


def _count_reached(run: Run) -> dict[str, Any]:
    """How many it reaches, how many have another text, and for how many it may be too late."""
    totals = sums.totals_of(run)
    waiting = totals.waiting - held_back_and_waiting(run)
    return {
        "chosen": run.planned is not None,
        "waiting": waiting,
        "got": totals.accepted + totals.unknown,
        "on_the_way": min(waiting, cancelling.may_have_it(run)) if run.planned else 0,
    }


def _name(path: Path) -> str:
    """The name of the path's field. A bare “title” would be the dialog's own."""
    variant, tag, name = path
    prefix = f"{name_of(variant)}." if variant != MAIN else ""
    return f"{prefix}{tag or MAIN_TEXT}.{name}"


def _field(tag: str, name: str, content: dict[str, Any], label: str) -> forms.CharField:
    own = content["locales"][tag] if tag else content
    widget = UnfoldAdminTextareaWidget(attrs={"rows": 3}) if name == "body" else LineInput()
    if tag:
        widget.attrs["lang"] = tag
    return forms.CharField(
        label=label,
        initial=own[name],
        required=False,
        strip=False,
        max_length=LONGEST[name],
        widget=widget,
    )


def _at(path: tuple[str, str] | None, field: str, words: str) -> str:
    where = place(("locales", *path) if path and path[0] else (path[1] if path else field,))
    return f"{where}: {words}" if where else words
