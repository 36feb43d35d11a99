"""Rows of /proc/interrupts below the lines, on x86.  arch/x86/kernel/irq.c:arch_show_interrupts()"""

from __future__ import annotations

LOCAL_TIMER_ROW = "LOC"
# (what stands in front, what is behind the CPUs' numbers); without a text: one number for all.
INTERRUPT_ROWS = (
    ("NMI", "Non-maskable interrupts"),
    (LOCAL_TIMER_ROW, "Local timer interrupts"),
    ("SPU", "Spurious interrupts"),
    ("PMI", "Performance monitoring interrupts"),
    ("IWI", "IRQ work interrupts"),
    ("RTR", "APIC ICR read retries"),
    ("RES", "Rescheduling interrupts"),
    ("CAL", "Function call interrupts"),
    ("TLB", "TLB shootdowns"),
    ("TRM", "Thermal event interrupts"),
    ("THR", "Threshold APIC interrupts"),
    ("DFR", "Deferred Error APIC interrupts"),
    ("MCE", "Machine check exceptions"),
    ("MCP", "Machine check polls"),
    ("ERR", ""),
    ("MIS", ""),
    ("PIN", "Posted-interrupt notification event"),
    ("NPI", "Nested posted-interrupt event"),
    ("PIW", "Posted-interrupt wakeup event"),
)
