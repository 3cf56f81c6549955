"""Text page: a base for rows with revisions. Each save is a revision; edits of two users merge."""

from __future__ import annotations

from typing import Any

from django.http import HttpRequest

from campaigns.texts import revision
from campaigns.texts.comparison import changes
from campaigns.texts.pages.revisions import Revisions, history
from campaigns.texts.writing.field_labels import describe_changes
from notifications.admin.ui.keyset import row_id
from notifications.admin.ui.page import Page, actor


class TextPage(Page):
    def get_urls(self) -> list[Any]:
        return [*Revisions(self).urls(), *super().get_urls()]

    def as_posted(self, row: Any) -> dict[str, str]:
        """The values that the row's form would post to the preview."""
        raise NotImplementedError

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        # Only the form runs in a transaction here; copying or deleting changes no text.
        if request.method == "POST" and request.path.endswith("/change/"):
            revision.open_for_change(self.model, row_id(object_id) or 0)
        return super().get_object(request, object_id, from_field)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        revision.keep(obj, by=actor(request))

    def render_change_form(self, request: HttpRequest, context: Any, *args: Any, **kw: Any) -> Any:
        context["form_id"] = f"{self.opts.model_name}_form"
        context["preview_page"] = f"admin:{self.opts.model_name}_preview"
        row = context.get("original")
        if row is not None:
            context |= history(row)
            mine = row.revisions.filter(by=actor(request)).first()
            context["newest_of_mine"] = mine.number if mine else 0
            if not self.has_change_permission(request, row):
                context["only_shown"] = self.as_posted(row)
                filled = [change for change in changes({}, row.as_stored()) if change.after]
                context["as_it_is"] = describe_changes(filled)
        form = context["adminform"].form
        context["meanwhile"] = meanwhile = getattr(form, "meanwhile", None)
        if meanwhile is not None:
            context |= {
                "taken": describe_changes(meanwhile.taken),
                "disputed": describe_changes(meanwhile.disputed),
            }
        return super().render_change_form(request, context, *args, **kw)
