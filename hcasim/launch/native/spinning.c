/* Loops that read memory until something else changes it, without any call.
 *
 * A timer in real time interrupts a thread that has made no call for long. Its instructions are then
 * stepped through: if all registers recur, step by step, in two rounds of instructions that can
 * change memory only to what registers say, all further rounds are the same, until somebody else
 * writes to memory. That is a proof, whenever it is looked for.
 */
#define _GNU_SOURCE
#include "channel.h"
#include "instructions.h"
#include "signals.h"

#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define MOST_STEPS 1000
#define TRAP_FLAG 0x100
#define ARITHMETIC_FLAGS 0xcd5

/* Real time without a call, in ns, after which a thread is looked at: first, if it has waited so
 * before, and at last. */
#define PATIENCE 300000
#define SPINNING 50000
#define LONGEST 200000000

static __thread struct {
	int timer; /* the system's number */
	bool made, runs;
	long patience, next;
	uint64_t answers;
} watch __attribute__((tls_model("initial-exec")));

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
	go_on();
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

static void look_in(long ns)
{
	struct itimerspec time = {.it_value = {0, ns}};

	watch.runs = !syscall(SYS_timer_settime, watch.timer, 0, &time, NULL);
}

void watch_thread(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = LOOK_SIGNAL};

	event._sigev_un._tid = syscall(SYS_gettid);
	watch.runs = false;
	watch.patience = watch.next = PATIENCE;
	watch.made = !syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &watch.timer);
	if (!watch.made)
		say_once("timer", "the system has no timer left: who waits for memory in a loop may "
				  "wait for ever");
}

void watch_again(void)
{
	watch.answers++;
	if (watch.made && !watch.runs)
		look_in(watch.patience);
}

void watch_no_more(void)
{
	if (watch.made)
		syscall(SYS_timer_delete, watch.timer);
	watch.made = false;
}

void look(int signal, siginfo_t *info, void *context)
{
	static __thread uint64_t seen __attribute__((tls_model("initial-exec")));

	(void)signal;
	if (info->si_code != SI_TIMER || !watch.made)
		return;
	watch.runs = false;
	if (asking())
		return; /* The answer begins it anew. */
	if (seen == watch.answers) {
		watch.next = 2 * watch.next < LONGEST ? 2 * watch.next : LONGEST;
		way.all = way.steps = way.period = way.same = 0;
		step_aside();
		registers_of(context)[REG_EFL] |= TRAP_FLAG;
	} else {
		watch.next = watch.patience;
	}
	seen = watch.answers;
	look_in(watch.next);
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
		watch.patience = SPINNING;
		forget_computing();
		ask(CALL_SPIN, &words);
	}
}
