"""The part of a project's page on receipts and FCM's own figures."""
