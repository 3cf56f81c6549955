"""Runs to millions of people that are not sent: freezing one, and opening its pages."""
