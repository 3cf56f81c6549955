"""Help while writing a text: variables, previews, problems and their fields."""
