"""The pages of snippets. No other page enters."""
