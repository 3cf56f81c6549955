"""Alerts for programs: read, and acknowledged. The API's addresses enter."""
