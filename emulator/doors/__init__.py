"""The endpoints: FCM, tokens, and the emulator's own console."""
