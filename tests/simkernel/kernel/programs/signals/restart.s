.include "common.inc"
 sub rsp, 4096
 mov ebp, 0
 mov r15, rsp
 mov rdi, r15
 sys 22
 act 10, handler, 0x14000000
 mov edi, 0x10f00
 lea rsi, [r15+2048]
 xor edx, edx
 xor r10d, r10d
 xor r8d, r8d
 sys 56
 test eax, eax
 jz child
1: sys 34
 jmp 1b
child:
 mov edi, [r15]
 lea rsi, [r15+16]
 mov edx, 1
 sys 0
 mov edi, eax
 sys 231
handler:
 mov edi, [r15+4]
 lea rsi, [r15+16]
 mov edx, 1
 sys 1
 ret
restorer:
 sys 15
