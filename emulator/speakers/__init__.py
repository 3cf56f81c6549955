"""Who speaks with a client: TLS, then HTTP/1.1 or HTTP/2, over one socket each.

The emulator's own processes enter.
"""
