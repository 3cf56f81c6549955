"""Where a request comes in: FCM, the token endpoint, and the doors of the emulator itself.

The emulator's own processes enter.
"""
