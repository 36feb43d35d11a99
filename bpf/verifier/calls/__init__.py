"""Calls of helpers, kernel functions and the program's own functions."""
