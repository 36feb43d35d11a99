"""The vDSO's image is what dynamic linkers look for: found by hash, with the version of its symbols."""

import struct

import pytest

from arch import architecture
from arch.text import vdso_image
from arch.vdso import DT_HASH, DT_STRTAB, DT_SYMTAB, DT_VERDEF, DT_VERSYM, EHDR_SIZE, PHDR_SIZE, SYM_SIZE, elf_hash

LIBRARIES = [name for name in architecture.names() if architecture.get(name).support.text.shared is not None]


def text_at(page, at):
    return page[at : page.index(b"\0", at)].decode()


@pytest.mark.parametrize("name", LIBRARIES)
def test_each_function_is_found_as_a_linker_finds_it(name):
    arch = architecture.get(name)
    facts, page = arch.support.text.shared, vdso_image(arch).page
    e = "<" if arch.byteorder == "little" else ">"
    at = struct.unpack_from(e + "2I6Q", page, EHDR_SIZE + PHDR_SIZE)[2]
    dynamic = dict(struct.unpack_from(e + "2Q", page, at + 16 * n) for n in range(9))
    word = "I" if facts.hash_word == 4 else "Q"
    buckets, _ = struct.unpack_from(f"{e}2{word}", page, dynamic[DT_HASH])

    def entry(n):
        return struct.unpack_from(e + word, page, dynamic[DT_HASH] + (2 + n) * facts.hash_word)[0]

    def look_up(wanted):
        index = entry(elf_hash(wanted.encode()) % buckets)
        while index:
            name_at, info, _, _, value, size = struct.unpack_from(
                e + "IBBHQQ", page, dynamic[DT_SYMTAB] + index * SYM_SIZE
            )
            if text_at(page, dynamic[DT_STRTAB] + name_at) == wanted:
                return index, info >> 4, value, size
            index = entry(buckets + index)
        raise AssertionError(wanted)

    numbers = arch.syscall_abis[0].numbers
    for symbol, call in facts.functions:
        index, binding, value, size = look_up(symbol)
        code = facts.call(numbers[call])
        assert (binding, page[value : value + size]) == (1, code)
        assert struct.unpack_from(e + "H", page, dynamic[DT_VERSYM] + 2 * index) == (2,)
    for other, symbol in facts.weak:
        assert look_up(other)[1:3] == (2, look_up(symbol)[2])
    second = struct.unpack_from(e + "4H3I", page, dynamic[DT_VERDEF] + 28)
    assert second[4] == elf_hash(facts.version.encode())


def test_a_page_without_a_library_is_the_way_back_from_signals():
    i386 = architecture.get("i386")
    image = vdso_image(i386)
    assert image.trampoline == 0
    assert image.page.startswith(i386.support.text.vdso)
