"""Figures: how much was sent by day. Beat computes past days; today is counted live."""
