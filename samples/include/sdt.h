/*
 * Static probes for the sample programs: each is a nop and a note that says where its arguments are, in the format of
 * SystemTap's sys/sdt.h (which real programs use).  Arguments are 64-bit values in registers.
 */
#pragma once

#define NOTE(provider, name, arguments)                          \
	"990: nop\n"                                             \
	".pushsection .note.stapsdt, \"\", \"note\"\n"           \
	".balign 4\n"                                            \
	".4byte 992f - 991f, 994f - 993f, 3\n"                   \
	"991: .asciz \"stapsdt\"\n"                              \
	"992: .balign 4\n"                                       \
	"993: .8byte 990b, 0, 0\n"                               \
	".asciz \"" #provider "\"\n.asciz \"" #name "\"\n"       \
	".asciz \"" arguments "\"\n"                             \
	"994: .balign 4\n"                                       \
	".popsection\n"

#define NOTE0(provider, name) __asm__ volatile(NOTE(provider, name, ""))
#define NOTE1(provider, name, a) __asm__ volatile(NOTE(provider, name, "-8@%0") : : "r"((long)(a)))
#define NOTE2(provider, name, a, b) \
	__asm__ volatile(NOTE(provider, name, "-8@%0 -8@%1") : : "r"((long)(a)), "r"((long)(b)))
#define NOTE3(provider, name, a, b, c)                            \
	__asm__ volatile(NOTE(provider, name, "-8@%0 -8@%1 -8@%2") \
			 : : "r"((long)(a)), "r"((long)(b)), "r"((long)(c)))
