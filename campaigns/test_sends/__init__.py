"""Test sends: a text on real phones before it goes to many. The corridor of a campaign (its
rendering, its rules, its gateway and pace), and none of its rows: no run knows of them, so nothing
that is counted from runs can count them.

Control and tasks enter: a door asks, a worker sends.
"""
