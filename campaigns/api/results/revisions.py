"""What a run said, each revision of its text, and how many got which."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.api.templates import Languages, Options, Texts
from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST, RunRevision
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, name_of
from campaigns.runs.variants.variant import as_launched, has_variants
from campaigns.texts.content import TEXTS
from notifications.api.ground import pages
from notifications.api.ground.view import ApiView


class RunTextSerializer(serializers.Serializer[Any]):
    """A text as it was frozen. Snippets in it are said as they read then."""

    title = serializers.CharField()
    body = serializers.CharField()
    image = serializers.CharField()
    link = serializers.CharField()
    data = Texts()  # type: ignore[assignment]  # as of a template
    options = Options()
    locales = Languages()


class RunRevisionSerializer(serializers.Serializer[Any]):
    """One revision of a run's text, and what became of those who were sent it; in a run with
    variants, of all who were sent to while it was the newest."""

    revision = serializers.IntegerField()
    variant = serializers.CharField(
        allow_null=True,
        help_text="Whose text it is, in a run with variants; the others say what they said.",
    )
    variants = serializers.DictField(
        child=RunTextSerializer(),
        help_text="Of the first revision: what the launch froze for the variants beside A, by "
        "letter.",
    )
    content = RunTextSerializer()
    by = serializers.CharField(help_text="Who launched it, or changed its text.")
    at = serializers.DateTimeField(help_text="Whoever was sent to later got this, or a newer one.")
    accepted = serializers.IntegerField()
    rejected = serializers.IntegerField()
    skipped = serializers.IntegerField()
    unknown = serializers.IntegerField()

    def to_representation(self, said: Any) -> dict[str, Any]:
        return dict(said)


class RunRevisions(ApiView):
    @extend_schema(
        operation_id="runs_revisions_list", responses=pages.schema_of(RunRevisionSerializer)
    )
    def get(self, request: Request, pk: int) -> Response:
        """Each text that the run had, the first one first. Most runs have one; `change-text` adds
        another. `unknown` may have got it; `skipped` got nothing. There are at most 100."""
        run = self.find(Run, pk)
        first = {"revision": FIRST, "by": run.launched_by, "at": run.launched_at}
        letter = name_of if has_variants(run) else lambda number: None
        said = [
            _said(first | {"variant": letter(MAIN)}, run.content, _others(run)),
            *(_later(one, letter(one.variant)) for one in run.revisions.all()),
        ]
        counts = shares.by_revision(run)
        return Response(
            {"results": [one | counts.get(one["revision"], {}) for one in said], "next": None}
        )


def _later(one: RunRevision, variant: str | None) -> dict[str, Any]:
    about = {"revision": one.number, "variant": variant, "by": one.by, "at": one.at}
    return _said(about, one.content)


def _others(run: Run) -> dict[str, Any]:
    others = as_launched(run).items()
    return {name_of(number): _text(content) for number, content in others if number != MAIN}


def _said(
    about: dict[str, Any], content: dict[str, Any], others: dict[str, Any] | None = None
) -> dict[str, Any]:
    return {**about, "variants": others or {}, "content": _text(content)}


def _text(content: dict[str, Any]) -> dict[str, Any]:
    texts = {name: content[name] for name in (*TEXTS, "data", "locales")}
    return {**texts, "options": content.get("options", {})}
