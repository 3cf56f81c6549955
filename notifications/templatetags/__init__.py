"""Tags and filters for templates."""
