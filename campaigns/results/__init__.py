"""What came of it: read by the doors, never by the engine."""
