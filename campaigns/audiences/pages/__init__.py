"""The pages of audiences, with the rule builder."""
