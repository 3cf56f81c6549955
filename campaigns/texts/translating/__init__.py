"""Export of a template's texts for translators, and import of their translations."""
