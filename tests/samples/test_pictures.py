"""Heat maps, histograms, and the numbers that the C sources take from generated or hand-written headers."""

import re
import struct
import zlib

import pytest

from arch.abi.version import KernelVersion
from arch.architecture import get, names
from samples import heatmap, layouts
from samples.histogram import histogram
from samples.tool import HERE


def test_levels_are_twelfths_of_the_largest_count():
    assert heatmap.levels([0, 1, 5, 10, 11]) == [0, 1, 5, 10, 11]
    assert heatmap.levels([0, 0]) == [0, 0]
    assert heatmap.levels([7]) == [10]
    assert heatmap.levels([]) == []


def test_rows_with_and_without_colour():
    assert heatmap.row([0, 11], colour=False) == " #"
    assert heatmap.row([0, 11]) == "\x1b[48;5;255m \x1b[00m\x1b[48;5;232m \x1b[00m"
    assert len(heatmap.SYMBOLS) == len(heatmap.SHADES) == 12


def read_png(data):
    """Pixels of an 8-bit grayscale picture without row filters, every checksum looked at."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, {}
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + size]
        assert zlib.crc32(kind + body) == int.from_bytes(data[at + 8 + size : at + 12 + size], "big")
        chunks[kind] = body
        at += 12 + size
    assert list(chunks) == [b"IHDR", b"IDAT", b"IEND"]
    width, height, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
    assert rest == [8, 0, 0, 0, 0]
    lines = zlib.decompress(chunks[b"IDAT"])
    rows = [lines[y * (width + 1) : (y + 1) * (width + 1)] for y in range(height)]
    assert all(row[0] == 0 for row in rows)
    return [list(row[1:]) for row in rows]


def test_a_picture_has_a_square_for_each_cell():
    pixels = read_png(heatmap.png([[0, 11, 0], [3, 0, 0]]))
    assert (len(pixels), len(pixels[0])) == (16, 24)
    assert [pixels[0][8 * i] for i in range(3)] == [238, 8, 238]
    assert pixels[8][0] < pixels[8][8]  # darker where there is more
    assert all(row == pixels[0] for row in pixels[:8])


def test_histogram_rows():
    text = histogram([1, 0, 38] + [0] * 61, "title")
    assert text.splitlines() == [
        "           title",
        "     byte_size       : count     distribution",
        "       1 -> 1        : 1        |                                      |",
        "       2 -> 3        : 0        |                                      |",
        "       4 -> 7        : 38       |************************************* |",
    ]
    assert histogram([0] * 64, "t").count("\n") == 2


def test_members_of_kernel_structures():
    assert layouts.HEADER.read_text() == layouts.text()


@pytest.mark.parametrize("arch", names())
def test_registers_in_the_header(arch):
    header = (HERE / "include" / "bpf.h").read_text()
    block = header.split(f"defined(TARGET_{arch})\nenum {{")[1].split("#el")[0]
    numbers = {name: int(value) for name, value in re.findall(r"(\w+) = (-?\d+)", block)}
    link = re.search(r"#define LINK (\d+)", block)
    facts = get(arch)
    for version in (KernelVersion.parse("4.1"), KernelVersion.parse("6.1")):
        layout = facts.pt_regs_for(version)
        assert [numbers[f"ARG{n}"] for n in (1, 2, 3)] == [layout.offset(name) for name in facts.function_args[:3]]
        fields = {"RESULT": facts.return_value, "IP": facts.instruction_pointer, "SP": facts.stack_pointer}
        for name, field in (fields | {"FP": facts.frame_pointer}).items():
            assert numbers[name] == layout.offset(field), name
        assert (int(link[1]) if link else None) == (facts.link_register and layout.offset(facts.link_register))
    assert numbers["FRAME_RETURN"] == facts.support.frames.return_address
