"""A file of holidays."""

from __future__ import annotations

FILE = (
    "BEGIN:VCALENDAR\r\nBEGIN:VEVENT\r\nSUMMARY:Chuseok\r\nDTSTART;VALUE=DATE:20311001\r\n"
    "DTEND;VALUE=DATE:20311003\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n"
)
