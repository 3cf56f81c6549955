"""English words on a page that should have none."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

HEARD = {"aria-label", "title", "placeholder", "alt", "aria-valuetext", "aria-description"}


# Names and what an engineer types; everything else on a page is a sentence or a label.
NAMES = re.compile(
    r"(?:cdn\.|\*\.)?example\.com|docs/\w+\.md|"
    r"Order Completed|"
    r"Firebase( Cloud Messaging)?( API)?( Admin)?|Google Cloud|Google Authenticator|FCM|APNs|API|"
    r"car_[\w-]{8}…?|"
    r"Kotlin|Swift|Slack(: Apps)?|Incoming Webhooks?|"
    r"Shift-JIS|Windows-125\d|JSON|CSV|Redis|PostgreSQL|Prometheus|Flower|Carillon|English|Android|iOS|UTC|Asia/\w+|[Bb]eat\b|"
    r"(?:attributes|notifications|campaigns)\.\w+|[a-z]+_[a-z_]+|https?\S*|\{\{?[^}]*\}\}?|"
    r"APA91b|Aegis|1Password|\bID\b|\bURL\b|QR|manage\.py \w+|user:\w+|\w+@[\w.]+|run \d+|"
    r"all / any / not|all, any, not|field, op, value|"
    r"shop, spring|Ctrl|Enter|Esc|Single Sign-On|Seoul|android|ios|pt-BR|"
    r"\b(?:en|ko|de)\b|contacts, audiences, templates, runs, launch"
)


WORDS = re.compile(r"[A-Za-z][a-z’']+(?:[ ,.:]+[A-Za-z’']+)+|\b[A-Z][a-z]{2,}\b")


SYMBOLS = "material-symbols-outlined"


# Typed or chosen by people, or shown as a computer says it.
QUOTED = {"code", "pre", "script", "style", "textarea", "datalist", "template"}


class Read(HTMLParser):
    """What a reader sees and a screen reader says, in pieces."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.inside: list[tuple[str, bool]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = {name: value or "" for name, value in attrs}
        quoted = tag in QUOTED - {"template"} or SYMBOLS in given.get("class", "")
        if tag not in {"input", "br", "img", "link", "meta", "hr", "path", "polyline", "polygon"}:
            self.inside.append((tag, quoted or given.get("lang") == "en"))
        self.said += [value for name, value in given.items() if name in HEARD]

    def handle_endtag(self, tag: str) -> None:
        while self.inside and self.inside.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not any(quoted for _, quoted in self.inside):
            self.said.append(data)


def english_on(html: str) -> list[str]:
    found = []
    for piece in Read(html).said:
        rest = NAMES.sub(" ", " ".join(piece.split()))
        found += [words for words in WORDS.findall(rest) if not words.startswith("U0")]
    return found
