"""The two verifiers: `classic` for kernels before 4.9, `modern` for later ones.  Mirrors kernel/bpf/verifier.c."""
