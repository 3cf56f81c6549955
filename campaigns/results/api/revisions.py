"""What a run said, each revision of its text, and how many got which."""

from __future__ import annotations

from typing import Any

from django.db.models import F
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from campaigns.runs.revisions import shares
from campaigns.runs.revisions.revision import FIRST, texts_of
from campaigns.runs.run import Run
from campaigns.runs.variants.group import MAIN, name_of
from campaigns.texts.api.templates import Languages, Options, Texts
from campaigns.texts.content import TEXTS
from notifications.api.base import pages
from notifications.api.base.view import ApiView


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
    content = RunTextSerializer(help_text="Of a run with variants, what A says.")
    variants = serializers.DictField(
        child=RunTextSerializer(), help_text="What B to E say, by letter; empty without variants."
    )
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
        first: dict[str, Any] = {"revision": FIRST, "by": run.launched_by, "at": run.launched_at}
        numbers = run.revisions.order_by("number").distinct("number")
        later = [dict(revision) for revision in numbers.values("by", "at", revision=F("number"))]
        revisions = [
            {**revision, **_revision_texts(run, revision["revision"])}
            for revision in (first, *later)
        ]
        counts = shares.by_revision(run)
        return Response(
            {
                "results": [
                    revision | counts.get(revision["revision"], {}) for revision in revisions
                ],
                "next": None,
            }
        )


def _revision_texts(run: Run, number: int) -> dict[str, Any]:
    texts = {name_of(variant): _text(content) for variant, content in texts_of(run, number).items()}
    return {"content": texts.pop(name_of(MAIN)), "variants": texts}


def _text(content: dict[str, Any]) -> dict[str, Any]:
    texts = {name: content[name] for name in (*TEXTS, "data", "locales")}
    return {**texts, "options": content.get("options", {})}
