"""The pages of uploaded images, and the dialog that puts one into a text. No other page enters."""
