"""Push notifications: people and devices, the gateway to FCM, pacing and keys."""
