"""Every option of every platform at once, as a template may hold them."""

from __future__ import annotations

from typing import Any

ANDROID = {
    "channel_id": "offers", "priority": "normal", "tag": "offer", "collapse_key": "o",
    "click_action": "OPEN", "icon": "bell", "color": "#1A73E8", "sound": "bell.mp3",
    "ticker": "Offer", "visibility": "private", "notification_count": 3, "sticky": True,
    "local_only": True, "restricted_package_name": "com.example", "direct_boot_ok": True,
    "data": {"screen": "offers"},
}  # fmt: skip
IOS = {
    "badge": 3, "sound": "bell.caf", "mutable_content": True, "content_available": True,
    "category": "OFFER", "thread_id": "offers", "interruption_level": "time-sensitive",
    "relevance_score": 0.5, "collapse_id": "offer", "priority": 5, "data": {"screen": "offers"},
}  # fmt: skip
WEB = {
    "icon": "https://example.com/i.png", "badge": "https://example.com/b.png",
    "actions": [{"action": "open", "title": "Open", "icon": "https://example.com/o.png"}],
    "urgency": "low", "topic": "offer", "tag": "offer", "dir": "rtl", "lang": "he",
    "renotify": True, "require_interaction": True, "silent": True, "data": {"screen": "offers"},
}  # fmt: skip
EVERYTHING: dict[str, dict[str, Any]] = {"android": ANDROID, "ios": IOS, "web": WEB}
