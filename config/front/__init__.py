"""What stands between the network and Django: it waits for slow callers, and no thread does.

A request is read whole, within a time and a size, before a thread takes it; an answer is sent while
the thread takes the next one. Whoever is slow costs a socket. `config/asgi.py` enters, and the
stack for `command.py`, which says how the server is started.
"""
