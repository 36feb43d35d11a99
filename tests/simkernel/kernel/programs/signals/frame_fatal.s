.include "common.inc"
 sub rsp, 16384
 push 8192
 push 0
 lea rax, [rsp+256]
 push rax
 mov rdi, rsp
 xor esi, esi
 sys 131
 act 11, on_segv, 0x04000000
 act 10, handler, 0x04000000
 sys 39
 mov edi, eax
 mov esi, 10
 xor esp, esp
 sys 62
 mov edi, 1
 sys 231
handler:
 mov edi, 2
 sys 231
on_segv:
 mov edi, 5
 sys 231
restorer:
 sys 15
