"""What people read at the end of a run."""

from __future__ import annotations

from simkernel.cli import present


def test_a_log2_histogram_has_one_row_per_power_of_two() -> None:
    assert present.log2_histogram([1, 0, 4, 2]) == (
        "         value           : count    distribution\n"
        "         0 -> 1          : 1        |**********                              |\n"
        "         2 -> 3          : 0        |                                        |\n"
        "         4 -> 7          : 4        |****************************************|\n"
        "         8 -> 15         : 2        |********************                    |\n"
    )


def test_nothing_counted_is_said() -> None:
    assert present.map_text("write_hist", [(0, 0), (1, 0)]) == "write_hist:\n  (empty)\n"
    assert present.map_text("counts", []) == "counts:\n  (empty)\n"


def test_structs_and_strings_are_typed() -> None:
    entries = [({"pid": 7, "comm": b"cat\0\0\0"}, 3), ({"pid": 8, "comm": b"\x01\x02"}, [1, 2])]
    assert present.map_text("by_task", entries) == (
        'by_task:\n  {pid: 7, comm: "cat"}: 3\n  {pid: 8, comm: 01 02}: [1, 2]\n'
    )


def test_a_struct_with_slots_is_a_histogram() -> None:
    text = present.map_text("start", [(5, {"slots": [0, 2], "comm": b"dd\0"})])
    assert text.splitlines()[1] == '  5 {comm: "dd"}'
    assert text.splitlines()[-1] == "         2 -> 3          : 2        |****************************************|"


def test_columns_align() -> None:
    assert present.table([("read", 3), ("getppid", 120)], ("call", "count")) == (
        "call     count\nread         3\ngetppid    120\n"
    )
