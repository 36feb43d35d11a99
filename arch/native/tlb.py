"""TLB misses, and the count of work: what runs while user code runs."""

from __future__ import annotations

from arch.abi.ldt import LDT_PAGES
from arch.native.block import (
    LOCKUP_BLOCKS,
    UC_MEM_FETCH,
    UC_MEM_READ,
    UC_MEM_WRITE,
    UC_PROT_EXEC,
    UC_PROT_READ,
    UC_PROT_WRITE,
    WINDOW_SIZE,
    Reason,
    Word,
)
from arch.native.ir import Function, Writer

# What PhysicalMemory.code_pages says of a page that translated code may be of.
LOOKED_AT, STORES_COUNTER = 1, 2


class TlbWriter(Writer):
    """fill, block, and what they call."""

    def is_user(self) -> str:
        """Whether the CPU is in user mode now."""
        facts = self.facts
        f = Function("internal i1 @is_user(ptr %uc, i64 %blk)")
        f.do("%slot = alloca i64")
        if facts.flag_place and facts.user_flag is not None:
            file, _ = self._file(f)
            level = f.let(f"and i64 {self._kept(f, file, facts.privilege)}, {facts.privilege_mask}")
            level = f.let(f"icmp eq i64 {level}, {facts.privilege_user}")
            flag = f.load(f.let(f"add i64 {file}, {facts.flag_place}"))
            flag = f.let(f"icmp ne i64 {f.let(f'and i64 {flag}, {facts.user_flag[1]}')}, 0")
            f.do(f"ret i1 {f.let(f'or i1 {level}, {flag}')}")
            f.label(f.slow)
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[facts.privilege]}, ptr %slot")
        value = f.let("load i64, ptr %slot")
        value = f.let(f"and i64 {value}, {facts.privilege_mask}")
        result = f.let(f"icmp eq i64 {value}, {facts.privilege_user}")
        if facts.user_flag is not None:
            register, mask = facts.user_flag
            f.do("store i64 0, ptr %slot")
            f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[register]}, ptr %slot")
            flag = f.let(f"and i64 {f.let('load i64, ptr %slot')}, {mask}")
            result = f.let(f"or i1 {result}, {f.let(f'icmp ne i64 {flag}, 0')}")
        f.do(f"ret i1 {result}")
        return f.text()

    def walk(self) -> str:
        """Page-table entry of an address under a root; 0 when a table is missing.  See arch/mmu.py.

        Tables lie where a program with a wrong verdict can write: whatever an entry says, no step and no page of a
        result lies outside simulated memory.  There, an entry is a missing one.
        """
        f = Function("internal i64 @walk(i64 %blk, i64 %root, i64 %vaddr)")
        host = f.word("%blk", Word.HOST)
        end = f.word("%blk", Word.PHYS_SIZE)
        none = f.let("icmp eq i64 %root, 0")
        f.branch(none, "missing", "level3")
        f.label("level3")
        table = "%root"
        for level in (3, 2, 1, 0):
            shift = f.let(f"lshr i64 %vaddr, {12 + 9 * level}")
            index = f.let(f"and i64 {shift}, 511")
            at = f.let(f"shl i64 {index}, 3")
            at = f.let(f"add i64 {at}, {table}")
            at = f.let(f"add i64 {at}, {host}")
            entry = f.load(at)
            inside = f.let(f"icmp ult i64 {entry}, {end}")  # the low bits are flags, and the end is one of a page
            if level == 0:
                f.do(f"ret i64 {f.let(f'select i1 {inside}, i64 {entry}, i64 0')}")
            else:
                present = f.let(f"icmp ne i64 {entry}, 0")
                f.branch(f.let(f"and i1 {present}, {inside}"), f"level{level - 1}", "missing")
                f.label(f"level{level - 1}")
                table = f.let(f"and i64 {entry}, -4096")
        f.label("missing")
        f.do("ret i64 0")
        return f.text()

    def fill(self) -> str:
        """uc_cb_tlbevent_t.  RX for code, RW for data, never W and X at once."""
        f = Function("i8 @fill(ptr %uc, i64 %vaddr, i32 %type, ptr %out, i64 %blk)")
        f.do("%perms = alloca i32")
        f.do("%paddr = alloca i64")
        f.do("%pte = alloca i64")
        f.do("store i64 0, ptr %pte")
        self._fill_window(f, otherwise="mode")
        f.label("mode")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "user", "kernel")
        self._fill_kernel(f)
        self._fill_user(f)
        self._fill_from_entry(f)
        self._fill_grant(f, user)
        self._fill_refuse(f, user)
        return self.drop_code() + f.text()

    @staticmethod
    def _answer(f: Function, paddr: str, rights: int, go_on: str) -> None:
        """Propose a page and rights."""
        f.do(f"store i64 {paddr}, ptr %paddr")
        f.do(f"store i32 {rights}, ptr %perms")
        f.goto(go_on)

    @staticmethod
    def _within(f: Function, start: Word, size: Word | int, yes: str, no: str) -> str:
        """Branch on whether the address lies in a range of the block; returns the offset in it."""
        off = f.let(f"sub i64 %vaddr, {f.word('%blk', start)}")
        limit = f.word("%blk", size) if isinstance(size, Word) else str(size)
        f.branch(f.let(f"icmp ult i64 {off}, {limit}"), yes, no)
        f.label(yes)
        return off

    def _fill_window(self, f: Function, otherwise: str) -> None:
        """While the window is open, it shows some physical page, in either mode."""
        shown = f.word("%blk", Word.WINDOW_PHYS)
        f.branch(f.let(f"icmp eq i64 {shown}, 0"), otherwise, "window")
        f.label("window")
        off = self._within(f, Word.WINDOW, WINDOW_SIZE, "in_window", otherwise)
        self._answer(f, f.let(f"add i64 {off}, {shown}"), UC_PROT_READ | UC_PROT_EXEC, "grant")

    def _fill_kernel(self, f: Function) -> None:
        """Kernel mode: text, direct map, vmalloc area; never user memory."""
        f.label("kernel")
        off = self._within(f, Word.TEXT_BASE, Word.TEXT_SIZE, "text", "not_text")
        at = f.let(f"add i64 {off}, {f.word('%blk', Word.TEXT_PHYS)}")
        self._answer(f, at, UC_PROT_READ | UC_PROT_EXEC, "check")
        f.label("not_text")
        off = self._within(f, Word.DIRECT, Word.PHYS_SIZE, "direct", "not_direct")
        self._answer(f, off, UC_PROT_READ | UC_PROT_WRITE, "check")
        f.label("not_direct")
        espfix = self.facts.espfix
        off = self._within(
            f, Word.VMALLOC_START, Word.VMALLOC_SIZE, "vmalloc", "refuse" if espfix is None else "not_vmalloc"
        )
        self._walk_from(f, Word.VMALLOC_ROOT, off)
        if espfix is not None:
            f.label("not_vmalloc")
            near = f.let(f"icmp ult i64 {f.let(f'sub i64 %vaddr, {espfix}')}, {1 << 32}")
            f.branch(near, "espfix", "refuse")
            f.label("espfix")
            page = f.let(f"sub i64 {f.word('%blk', Word.GDT)}, {f.word('%blk', Word.DIRECT)}")
            at = f.let(f"or i64 {page}, {f.let('and i64 %vaddr, 4095')}")
            self._answer(f, at, UC_PROT_READ | UC_PROT_WRITE, "check")

    def _fill_user(self, f: Function) -> None:
        """User mode: the current page tables, and the descriptor table, which segment loads read (x86)."""
        f.label("user")
        inside = f.let(f"icmp ult i64 %vaddr, {f.word('%blk', Word.USER_END)}")
        f.branch(inside, "user_walk", "not_user")
        f.label("not_user")
        gdt = f.word("%blk", Word.GDT)
        is_gdt = f.let(f"icmp eq i64 %vaddr, {gdt}")
        f.branch(f.let(f"and i1 {is_gdt}, {f.let(f'icmp ne i64 {gdt}, 0')}"), "gdt", "not_gdt")
        f.label("not_gdt")
        ldt = f.word("%blk", Word.LDT)
        near = f.let(f"icmp ult i64 {f.let(f'sub i64 %vaddr, {ldt}')}, {LDT_PAGES << 12}")
        f.branch(f.let(f"and i1 {near}, {f.let(f'icmp ne i64 {ldt}, 0')}"), "gdt", "refuse")
        f.label("gdt")
        self._answer(f, f.let("sub i64 %vaddr, " + f.word("%blk", Word.DIRECT)), UC_PROT_READ, "check")
        f.label("user_walk")
        self._walk_from(f, Word.USER_ROOT, "%vaddr")

    @staticmethod
    def _walk_from(f: Function, root: Word, address: str) -> None:
        entry = f.let(f"call i64 @walk(i64 %blk, i64 {f.word('%blk', root)}, i64 {address})")
        f.do(f"store i64 {entry}, ptr %pte")
        f.goto("from_pte")

    def _fill_from_entry(self, f: Function) -> None:
        """Page and rights of a page-table entry; of a page with W and X, stores get RW and all else RX."""
        f.label("from_pte")
        entry = f.let("load i64, ptr %pte")
        f.branch(f.let(f"trunc i64 {entry} to i1"), "is_present", "refuse")
        f.label("is_present")
        page = f.let(f"and i64 {entry}, -4096")
        inside_page = f.let("and i64 %vaddr, 4095")  # emulator pages may be smaller than ours
        f.do(f"store i64 {f.let(f'or i64 {page}, {inside_page}')}, ptr %paddr")
        rights = f.let(f"lshr i64 {entry}, 1")  # PTE_READ, WRITE, EXEC are unicorn's bits shifted by one
        rights = f.let(f"trunc i64 {f.let(f'and i64 {rights}, 7')} to i32")
        both = f.let(f"and i32 {rights}, {UC_PROT_WRITE | UC_PROT_EXEC}")
        both = f.let(f"icmp eq i32 {both}, {UC_PROT_WRITE | UC_PROT_EXEC}")
        f.do(f"store i32 {rights}, ptr %perms")
        f.branch(both, "write_xor_exec", "check")
        f.label("write_xor_exec")
        store = f.let(f"icmp eq i32 %type, {UC_MEM_WRITE}")
        drop = f.let(f"select i1 {store}, i32 {UC_PROT_EXEC}, i32 {UC_PROT_WRITE}")
        f.do(f"store i32 {f.let(f'xor i32 {rights}, {drop}')}, ptr %perms")
        f.goto("check")

    def _fill_grant(self, f: Function, user: str) -> None:
        """Is the access among the rights?  Pages that may hold translated code are marked; a right to write drops it."""
        f.label("check")
        perms = f.let("load i32, ptr %perms")
        need = f.let(f"shl i32 1, {f.let(f'sub i32 %type, {UC_MEM_READ}')}")  # read 1, write 2, fetch 4
        have = f.let(f"icmp ne i32 {f.let(f'and i32 {perms}, {need}')}, 0")
        paddr = f.let("load i64, ptr %paddr")
        exists = f.let(f"icmp ult i64 {paddr}, {f.word('%blk', Word.PHYS_SIZE)}")
        f.branch(f.let(f"and i1 {have}, {exists}"), "allowed", "refuse")
        f.label("allowed")
        mark = f.let(f"add i64 {f.let(f'lshr i64 {paddr}, 12')}, {f.word('%blk', Word.CODE_PAGES)}")
        f.branch(f.let(f"icmp uge i32 {perms}, {UC_PROT_EXEC}"), "mark_code", "not_code")
        f.label("mark_code")
        if self.facts.stored_counter:
            self._look_for_counters(f, mark, paddr, user)
        f.store(mark, str(LOOKED_AT), "i8")
        f.goto("grant")
        f.label("not_code")
        is_write = f.let(f"icmp ne i32 {f.let(f'and i32 {perms}, {UC_PROT_WRITE}')}, 0")
        was_code = f.let(f"icmp ne i8 {f.load(mark, 'i8')}, 0")
        f.branch(f.let(f"and i1 {is_write}, {was_code}"), "drop_code", "grant")
        f.label("drop_code")
        f.store(mark, "0", "i8")
        f.do(f"call void @drop_code(ptr %uc, i64 %blk, i64 {f.let(f'and i64 {paddr}, -4096')})")
        f.goto("grant")
        f.label("grant")
        f.do(f"store i64 {f.let('load i64, ptr %paddr')}, ptr %out")
        at = f.let("getelementptr i8, ptr %out, i64 8")
        f.do(f"store i32 {f.let('load i32, ptr %perms')}, ptr {at}")
        f.do("ret i8 1")

    @staticmethod
    def _look_for_counters(f: Function, mark: str, paddr: str, user: str) -> None:
        """Instructions of user code that store the counter get hooks, before they are translated."""
        known = f.let(f"icmp eq i8 {f.load(mark, 'i8')}, {LOOKED_AT}")
        f.branch(f.let(f"and i1 {user}, {f.let(f'xor i1 {known}, true')}"), "unknown_code", "known_code")
        f.label("unknown_code")
        page = f.let(f"and i64 {paddr}, -4096")
        found = f.let(f"call i1 @found(ptr %uc, i64 %blk, i64 %vaddr, i64 {page})")
        f.branch(found, "counters", "known_code")
        f.label("counters")  # looked at again wherever else it is mapped
        f.store(mark, str(STORES_COUNTER), "i8")
        f.goto("grant")
        f.label("known_code")

    def _fill_refuse(self, f: Function, user: str) -> None:
        """No: note address and error code for run().

        An illegal instruction at the start of a page makes an empty translation block, whose "second page" is the page
        before.  That lookup gets a page of zeros: the block then raises its exception, and the next handler flushes.
        """
        f.label("refuse")
        fetch = f.let(f"icmp eq i32 %type, {UC_MEM_FETCH}")
        f.branch(fetch, "empty_block", "refused")
        f.label("empty_block")
        f.do("%slot = alloca i64")
        f.do("store i64 0, ptr %slot")
        f.call(self.c["uc_reg_read"], "i32", f"ptr %uc, i32 {self.ids[self.facts.pc]}, ptr %slot")
        next_page = f.let("add i64 %vaddr, 4096")
        at_start = f.let(f"icmp eq i64 {f.let('load i64, ptr %slot')}, {next_page}")
        f.branch(f.let(f"and i1 {at_start}, {user}"), "lend", "refused")
        f.label("lend")
        f.set_word("%blk", Word.TLB_DIRTY, "1")
        self._answer(f, f.word("%blk", Word.ZERO_PAGE), UC_PROT_READ | UC_PROT_EXEC, "grant")
        f.label("refused")  # error code bits as x86: PROT 1, WRITE 2, USER 4, EXEC 16; 32 marks it valid
        f.set_word("%blk", Word.FAULT_ADDRESS, "%vaddr")
        code = f.let(f"and i64 {f.let('load i64, ptr %pte')}, 1")
        store = f.let(f"icmp eq i32 %type, {UC_MEM_WRITE}")
        code = f.let(f"or i64 {code}, {f.let(f'select i1 {store}, i64 2, i64 0')}")
        code = f.let(f"or i64 {code}, {f.let(f'select i1 {fetch}, i64 48, i64 32')}")
        f.set_word("%blk", Word.FAULT_CODE, code)
        f.do("ret i8 0")

    def drop_code(self) -> str:
        """Drop translated code of the physical page %page, shown through the window; the TLB forgets the window."""
        control = 9 | (2 << 26) | (1 << 30)  # UC_CTL_TB_REMOVE_CACHE, two arguments, write
        f = Function("internal void @drop_code(ptr %uc, i64 %blk, i64 %page)")
        f.set_word("%blk", Word.WINDOW_PHYS, "%page")
        start = f.word("%blk", Word.WINDOW)
        end = f.let(f"add i64 {start}, 4096")
        pointer = f.let(f"inttoptr i64 {self.c['uc_ctl']} to ptr")
        f.do(f"call i32 (ptr, i32, ...) {pointer}(ptr %uc, i32 {control}, i64 {start}, i64 {end})")
        f.set_word("%blk", Word.WINDOW_PHYS, "0")
        f.set_word("%blk", Word.TLB_DIRTY, "1")
        f.do("call void @settle(i64 %blk)")
        f.do("ret void")
        return f.text()

    def settle(self) -> str:
        """After Python ran: flush the TLB if page tables changed."""
        control = 11 | (1 << 30)  # UC_CTL_TLB_FLUSH, no arguments, write
        f = Function("internal void @settle(i64 %blk)")
        dirty = f.word("%blk", Word.TLB_DIRTY)
        f.branch(f.let(f"icmp eq i64 {dirty}, 0"), "clean", "flush")
        f.label("flush")
        f.set_word("%blk", Word.TLB_DIRTY, "0")
        pointer = f.let(f"inttoptr i64 {self.c['uc_ctl']} to ptr")
        uc = f.let(f"inttoptr i64 {f.word('%blk', Word.UC)} to ptr")
        f.do(f"call i32 (ptr, i32, ...) {pointer}(ptr {uc}, i32 {control})")
        f.goto("clean")
        f.label("clean")
        f.do("ret void")
        return f.text()

    def block(self) -> str:
        """uc_cb_hookcode_t on blocks: count about one unit per instruction (4 bytes) of user code, stop at the deadline.

        One hook for user and kernel blocks: unicorn calls a hook that is alone of its kind from translated code, two by a list.
        """
        f = Function("void @block(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        f.branch(f.let(f"icmp ult i64 %addr, {f.word('%blk', Word.USER_END)}"), "below", "above")
        f.label("above")
        f.do("call void @kernel_block(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        f.do("ret void")
        f.label("below")
        work = f.word("%blk", Word.WORK)
        over = f.let(f"icmp uge i64 {work}, {f.word('%blk', Word.DEADLINE)}")
        f.branch(over, "stop", "count")
        f.label("count")
        units = f.let("lshr i32 %size, 2")
        units = f.let(f"zext i32 {units} to i64")
        units = f.let(f"add i64 {units}, 1")
        f.set_word("%blk", Word.WORK, f.let(f"add i64 {work}, {units}"))
        f.do("ret void")
        f.label("stop")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "stop_now", "kernel")  # an address space for both: s390x
        f.label("stop_now")
        f.set_word("%blk", Word.REASON, str(int(Reason.BUDGET)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        f.label("kernel")
        f.do("call void @kernel_block(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        f.goto("count")
        return f.text()

    def kernel_block(self) -> str:
        """On kernel blocks: a CPU that goes round in them for good has no other way back to Python.

        Nothing else sees it: kernel functions are entered by a hypercall each, but a program with a wrong verdict
        writes code of its own, and the thread that watches the host's time waits for the interpreter's lock.
        """
        f = Function("internal void @kernel_block(ptr %uc, i64 %addr, i32 %size, i64 %blk)")
        count = f.let(f"add i64 {f.word('%blk', Word.KERNEL_BLOCKS)}, 1")
        f.set_word("%blk", Word.KERNEL_BLOCKS, count)
        f.branch(f.let(f"icmp ult i64 {count}, {LOCKUP_BLOCKS}"), "fine", "long")
        f.label("fine")
        f.do("ret void")
        f.label("long")
        user = f.let("call i1 @is_user(ptr %uc, i64 %blk)")
        f.branch(user, "fine", "lockup")
        f.label("lockup")
        f.set_word("%blk", Word.REASON, str(int(Reason.LOCKUP)))
        f.call(self.c["uc_emu_stop"], "i32", "ptr %uc")
        f.do("ret void")
        return f.text()
