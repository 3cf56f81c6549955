"""How a push reaches a device: people, devices, the gateway to FCM, pacing and keys."""
