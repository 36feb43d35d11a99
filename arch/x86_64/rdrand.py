"""A CPU without rdrand and rdseed, whose numbers would be the host's and differ in every run.

The emulator has neither a hook for them nor a model of a CPU that has all but them.  Programs find no rdrand in cpuid then, and
take getrandom(2).
"""

from __future__ import annotations

import struct

from arch.emulatorstate import Ability

_EDX, _ECX, _EBX = 0x078BFBFD, 0xC6D82203, 0x389  # FEAT_1_EDX, FEAT_1_ECX and FEAT_7_0_EBX of the emulator's Haswell
_RDRAND = 1 << 30  # CPUID_EXT_RDRAND; it stands for rdseed, too
_WORDS = struct.Struct("<3Q")

RANDOM_NUMBERS = Ability(_WORDS.pack(_EDX, _ECX, _EBX), _WORDS.pack(_EDX, _ECX & ~_RDRAND, _EBX))
