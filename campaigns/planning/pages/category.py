"""The pages of categories."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db import connection, transaction
from django.db.models import F, Value
from django.http import HttpRequest, HttpResponse
from django.utils.functional import cached_property
from django.utils.html import format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from unfold.widgets import UnfoldAdminRadioSelectWidget

from campaigns.planning.campaign import Campaign
from campaigns.runs.run import Run
from campaigns.triggers.automation import Automation
from notifications.admin.ui import used_by
from notifications.admin.ui.dialogs import Dialog, ask, close_dialog
from notifications.admin.ui.keyset import PlainChangeList
from notifications.admin.ui.page import Page, page_url
from notifications.admin.ui.unfolded import ModelForm, action, display
from notifications.people.consent.category import CAPS, Category
from notifications.people.consent.eligibility import out_of_marketing
from notifications.postgres.budget import TooSlow, statement_timeout
from notifications.staff import changes

# --- The dialog that changes the kind -------------------------------------------------------------

KINDS = {
    Category.Kind.MARKETING: gettext_lazy(
        "Goes to people who are subscribed and did not decline this category."
    ),
    Category.Kind.TRANSACTIONAL: gettext_lazy(
        "Goes to everyone who is not suppressed, subscribed or not: receipts, deliveries "
        "and other things they asked for."
    ),
    Category.Kind.CRITICAL: gettext_lazy(
        "Goes to the same people as transactional, in quiet hours too: alarms and other messages "
        "that cannot wait."
    ),
}


def choices() -> list[tuple[str, str]]:
    return [(kind.value, f"{kind.label}: {meaning}") for kind, meaning in KINDS.items()]


class KindDialog(Dialog):
    template = "admin/campaigns/category/change_kind.html"

    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=choices, widget=UnfoldAdminRadioSelectWidget
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["kind"].initial = self.category.kind

    def clean_kind(self) -> str:
        chosen: str = self.cleaned_data["kind"]
        if chosen != Category.Kind.MARKETING and self.category.has_caps:
            text = _(
                "It has caps of its own, and only a marketing category does. Empty them first."
            )
            raise forms.ValidationError(text)
        return chosen

    @cached_property
    def category(self) -> Category:
        return Category.objects.select_related("project").get(pk=self.object_id or 0)

    @property
    def danger(self) -> bool:
        return self._widens

    @property
    def _widens(self) -> bool:
        return self.category.kind == Category.Kind.MARKETING

    def context(self) -> dict[str, Any]:
        out = out_of_marketing(self.category) if self._widens else 0
        return {"category": self.category, "widens": self._widens, "out": out}

    def write(self) -> dict[str, Any]:
        """Save the kind; return what changed. If the process dies here: all of it, or nothing."""
        with transaction.atomic():
            category = Category.objects.select_for_update().get(pk=self.category.pk)
            before = changes.values_of(category)
            category.kind = self.cleaned_data["kind"]
            category.save(update_fields=["kind"])
        return changes.between(before, category)


# --- Pages ----------------------------------------------------------------------------------------

ASKED = ["project", "name", "slug", "kind", "quiet_hours", "caps", *CAPS]
COUNTING_SECONDS = 1.0
MAX_USERS = 10
# Uses the index of people with answers: most have none.
DECLINED = """
SELECT said.key, count(*) FROM notifications_contact c, jsonb_each(c.preferences) said
WHERE c.project_id = %s AND NOT (c.preferences = '{}'::jsonb) AND said.value ->> 'wanted' = 'false'
GROUP BY said.key
"""


def declined(project_id: int) -> dict[str, int] | None:
    """How many people declined, by category; None if counting takes too long."""
    try:
        with statement_timeout(seconds=COUNTING_SECONDS), connection.cursor() as cursor:
            cursor.execute(DECLINED, [project_id])
            return dict(cursor.fetchall())
    except TooSlow:
        return None


def _in_words(counts: dict[str, int] | None, category: Category) -> str:
    if counts is None:
        return _("too many to count")
    count = counts.get(category.slug, 0)
    text = ngettext("%(count)s person", "%(count)s people", count)
    return text % {"count": f"{count:,}"} if count else "–"


class CategoryList(PlainChangeList):
    """A list that counts opt-outs once for the whole page."""

    def get_results(self, request: HttpRequest) -> None:
        super().get_results(request)
        rows: list[Any] = list(self.result_list)
        counts = {project: declined(project) for project in {row.project_id for row in rows}}
        for row in rows:
            row.declined = _in_words(counts[row.project_id], row)
        self.result_list = rows


class CategoryForm(ModelForm):
    kind = forms.ChoiceField(
        label=gettext_lazy("Kind"),
        choices=choices,
        initial=Category.Kind.MARKETING,
        widget=UnfoldAdminRadioSelectWidget,
        help_text=gettext_lazy("Runs already launched keep the kind they were launched with."),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for name in ("quiet_hours", "caps"):
            self.fields[name].required = False  # a tab may be older than this field

    def clean_quiet_hours(self) -> str:
        chosen: str = self.cleaned_data["quiet_hours"]
        return chosen or self.instance.quiet_hours

    def clean_caps(self) -> str:
        chosen: str = self.cleaned_data["caps"]
        return chosen or self.instance.caps

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = super().clean() or self.cleaned_data
        for name in CAPS:
            if name not in self.data:  # an old tab lacks it, too
                values[name] = getattr(self.instance, name)
        return values

    class Meta:
        model = Category
        fields = ASKED
        labels = {"slug": gettext_lazy("Short name")}
        help_texts = {
            "name": gettext_lazy("A name that people understand, such as “Offers”."),
            "slug": gettext_lazy(
                "The name your app and imports use, such as offers. It cannot be changed later."
            ),
        }


@admin.register(Category)
class CategoryPage(Page):
    form = CategoryForm
    list_display = ["name", "short_name", "is_kind", "goes_to", "said_no", "used"]
    search_fields = ["name", "slug"]
    search_help_text = gettext_lazy("Name or short name")
    list_select_related = ["project"]
    actions_detail = ["change_kind"]
    goes_along = gettext_lazy(
        "People's choices are kept, and apply again if a category with the same short name "
        "is created."
    )
    empty_text = gettext_lazy(
        "Without categories, people can only get all messages or none. Add “Offers” or "
        "“Product news”, and they can decline one of them."
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        counts = {
            "campaign_count": used_by.count_of(Campaign.objects, "category"),
            "automation_count": used_by.count_of(Automation.objects, "category"),
        }
        categories = super().get_queryset(request).annotate(**counts)
        return categories.annotate(user_count=sum(map(F, counts), Value(0)))

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[CategoryList]:
        return CategoryList

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return [*ASKED, "said_no", "users"] if obj else ASKED

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        return ["slug", "kind", "said_no", "users"] if obj else []

    @action(
        description=gettext_lazy("Change the kind …"),
        icon="swap_horiz",
        permissions=["change"],
        dialog=ask(
            gettext_lazy("Change whom this category reaches?"),
            form=KindDialog,
            button=gettext_lazy("Change the kind"),
        ),
    )
    def change_kind(self, request: HttpRequest, form: KindDialog, object_id: str) -> HttpResponse:
        with transaction.atomic():
            changed = form.write()
            if changed:
                self.record(request, "changed", form.category, changes=changed)
        text = _("The kind is changed.") if changed else _("Nothing was changed.")
        return close_dialog(request, text, to=page_url(form.category))

    def get_prepopulated_fields(self, request: HttpRequest, obj: Any = None) -> dict[str, Any]:
        return {} if obj else {"slug": ["name"]}

    @display(description=gettext_lazy("short name"), ordering="slug")
    def short_name(self, obj: Category) -> str:
        return obj.slug

    @display(
        description=gettext_lazy("kind"),
        label={"marketing": "info", "transactional": "success", "critical": "warning"},
    )
    def is_kind(self, obj: Category) -> tuple[str, str]:
        return obj.kind, str(obj.get_kind_display())

    @display(description=gettext_lazy("goes to"))
    def goes_to(self, obj: Category) -> str:
        return str(KINDS[Category.Kind(obj.kind)])

    @display(description=gettext_lazy("declined by"))
    def said_no(self, obj: Any) -> str:
        """How many people declined. The list has counted all rows at once."""
        text: str | None = getattr(obj, "declined", None)
        return _in_words(declined(obj.project_id), obj) if text is None else text

    @display(description=gettext_lazy("used by"), ordering="user_count")
    def used(self, obj: Any) -> str:
        return used_by.in_words(obj.campaign_count, automations=obj.automation_count)

    @display(description=gettext_lazy("used by"))
    def users(self, obj: Category) -> SafeString | str:
        newest = (rows.order_by("-pk")[:MAX_USERS] for rows in (obj.campaigns, obj.automations))
        pairs = [(page_url(user), user) for group in newest for user in group][:MAX_USERS]
        links = format_html_join(", ", '<a class="c-link" href="{}">{}</a>', pairs)
        return links or "–"

    def used_by(self, obj: Category) -> list[str]:
        names = [_("the campaign “%(name)s”") % {"name": user} for user in obj.campaigns.all()]
        names += [_("the automation “%(name)s”") % {"name": user} for user in obj.automations.all()]
        runs = [
            (_("rehearsal %(number)d") if run.is_rehearsal else _("run %(number)d"))
            % {"number": run.pk}
            for run in Run.kept.filter(category=obj)[:MAX_USERS]
        ]
        return [*names, *runs][:MAX_USERS]
