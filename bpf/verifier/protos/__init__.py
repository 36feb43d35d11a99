"""Which helper a program may call, with which prototype and which maps."""
