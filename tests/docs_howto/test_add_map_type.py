"""docs/add-map-type.md, followed."""

import pytest

from tests.docs_howto.steps import Checkout, blocks

PAGE = "add-map-type.md"


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """The sources with the toy map type."""
    there = Checkout(tmp_path_factory.mktemp("map_type"))
    (enumerator,) = blocks(PAGE, "c")
    write_uapi, write_page = blocks(PAGE, "sh")
    there.insert("simkernel/include/bpf.h", "};\nenum bpf_prog_type {\n", enumerator)
    there.command(write_uapi)
    there.append("bpf/maps/array.py", blocks(PAGE, "py")[0])
    there.command(write_page)
    return there


def test_a_program_uses_it(checkout):
    checkout.python("-c", blocks(PAGE, "py")[1])


def test_the_page_of_map_types_shows_it(checkout):
    assert "| 36 | `TOY_MAX` | 6.1 | bpf_array | general |" in (checkout.place / "docs/bpf-tables.md").read_text()
