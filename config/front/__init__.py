"""The server in front of Django: slow clients cost a socket, but no thread.

It reads a request whole, within a time and a size, before a thread takes it. It sends an answer
while the thread takes the next request.
"""
