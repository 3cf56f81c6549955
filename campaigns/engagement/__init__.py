"""Engagement: what phones report of messages (receipts, opens), and goals people reach."""
