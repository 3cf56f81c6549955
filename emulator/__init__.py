"""A stand-in for Firebase Cloud Messaging: a process of its own that shares no code with Carillon.

It judges requests as Google does. The address decides the answer (`faults/addresses.py`), or a
scripted fault does (`faults/faults.py`). A witness records every accepted message.
"""
