/* Signals of the program, which come between a question and its answer, and our own. */
#ifndef HCASIM_SIGNALS_H
#define HCASIM_SIGNALS_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#define TIMER_BITS 8

/* Asks a thread that has made no call for long what it does. */
#define LOOK_SIGNAL 61

/* How many handlers of the program have run in this thread, and how many of these end a call that
 * waits even if it could begin again. */
struct handled {
	uint64_t all;
	uint64_t ending;
};

struct handled handled(void);

/* Whether a call that began with so many has to end: one of those that signals always end, or of
 * those that begin again after handlers that say so. */
bool interrupted(struct handled before, bool always);

/* Send this thread a signal, from a timer of so much shifted by TIMER_BITS if that is not 0, and those that came while it asked. */
void deliver(int signal);

/* Without the signals that always have to come through. */
sigset_t bearable(const sigset_t *set);

/* Before the first question. */
void catch_signals(void);

/* timers.c: what the program wants to be told with the signal of a timer. */
union sigval timer_value(int number);

/* clocks.c: have the processor's own clock read by us, or by nobody again. */
void trap_clock(bool trap);
bool read_trapped_clock(void *context);

/* spinning.c: have this thread looked at if it asks nothing for long, from each answer on. */
void watch_thread(void);
void watch_again(void);
void watch_no_more(void);
void look(int signal, siginfo_t *info, void *context);
void step(int signal, siginfo_t *info, void *context);

#endif
