"""The shape of the program and the walk over its paths: control flow, jumps, arithmetic, pruning."""
