"""Event records as text: `print fmt` and the flag names in it."""
