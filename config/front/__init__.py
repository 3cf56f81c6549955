"""The server in front of Django: slow clients cost a socket, and no thread.

A request is read whole, within a time and a size, before a thread takes it; an answer is sent while
the thread takes the next one.
"""
