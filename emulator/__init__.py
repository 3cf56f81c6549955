"""A stand-in for Firebase Cloud Messaging: a process of its own that shares no code with Carillon.

It judges requests as Google does, lets the address decide the answer (`faults/addresses.py`) or a
scripted fault (`faults/faults.py`), and keeps a witness of every accepted message. Nothing it says
comes from what the sender believes. Only its own rooms enter.
"""
