"""OpenTelemetry traces, from a request through tasks to FCM. Free if not configured."""
