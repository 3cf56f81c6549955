"""How a run would go, drawn on the campaign's last step. Its panels enter."""
