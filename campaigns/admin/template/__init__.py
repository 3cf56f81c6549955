"""The pages of templates. No other page enters."""
