"""Text, exact JSON, languages, time zones, moments: values without rows."""
