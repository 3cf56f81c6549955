"""Language tags (BCP 47): one form for pt-BR, pt_br and PT-BR, and what to read where it lacks."""

from __future__ import annotations

import re
from collections.abc import Iterator

from django.core.validators import RegexValidator
from django.utils.translation import gettext_lazy as _

validate_locale = RegexValidator(
    r"^[A-Za-z]{2,3}([-_][A-Za-z0-9]{1,8})*\Z", _("Use a language tag such as en, ko or pt-BR.")
)
# Apps often name only the place, and in Chinese the place stands for the script.
SCRIPT_OF = {"zh-TW": "zh-Hant", "zh-HK": "zh-Hant", "zh-MO": "zh-Hant"}


def canonical(tag: str) -> str:
    """zh-Hant-TW, whichever letters and strokes it came with."""
    first, *parts = re.split("[-_]", tag)
    written = [first.lower()]
    for part in parts:
        extended = any(len(one) == 1 for one in written)  # what follows u or x is no place
        written.append(part.lower() if extended else _cased(part))
    return "-".join(written)


def _cased(part: str) -> str:
    if len(part) == 4 and part.isalpha():
        return part.capitalize()
    return part.upper() if len(part) == 2 else part.lower()


def fallbacks(tag: str) -> Iterator[str]:
    """zh-Hant-TW, zh-Hant, zh; and zh-TW, zh-Hant, zh."""
    language = canonical(tag)
    while language:
        yield language
        if script := SCRIPT_OF.get(language):
            yield script
        language = language.rpartition("-")[0]
