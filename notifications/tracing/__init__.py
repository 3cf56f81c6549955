"""OpenTelemetry traces, from a request through tasks to FCM. They cost nothing when off."""
