"""The endpoint that receives receipts from an app's phones."""
