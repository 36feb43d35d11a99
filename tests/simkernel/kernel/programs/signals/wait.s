.include "common.inc"
 act 17, handler, 0x04000000
 sys 57
 test eax, eax
 jnz parent
 push 1000000
 push 0
 mov rdi, rsp
 xor esi, esi
 sys 35
 mov edi, 3
 sys 60
parent:
 push 0
 mov edi, -1
 mov rsi, rsp
 xor edx, edx
 xor r10d, r10d
 sys 61
 mov edi, [rsp]
 shr edi, 8
 test eax, eax
 jg 1f
 mov edi, eax
 neg edi
1: sys 231
handler:
 ret
restorer:
 sys 15
