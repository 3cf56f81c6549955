"""Django middleware: sessions, languages, projects, rate limits, headers and error pages."""
