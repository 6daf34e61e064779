/* Loops that read memory until something else changes it, without any call.
 *
 * The simulator asks a thread that has made no call for long by a signal. Its instructions are then
 * stepped through: if all registers recur, step by step, in two rounds of instructions that can
 * change memory only to what registers say, all further rounds are the same, until somebody else
 * writes to memory. That is a proof, whenever it is looked for.
 */
#define _GNU_SOURCE
#include "channel.h"
#include "instructions.h"
#include "signals.h"

#include <ucontext.h>

#define MOST_STEPS 300
#define TRAP_FLAG 0x100
#define ARITHMETIC_FLAGS 0xcd5

/* Only one thread runs at a time. */
static struct {
	int all;	/* steps so far */
	int steps;	/* since the last instruction that loops may not have */
	int period;	/* of the steps, if the last ones are those of so many before */
	int same;	/* how many of the last ones are */
	uint64_t seen[MOST_STEPS];
} way;

static greg_t *registers_of(void *context)
{
	return ((ucontext_t *)context)->uc_mcontext.gregs;
}

static void stop(greg_t *registers)
{
	registers[REG_EFL] &= ~TRAP_FLAG;
}

static uint64_t digest(const greg_t *registers)
{
	uint64_t sum = registers[REG_EFL] & ARITHMETIC_FLAGS;

	for (int i = REG_R8; i <= REG_RIP; i++) {
		sum = (sum ^ (uint64_t)registers[i]) * 0x9e3779b97f4a7c15;
		sum ^= sum >> 29;
	}
	return sum;
}

/* Note where the thread is; whether it has gone round twice. */
static bool gone_round(const greg_t *registers)
{
	uint64_t now = digest(registers);
	int last = way.steps++;

	way.seen[last] = now;
	if (way.period && way.seen[last - way.period] == now) {
		way.same++;
	} else {
		way.period = way.same = 0;
		for (int before = last - 1; before >= 0 && !way.period; before--)
			if (way.seen[before] == now) {
				way.period = last - before;
				way.same = 1;
			}
	}
	return way.period && way.same > way.period;
}

void look(int signal, siginfo_t *info, void *context)
{
	(void)signal;
	(void)info;
	if (asking())
		return;
	way.all = way.steps = way.period = way.same = 0;
	registers_of(context)[REG_EFL] |= TRAP_FLAG;
}

void step(int signal, siginfo_t *info, void *context)
{
	greg_t *registers = registers_of(context);
	struct words words = {{0}};

	(void)signal;
	(void)info;
	if (asking() || ++way.all > MOST_STEPS) {
		stop(registers);
		return;
	}
	switch (what_does((const unsigned char *)registers[REG_RIP])) {
	case CALLS:
		stop(registers);
		return;
	case CHANGES:
		way.steps = way.period = way.same = 0;
		return;
	case REPEATS:
		break;
	}
	if (gone_round(registers)) {
		stop(registers);
		ask(CALL_SPIN, &words);
	}
}
