"""What is wrong with a command line, in a sentence for a person."""

from __future__ import annotations


class UsageError(Exception):
    """The command line cannot be carried out."""
