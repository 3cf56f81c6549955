"""Campaigns, their schedules, and what to know before a launch."""
