"""Campaigns, their schedules and series, and how they are launched."""
