"""FCM: its message format, its limits, and what its answers mean."""
