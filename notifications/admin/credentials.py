"""Dialogs for a project's FCM key: upload and check one, or use the machine's own credentials.

What is typed or chosen here is never shown again, not even if the dialog refuses it.
"""

from __future__ import annotations

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from unfold.widgets import UnfoldAdminFileFieldWidget

from notifications.admin.ui.dialogs import Dialog
from notifications.admin.ui.widgets import CodeArea
from notifications.keys import credentials
from notifications.people.project import Project

KEEPS = gettext_lazy("Keep sending to the emulator")
GOOGLES = gettext_lazy(
    "This is a key of Google's, which the emulator does not take. Turn this off to send to real "
    "phones from now on, or give the emulator's key."
)


class SecretArea(CodeArea):
    """A text area for a secret. It never shows its value: a refused form comes back without it."""

    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        return super().render(name, None, attrs, renderer)


class CredentialsDialog(Dialog):
    wide = True
    file = forms.FileField(
        label=gettext_lazy("Service account (JSON file)"),
        required=False,
        # Unfold's own: its script looks for this widget's parts beside every file input.
        widget=UnfoldAdminFileFieldWidget({"accept": ".json"}),
        help_text=gettext_lazy(
            "Firebase console → Project settings → Service accounts → Generate new private "
            "key. It is encrypted before it is stored, and never shown again."
        ),
    )
    key = forms.CharField(
        label=gettext_lazy("Or its text"),
        required=False,
        widget=SecretArea(rows=6, autocomplete="off", placeholder='{"type": "service_account", …}'),
    )

    emulator = forms.BooleanField(
        label=KEEPS,
        required=False,
        initial=True,
        help_text=gettext_lazy(
            "Leave it off to send to real phones from now on, with a key of Google's. A key of "
            "the emulator sends to the emulator in any case."
        ),
    )

    def __init__(self, **values: Any) -> None:
        request = values["request"]
        # Django's own decorator sets the same: error pages then show none of the form.
        request.sensitive_post_parameters = "__ALL__"
        super().__init__(files=request.FILES or None, **values)
        project = Project.objects.filter(pk=self.object_id or 0).first()
        if project is None or not (project.may_emulate and project.uses_emulator):
            del self.fields["emulator"]  # it sends to real phones already

    def clean(self) -> dict[str, Any]:
        values: dict[str, Any] = self.cleaned_data
        field = "file" if values.get("file") else "key"
        if field in self.errors or not values.get(field):
            if not self.errors:
                self.add_error("file", _("Choose the file, or paste its text below."))
            return values
        self.project = Project.objects.get(pk=self.object_id or 0)
        try:
            self.info = credentials.parse(_read_key(values[field]))
            credentials.check(self.info, self.project)
        except ValidationError as error:
            self.add_error(field, error)
        else:
            if values.get("emulator") and credentials.is_googles(self.info):
                self.add_error("emulator", GOOGLES)
        return values


def _read_key(key: Any) -> str | bytes:
    """The key's content, read up to one byte over the limit: that is enough to refuse it."""
    if isinstance(key, str):
        return key
    content: bytes = key.read(credentials.MAX_BYTES + 1)
    return content


class MachineDialog(Dialog):
    """Turns application default credentials on or off for a project."""

    template = "admin/notifications/machine_credentials.html"
    emulator = forms.BooleanField(
        label=KEEPS,
        required=False,
        help_text=gettext_lazy("Leave it off to send to real phones from now on."),
    )

    def __init__(self, *args: Any, **values: Any) -> None:
        super().__init__(*args, **values)
        self.project = Project.objects.get(pk=self.object_id or 0)
        self.was_on = self.project.uses_default_credentials
        self.fields["emulator"].initial = self.project.uses_emulator
        if self.was_on or not self.project.may_emulate:
            del self.fields["emulator"]

    @property
    def title(self) -> str:
        if self.was_on:
            return _("Go back to the uploaded key?")
        return _("Send with this machine's own credentials?")

    @property
    def possible(self) -> bool:
        return not self.was_on or hasattr(self.project, "service_account")

    def context(self) -> dict[str, Any]:
        account = getattr(self.project, "service_account", None)
        return {"was_on": self.was_on, "account": account, "project": self.project}

    def turned(self) -> Project:
        """The project with its new settings; not saved yet."""
        self.project.uses_default_credentials = not self.was_on
        self.project.uses_emulator = self.cleaned_data.get("emulator", self.project.uses_emulator)
        return self.project
