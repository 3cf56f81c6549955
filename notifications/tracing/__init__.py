"""Traces: from a request, through the tasks that it rings, to FCM; OpenTelemetry's.

Everybody enters by `tracing.py`, which costs nothing where nobody asked for traces.
"""
