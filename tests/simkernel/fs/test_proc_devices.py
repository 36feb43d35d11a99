"""Files of /proc that other parts of the kernel fill: what the disk, the interrupts and the softirqs have counted."""

import simkernel


def read(machine, name: str) -> str:
    return machine.session.read_file(f"/proc/{name}").decode()


def test_partitions(written):
    assert read(written, "partitions") == "major minor  #blocks  name\n\n 254        0      65536 vda\n"


def test_diskstats_agrees_with_the_disk(written):
    line = read(written, "diskstats")
    assert line.startswith(" 254       0 vda ") and line.endswith("\n")
    numbers = [int(field) for field in line.split()[3:]]
    assert len(numbers) == 17
    block = written.kernel.block
    assert numbers[0] + numbers[4] == len(block.latencies_ns) > 0
    assert (numbers[2] * 512, numbers[6] * 512) == (block.bytes_read, block.bytes_written)
    assert numbers[6] >= 16
    assert numbers[8] == 0
    assert numbers[9] == sum(block.latencies_ns) // 1_000_000  # one request at a time: busy as long as they took


def test_older_diskstats_have_fewer_fields():
    assert len(read(simkernel.boot(kernel="4.4"), "diskstats").split()) == 14


def test_devices_name_the_driver(written):
    assert read(written, "devices").endswith("\nBlock devices:\n254 virtblk\n259 blkext\n")


def test_interrupts_of_the_disk(written):
    head, *lines = read(written, "interrupts").splitlines()
    assert head == "           CPU0       CPU1       "
    (line,) = [line for line in lines if line.endswith("  vda")]
    number, *counts = line.split()[:3]
    assert number == "10:" and sum(map(int, counts)) == len(written.kernel.block.latencies_ns)


def test_interrupts_of_the_cpus(written):
    """The rows of Debian's 5.10 and 6.1; the timers of the CPUs are counted."""
    written.kernel.hrtimers.interrupts[1] += 7
    rows = read(written, "interrupts").splitlines()[3:]
    assert [row[:4] for row in rows] == [
        "NMI:", "LOC:", "SPU:", "PMI:", "IWI:", "RTR:", "RES:", "CAL:", "TLB:", "TRM:", "THR:", "DFR:", "MCE:", "MCP:", "ERR:",
        "MIS:", "PIN:", "NPI:", "PIW:",
    ]  # fmt: skip
    first, second = written.kernel.hrtimers.interrupts
    assert rows[1] == f"LOC: {first:10d} {second:10d}   Local timer interrupts" and second >= 7
    assert rows[14] == "ERR:          0"


def test_softirqs(written):
    head, *lines = read(written, "softirqs").splitlines()
    assert head == "                    CPU0       CPU1       "
    assert [line.split(":")[0] for line in lines] == [
        "          HI", "       TIMER", "      NET_TX", "      NET_RX", "       BLOCK", "    IRQ_POLL", "     TASKLET",
        "       SCHED", "     HRTIMER", "         RCU",
    ]  # fmt: skip
    assert all(len(line) == 13 + 2 * 11 for line in lines)


def test_stat_sums_up_interrupts_and_softirqs(written):
    """The lines of devices by number, the CPUs' own timers in the sum only; softirqs as /proc/softirqs has them."""
    rows = {words[0]: [int(word) for word in words[1:]] for words in map(str.split, read(written, "stat").splitlines())}
    total, *lines = rows["intr"]
    listed = [line.split() for line in read(written, "interrupts").splitlines()[1:] if line.lstrip()[0].isdigit()]
    assert {int(words[0].rstrip(":")): sum(map(int, words[1:3])) for words in listed} == {10: lines[10], 11: lines[11]}
    assert total == sum(lines) + sum(written.kernel.hrtimers.interrupts) > 0
    soft, *vectors = rows["softirq"]
    assert vectors == [sum(map(int, line.split()[1:])) for line in read(written, "softirqs").splitlines()[1:]]
    assert soft == sum(vectors)
