"""Text, exact JSON, languages, time zones, times: values without a table."""
