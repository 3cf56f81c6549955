"""The buttons of a text: what may be one, and how it reads in a language. All texts may enter."""
