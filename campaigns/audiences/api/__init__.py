"""The API of audiences, lists, and the rules behind them."""
