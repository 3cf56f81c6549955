"""Processes kept alive: how each starts and leaves, under which account, where it logs.

The stack and its servers enter.
"""
