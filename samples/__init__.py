"""Sample programs: C sources and committed objects of BPF programs, guest programs, and tools in Python around them.

    python -m samples.v41.tracex2 --arch arm64        the samples of Linux 4.1, on kernel 4.1
    python -m samples.rfc2015.tracex3                 those of January 2015, on kernel 3.20-rfc

docs/samples.md shows each with what one sees.
"""
