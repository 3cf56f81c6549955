"""Receipts and FCM's own figures, as parts of a project's page."""
