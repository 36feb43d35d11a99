"""The verifier's log."""
