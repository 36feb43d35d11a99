"""`python -m simkernel`: the command line."""

from simkernel.cli import main

main()
