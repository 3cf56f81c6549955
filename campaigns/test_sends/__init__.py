"""Test sends: a text on a few real devices before it goes to many.

A test send is rendered, checked and paced like a campaign, but it has rows of its own: no run knows
of it, so no result counts it.
"""
