"""Echo: what phones report of what was sent to them, kept as it comes and summed up with it.

The doors for receipts and the engine enter.
"""
