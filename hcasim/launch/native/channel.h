/* The way to the simulator: every thread has a connection of its own, and runs while it is answered.
 *
 * Time stands still between two answers but for what `spend` adds to it.
 */
#ifndef HCASIM_CHANNEL_H
#define HCASIM_CHANNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))

enum call {
#define CALL(name) CALL_##name,
#include "calls.def"
#undef CALL
};

#define WORDS 8
#define LARGEST (64 << 10)

/* What a call says and what it is told, beside bytes. */
struct words {
	uint64_t w[WORDS];
};

/* Ask, and wait for the answer, which replaces the words.
 *
 * sent, size: bytes that go with it, at most LARGEST.
 * got, room: where bytes of the answer go, and how many fit; *came says how many came, if not NULL.
 * Returns 0, or an errno.
 */
int ask_with(enum call what, struct words *words, const void *sent, size_t size, void *got,
	     size_t room, size_t *came);

/* The same without bytes. */
int ask(enum call what, struct words *words);

/* The simulated time of this thread in ps, and time that it takes without asking anybody. */
uint64_t now_ps(void);
void spend(uint64_t ps);

/* Let what this thread has spent pass now. */
void settle(void);

/* When this thread was last answered, and what it and all of this process have not slept. */
uint64_t answered_ps(void);
uint64_t thread_ps(void);
uint64_t process_ps(void);

/* Where computing takes real processor time: do not charge so many ns of it, what the thread takes
 * from now on until it goes on, or what it has taken since the last answer. */
void leave_out(uint64_t ns);
void step_aside(void);
void go_on(void);
void forget_computing(void);

/* What goes with the next question: others may find something new, such as bytes in a socket; this
 * thread has found something, so that it does not go round in a circle; it has read the clock. */
enum note { TOUCHED = 1, FOUND = 2, CLOCK = 4 };

void note(enum note note);
void touch(void);

/* Wait until others have done something, or until a time in ps; 0 is for ever. What for is told, as by
 * printf, to those who ask why nothing goes on.
 * Returns false when that time has come. */
bool park(uint64_t until_ps, const char *what, ...) __attribute__((format(printf, 2, 3)));

/* A look that does not wait has found nothing; what is a number of the caller's. */
void found_nothing(uint64_t what);

/* Whether this process takes part in a simulation. */
bool taking_part(void);

/* Connect this thread, if it is not connected; its connection ends when it ends, or leaves. */
void take_part(void);
void leave(void);

/* Whether this thread waits for an answer: handlers of signals must not ask then. */
bool asking(void);
bool is_connection(int descriptor);

/* Whether the other end of a local socket belongs to the user of this process. */
bool of_own_user(int descriptor);

/* The node that this process runs on, of how many, and what its sockets are named after. */
struct host {
	uint64_t hertz;
	uint64_t node;
	uint64_t nodes;
	uint64_t network;
	uint64_t factor; /* of real processor time, in millionths */
	uint64_t reading_ns; /* what reading processor time takes of it, */
	uint64_t trap_ns;    /* and a trapped read of the processor's own clock */
};

const struct host *host(void);

/* What the library behind this one has under a name, which has to be there. */
void *behind(const char *name);
#define BEHIND(name)                                                                               \
	({                                                                                         \
		static __typeof__(&name) found_behind;                                             \
		if (!found_behind)                                                                 \
			found_behind = (__typeof__(&name))behind(#name);                           \
		found_behind;                                                                      \
	})

/* Say one line on standard error, once for each name. */
void say_once(const char *name, const char *line);

#endif
