"""A template's texts in the API, as files for translators. The list of addresses enters."""
