"""The API of templates, snippets and translations."""
