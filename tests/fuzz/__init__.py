"""Hostile input by the thousand: `python -m tests.fuzz --minutes 10`, or `make fuzz MINUTES=10`."""
