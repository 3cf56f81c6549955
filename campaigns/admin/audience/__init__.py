"""The pages of audiences. The pages of campaigns enter."""
