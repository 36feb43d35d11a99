"""What is written by generators is what they write now; `python -m docs.generate` brings it up to date."""

import re

from bpf import uapi
from docs import bpf_tables
from docs import uapi as generator


def test_enumerators_are_those_of_the_header():
    header = generator.HEADER.read_text()
    for _, rows in generator.enums(header):
        for name, value in rows:
            assert getattr(uapi, name) == value
    assert generator.module(generator.MODULE.read_text(), header) == generator.MODULE.read_text()


def test_a_changed_header_changes_the_module():
    header = generator.HEADER.read_text().replace("\t__BPF_FUNC_MAX_ID,", "\tBPF_FUNC_toy,\n\t__BPF_FUNC_MAX_ID,")
    text = generator.module(generator.MODULE.read_text(), header)
    number = uapi.__dict__["__BPF_FUNC_MAX_ID"]
    assert f"\nBPF_FUNC_toy = {number}\n" in text and f"\n__BPF_FUNC_MAX_ID = {number + 1}\n" in text


def test_no_enumerator_is_stated_twice():
    names = [name for _, rows in generator.enums(generator.HEADER.read_text()) for name, _ in rows]
    text = generator.MODULE.read_text()
    assert all(len(re.findall(rf"^{name} = ", text, re.M)) == 1 for name in names)


def test_the_page_of_map_types_and_helpers_is_what_the_rows_say():
    assert bpf_tables.PAGE.read_text() == bpf_tables.page()
