"""What the verifier knows: tracked numbers, bounds, registers, stack slots, states."""
