"""What several architectures share: include/uapi/asm-generic of Linux."""
