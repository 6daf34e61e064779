#include "instructions.h"

#include <stdbool.h>

/* Opcodes are as in the manuals of the instruction set. A mod of 3 in the byte behind an opcode names
 * a register in place of memory; its middle bits choose among the instructions of a group. */

static bool is_prefix(unsigned char byte)
{
	switch (byte) {
	case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: /* segments */
	case 0x66: case 0x67: case 0xf0: case 0xf2: case 0xf3:
		return true;
	default:
		return false;
	}
}

static enum doing if_so(bool repeats)
{
	return repeats ? REPEATS : CHANGES;
}

static enum doing of_two_bytes(const unsigned char *at)
{
	int group = at[1] >> 3 & 7;
	bool on_register = at[1] >> 6 == 3;

	switch (at[0]) {
	case 0x05: case 0x34:
	case 0x01: case 0x31: /* rdtscp and rdtsc, which ask when they are repeated */
		return CALLS;
	case 0x0d: case 0x18: case 0x1e: case 0x1f:	    /* prefetch, endbr, nop */
	case 0xa3: case 0xaf: case 0xbc: case 0xbd:	    /* bt, imul, bsf, bsr */
	case 0xb6: case 0xb7: case 0xbe: case 0xbf:	    /* movzx, movsx */
	case 0xb0: case 0xb1: case 0xc0: case 0xc1:	    /* cmpxchg, xadd: show what was there */
		return REPEATS;
	case 0xae: /* fences */
		return if_so(on_register && group >= 5);
	case 0xba: /* bt, or those that set the bit */
		return if_so(group == 4 || on_register);
	case 0xa4: case 0xa5: case 0xac: case 0xad: /* shld, shrd */
		return if_so(on_register);
	default: /* cmov; jcc and setcc; bswap */
		return if_so((at[0] & 0xf0) == 0x40 || (at[0] & 0xe0) == 0x80 || (at[0] & 0xf8) == 0xc8);
	}
}

enum doing what_does(const unsigned char *at)
{
	bool on_register;
	int group;

	while (is_prefix(*at))
		at++;
	if ((*at & 0xf0) == 0x40)
		at++;
	group = at[1] >> 3 & 7;
	on_register = at[1] >> 6 == 3;
	switch (*at) {
	case 0x0f:
		return of_two_bytes(at + 1);
	case 0x00 ... 0x0e: case 0x10 ... 0x3f: /* arithmetic: to memory, to a register, constants */
		if ((*at & 7) >= 6)
			return CHANGES;
		return if_so((*at & 7) >= 2 || on_register || *at >> 3 == 7);
	case 0x50 ... 0x5f: case 0x68: case 0x6a: /* the stack */
	case 0xc2: case 0xc3: case 0xc9: case 0xe8:
	case 0x63: case 0x69: case 0x6b: /* movsxd, imul */
	case 0x70 ... 0x7f: case 0xe0 ... 0xe3: case 0xe9: case 0xeb: /* jumps */
	case 0x84 ... 0x8b: case 0x8d: /* test, xchg, mov, lea */
	case 0x90 ... 0x99: case 0xa0 ... 0xa3: case 0xa8: case 0xa9: case 0xb0 ... 0xbf:
		return REPEATS;
	case 0x80: case 0x81: case 0x83: /* of which cmp */
		return if_so(on_register || group == 7);
	case 0xc0: case 0xc1: case 0xd0 ... 0xd3: case 0xfe: /* shifts; inc, dec */
		return if_so(on_register);
	case 0xc6: case 0xc7: /* mov of a constant */
		return if_so(group == 0);
	case 0xf6: case 0xf7: /* of which test */
		return if_so(on_register || group <= 1);
	case 0xff: /* inc, dec; call and jmp through memory */
		return if_so(on_register || group == 2 || group == 4);
	case 0x9c: case 0xcc: case 0xcd: /* pushf shows the flag that steps are made by */
		return CALLS;
	default:
		return CHANGES;
	}
}
