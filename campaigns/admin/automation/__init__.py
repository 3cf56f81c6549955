"""The pages of automations: the list, the form with its review, its dialogs. The pages enter."""
