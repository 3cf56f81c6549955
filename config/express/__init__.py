"""Single messages on a short way: without the framework, and many of them in one statement.

Only what is accepted is answered here. `config/asgi.py` enters.
"""
