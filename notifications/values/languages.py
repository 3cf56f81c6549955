"""Language tags (BCP 47): one form for pt-BR, pt_br and PT-BR, and fallback languages."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

validate_locale = RegexValidator(
    r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*\Z", _("Use a language tag such as en, ko or pt-BR.")
)
# Apps often name only the region, and in Chinese the region implies the script.
SCRIPT_OF = {"zh-TW": "zh-Hant", "zh-HK": "zh-Hant", "zh-MO": "zh-Hant"}


def canonical(tag: str) -> str:
    """Return the tag in its usual form, such as zh-Hant-TW, from any case and with - or _."""
    first, *parts = re.split("[-_]", tag)
    subtags = [first.lower()]
    for part in parts:
        extended = any(len(subtag) == 1 for subtag in subtags)  # after u or x there is no region
        subtags.append(part.lower() if extended else _cased(part))
    return "-".join(subtags)


def _cased(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.capitalize()
    return part.upper() if len(part) == 2 else part.lower()


def fallbacks(tag: str) -> Iterator[str]:
    """Yield the tag and its fallbacks: zh-Hant-TW, zh-Hant, zh; or zh-TW, zh-Hant, zh."""
    language = canonical(tag)
    while language:
        yield language
        if script := SCRIPT_OF.get(language):
            yield script
        language = language.rpartition("-")[0]
