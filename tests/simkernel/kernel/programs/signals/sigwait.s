.include "common.inc"
 sub rsp, 4096
 mov r15, rsp
 mov qword ptr [r15], 0x200
 xor edi, edi
 mov rsi, r15
 xor edx, edx
 mov r10d, 8
 sys 14
 mov edi, 0x10f00
 lea rsi, [r15+2048]
 xor edx, edx
 xor r10d, r10d
 xor r8d, r8d
 sys 56
 test eax, eax
 jz child
 mov qword ptr [r15+16], 0
 mov qword ptr [r15+24], 1000000
 lea rdi, [r15+16]
 xor esi, esi
 sys 35
 sys 39
 mov edi, eax
 mov esi, 10
 sys 62
1: sys 34
 jmp 1b
child:
 mov rdi, r15
 xor esi, esi
 xor edx, edx
 mov r10d, 8
 sys 128
 mov edi, eax
 sys 231
