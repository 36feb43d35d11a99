"""The verifier of kernels before 4.9, exact to the byte for 4.1."""
