"""How it is doing: told to machines, at addresses and in numbers of their own.

`config/asgi.py`, the settings and config's pages enter.
"""
