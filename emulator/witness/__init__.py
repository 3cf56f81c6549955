"""What happened: counted, written down for each accepted message, and shown on phones.

Doors, speakers and the emulator's own processes enter.
"""
