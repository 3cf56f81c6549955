"""Words: explains on the project's page why FCM gave no figures, and what to do."""

from __future__ import annotations

from django.utils.translation import gettext, gettext_lazy

from notifications.fcm_data.day import Asking, Trouble

FIXES = {
    Trouble.KEY: gettext_lazy("The project's key gives no token. Set a key, or check it."),
    Trouble.OFF: gettext_lazy(
        "The Firebase Cloud Messaging Data API is switched off in {project}. Enable it at "
        "https://console.cloud.google.com/apis/library/fcmdata.googleapis.com?project={project} "
        "and wait a few minutes."
    ),
    Trouble.SCOPE: gettext_lazy(
        "These credentials may not read figures: they lack the scope “cloud-platform”. On Google "
        "Cloud, give the machine that scope, or upload a key."
    ),
    Trouble.ROLE: gettext_lazy(
        "The key may not read figures of {project}: its account lacks the permission "
        "fcmdata.deliverydata.list. Give it the role “Firebase Cloud Messaging API Admin” there."
    ),
    Trouble.TOKEN: gettext_lazy("Google refuses the token that this key got. Make a new key."),
    Trouble.APP: gettext_lazy(
        "Google knows no Android app of this ID in {project}. Copy it from the Firebase console → "
        "Project settings → Your apps."
    ),
    Trouble.BUSY: gettext_lazy("Google has a problem of its own. It is asked again in an hour."),
    Trouble.UNREACHABLE: gettext_lazy(
        "Google could not be reached. Check this machine's network; it is asked again in an hour."
    ),
    Trouble.UNREADABLE: gettext_lazy(
        "What answered is not FCM's Data API: perhaps a proxy. It is asked again tomorrow."
    ),
}


def fix(asking: Asking, *, firebase_project_id: str) -> str:
    """Say what to do about the last error. Empty: the last request succeeded."""
    if not asking.trouble:
        return ""
    words = str(FIXES[Trouble(asking.trouble)]).format(project=firebase_project_id)
    text = gettext("Google said: %(text)s") % {"text": asking.said} if asking.said else ""
    return f"{words} {text}".strip()
