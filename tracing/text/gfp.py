"""show_gfp_flags() as the `format` files of 6.1 spell it.  include/linux/gfp_types.h, trace/events/mmflags.h.

The composed flags are written as the preprocessor leaves them, so their nesting is that of the header's macros.
"""

from __future__ import annotations

import re
from functools import cache


def _bit(mask: str) -> str:
    return f"(( gfp_t){mask})"


_RECLAIM = _bit("(0x400u|0x800u)")
_IO, _FS, _HARDWALL, _HIGHMEM, _MOVABLE = (_bit(m) for m in ("0x40u", "0x80u", "0x100000u", "0x02u", "0x08u"))
_DIRECT, _KSWAPD, _ACCOUNT, _COMP = (_bit(m) for m in ("0x400u", "0x800u", "0x400000u", "0x40000u"))
_NOMEMALLOC, _NOWARN, _NONE = (_bit(m) for m in ("0x80000u", "0x2000u", "0"))
_GFP_USER = f"({_RECLAIM} | {_IO} | {_FS} | {_HARDWALL})"
_GFP_KERNEL = f"({_RECLAIM} | {_IO} | {_FS})"
_GFP_HIGHUSER = f"({_GFP_USER} | {_HIGHMEM})"
_GFP_HIGHUSER_MOVABLE = f"({_GFP_HIGHUSER} | {_MOVABLE} | {_NONE} | {_NONE})"
_GFP_LIGHT = f"(({_GFP_HIGHUSER_MOVABLE} | {_COMP} | {_NOMEMALLOC} | {_NOWARN}) & ~{_RECLAIM})"

GFP_FLAG_NAMES: tuple[tuple[str, str], ...] = (
    (f"({_GFP_LIGHT} | {_DIRECT})", "GFP_TRANSHUGE"),
    (_GFP_LIGHT, "GFP_TRANSHUGE_LIGHT"),
    (_GFP_HIGHUSER_MOVABLE, "GFP_HIGHUSER_MOVABLE"),
    (_GFP_HIGHUSER, "GFP_HIGHUSER"),
    (_GFP_USER, "GFP_USER"),
    (f"({_GFP_KERNEL} | {_ACCOUNT})", "GFP_KERNEL_ACCOUNT"),
    (_GFP_KERNEL, "GFP_KERNEL"),
    (f"({_RECLAIM} | {_IO})", "GFP_NOFS"),
    ("((( gfp_t)0x20u)|(( gfp_t)0x200u)|(( gfp_t)0x800u))", "GFP_ATOMIC"),
    (f"({_RECLAIM})", "GFP_NOIO"),
    (f"({_KSWAPD})", "GFP_NOWAIT"),
    (_bit("0x01u"), "GFP_DMA"),
    (_HIGHMEM, "__GFP_HIGHMEM"),
    (_bit("0x04u"), "GFP_DMA32"),
    (_bit("0x20u"), "__GFP_HIGH"),
    (_bit("0x200u"), "__GFP_ATOMIC"),
    (_IO, "__GFP_IO"),
    (_FS, "__GFP_FS"),
    (_NOWARN, "__GFP_NOWARN"),
    (_bit("0x4000u"), "__GFP_RETRY_MAYFAIL"),
    (_bit("0x8000u"), "__GFP_NOFAIL"),
    (_bit("0x10000u"), "__GFP_NORETRY"),
    (_COMP, "__GFP_COMP"),
    (_bit("0x100u"), "__GFP_ZERO"),
    (_NOMEMALLOC, "__GFP_NOMEMALLOC"),
    (_bit("0x20000u"), "__GFP_MEMALLOC"),
    (_HARDWALL, "__GFP_HARDWALL"),
    (_bit("0x200000u"), "__GFP_THISNODE"),
    (_bit("0x10u"), "__GFP_RECLAIMABLE"),
    (_MOVABLE, "__GFP_MOVABLE"),
    (_ACCOUNT, "__GFP_ACCOUNT"),
    (_bit("0x1000u"), "__GFP_WRITE"),
    (_RECLAIM, "__GFP_RECLAIM"),
    (_DIRECT, "__GFP_DIRECT_RECLAIM"),
    (_KSWAPD, "__GFP_KSWAPD_RECLAIM"),
    (_bit("0x800000u"), "__GFP_ZEROTAGS"),
)
SHOW_GFP_FLAGS = (
    '(flags) ? __print_flags(flags, "|", '
    + ", ".join(f'{{( unsigned long){value}, "{name}"}}' for value, name in GFP_FLAG_NAMES)
    + ' ) : "none"'
)

# Linux 4.1: the flags' own order and names (written from knowledge of that header, not recorded).
_GFP_4_1 = (
    (0x2C2DA, "GFP_TRANSHUGE"), (0x200DA, "GFP_HIGHUSER_MOVABLE"), (0x200D2, "GFP_HIGHUSER"), (0x200D0, "GFP_USER"),
    (0x80D0, "GFP_TEMPORARY"), (0xD0, "GFP_KERNEL"), (0x50, "GFP_NOFS"), (0x20, "GFP_ATOMIC"), (0x10, "GFP_NOIO"),
    (0x20, "GFP_HIGH"), (0x10, "GFP_WAIT"), (0x40, "GFP_IO"), (0x100, "GFP_COLD"), (0x200, "GFP_NOWARN"),
    (0x400, "GFP_REPEAT"), (0x800, "GFP_NOFAIL"), (0x1000, "GFP_NORETRY"), (0x4000, "GFP_COMP"), (0x8000, "GFP_ZERO"),
    (0x10000, "GFP_NOMEMALLOC"), (0x2000, "GFP_MEMALLOC"), (0x20000, "GFP_HARDWALL"), (0x40000, "GFP_THISNODE"),
    (0x80000, "GFP_RECLAIMABLE"), (0x8, "GFP_MOVABLE"), (0x200000, "GFP_NOTRACK"), (0x400000, "GFP_NO_KSWAPD"),
    (0x800000, "GFP_OTHER_NODE"),
)  # fmt: skip
SHOW_GFP_FLAGS_4_1 = (
    '(flags) ? __print_flags(flags, "|", '
    + ", ".join(f'{{(unsigned long){value:#x}, "{name}"}}' for value, name in _GFP_4_1)
    + ' ) : "GFP_NOWAIT"'
)


@cache
def _gfp_masks() -> tuple[tuple[int, str], ...]:
    masks = []
    for text, name in GFP_FLAG_NAMES:
        plain = re.sub(r"\(\s*gfp_t\s*\)", "", text)
        plain = re.sub(r"\b(0x[0-9a-fA-F]+|[0-9]+)u\b", r"\1", plain)
        masks.append((int(eval(plain, {"__builtins__": {}})), name))
    return tuple(masks)


def gfp_flag_names(flags: int) -> str:
    """`GFP_KERNEL|__GFP_ZERO`, as __print_flags() of these names gives it; lib/vsprintf.c and trace_output.c."""
    names = []
    for mask, name in _gfp_masks():
        if mask and flags & mask == mask:
            flags &= ~mask
            names.append(name)
    if flags:
        names.append(f"0x{flags:x}")
    return "|".join(names)
