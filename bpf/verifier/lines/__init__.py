"""Lines of the log that need the whole verifier: instructions with names of functions, source lines, states."""
