"""Load: how busy the project's own servers say they are, and how fast that lets us send.

The addresses of the API enter.
"""
