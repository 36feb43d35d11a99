"""Links of one program to many functions, of the kernel or of a file: struct bpf_kprobe_multi_link, bpf_uprobe_multi_link of kernel/trace/bpf_trace.c."""

from __future__ import annotations

from collections.abc import Callable

from bpf.board import KERNEL_BTF_ID
from bpf.core.link import BpfLink
from bpf.face import KprobeMultiAttach, TracingMultiAttach, UprobeMultiAttach
from tracing.face import SymbolTable


class TracingMultiLink(BpfLink):
    """Tells of its functions."""

    def fdinfo(self) -> str:
        """bpf_tracing_multi_show_fdinfo()."""
        request = self.request
        assert isinstance(request, TracingMultiAttach)
        rows = "".join(self._row(*function) for function in request.functions)
        head = f"attach_type:\t{request.attach_type}\ncnt:\t{len(request.functions)}\n"
        return f"{super().fdinfo()}{head}obj-id\t btf-id\t cookie\t func\n{rows}"

    def _row(self, number: int, name: str, cookie: int) -> str:
        symbols = self.bpf.host.symbols
        place = symbols.address(name)
        return f"{KERNEL_BTF_ID}\t {number}\t {cookie}\t {symbol_text(symbols, place or 0)}\n"


def symbol_text(symbols: SymbolTable, address: int) -> str:
    """%pS."""
    found = symbols.lookup(address)
    return f"{address:#x}" if found is None else f"{found[0]}+{found[1]:#x}/{found[2]:#x}"


SHOWN_SINCE = "6.17"  # 803f0700a3bb, b4dfe26fbf56: fdinfo tells of the functions


class MultiLink(BpfLink):
    """Tells of its functions; `flags`: as they were given; `missed`: calls that a link to the kernel's functions did not catch."""

    flags = 0
    missed: Callable[[], int] = staticmethod(int)

    def fdinfo(self) -> str:
        text = super().fdinfo()
        if self.bpf.version.before(SHOWN_SINCE):
            return text
        request = self.request
        assert isinstance(request, KprobeMultiAttach | UprobeMultiAttach)
        if request.is_return:
            text = text.replace("probe_multi", "retprobe_multi", 1)
        return text + (self._kernel(request) if isinstance(request, KprobeMultiAttach) else self._user(request))

    def _kernel(self, request: KprobeMultiAttach) -> str:
        rows = zip(request.cookies, request.addresses, strict=True)
        places = "".join(f"{cookie}\t {symbol_text(self.bpf.host.symbols, address)}\n" for cookie, address in rows)
        return f"kprobe_cnt:\t{len(request.addresses)}\nmissed:\t{self.missed()}\ncookie\t func\n{places}"

    def _user(self, request: UprobeMultiAttach) -> str:
        pid = 0 if request.process is None else self.bpf.host.pid_of_process(request.process)
        rows = "".join(f"{cookie}\t {offset:#x}\t {counter:#x}\n" for offset, counter, cookie in request.places)
        head = f"uprobe_cnt:\t{len(request.places)}\npid:\t{pid}\npath:\t{request.file.path()}\n"
        return f"{head}cookie\t offset\t ref_ctr_offset\n{rows}"
