"""The pages of automations: the list, the form with its review, the dialogs."""
