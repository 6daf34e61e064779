/* Threads: each has a connection of its own, and runs while it is answered. */
#define _GNU_SOURCE
#include "channel.h"
#include "clocks.h"
#include "signals.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

struct started {
	void *(*function)(void *);
	void *argument;
	pthread_t thread;
	pid_t tid;
	bool running; /* It has said hello. */
	bool ended;
	bool detached;
	struct started *next;
};

/* Only one thread runs at a time: the list needs no lock but where threads begin and end. */
static struct started *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_key_t ending;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct started first; /* which nobody has to wait for */
static __thread struct started *own;
static __thread int rounds;

static void hold(void)
{
	BEHIND(pthread_mutex_lock)(&lock);
}

static void release(void)
{
	BEHIND(pthread_mutex_unlock)(&lock);
}

static void forget(struct started *one)
{
	hold();
	for (struct started **at = &all; *at; at = &(*at)->next)
		if (*at == one) {
			*at = one->next;
			break;
		}
	release();
	free(one);
}

/* Destructors of the program's own keys may still ask: this one comes last. */
static void end(void *started)
{
	struct started *one = started;

	if (++rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
		pthread_setspecific(ending, started);
		return;
	}
	if (one->detached)
		forget(one);
	else
		one->ended = true;
	leave();
}

static void make_key(void)
{
	pthread_key_create(&ending, end);
}

static void *begin(void *started)
{
	own = started;
	own->tid = syscall(SYS_gettid);
	pthread_setspecific(ending, own);
	take_part();
	return own->function(own->argument);
}

EXPORT int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes,
			  void *(*function)(void *), void *restrict argument)
{
	struct words words = {{getpid()}};
	struct started *made;
	int state = PTHREAD_CREATE_JOINABLE, error;

	if (!taking_part())
		return BEHIND(pthread_create)(thread, attributes, function, argument);
	BEHIND(pthread_once)(&once, make_key);
	if (!own) {
		own = &first; /* It may end before others do. */
		pthread_setspecific(ending, own);
	}
	made = calloc(1, sizeof(*made));
	if (!made)
		return EAGAIN;
	if (attributes)
		pthread_attr_getdetachstate(attributes, &state);
	made->function = function;
	made->argument = argument;
	made->detached = state == PTHREAD_CREATE_DETACHED;
	hold();
	made->next = all;
	all = made;
	release();
	settle(); /* Nobody else may run before the simulator knows of it. */
	error = BEHIND(pthread_create)(&made->thread, attributes, begin, made);
	if (error) {
		forget(made);
		return error;
	}
	*thread = made->thread;
	ask(CALL_BORN, &words);
	return 0;
}

static struct started *find(pthread_t thread)
{
	struct started *one = taking_part() ? all : NULL;

	while (one && !pthread_equal(one->thread, thread))
		one = one->next;
	return one;
}

static int joined(pthread_t thread, void **result, uint64_t until)
{
	struct started *one = find(thread);
	int error;

	if (one == own && own)
		return EDEADLK;
	while (one && !one->ended) {
		if (until && now_ps() >= until)
			return ETIMEDOUT;
		park(until, "for thread %d to end", one->tid);
		pthread_testcancel();
	}
	error = BEHIND(pthread_join)(thread, result);
	if (one && !error)
		forget(one);
	return error;
}

EXPORT int pthread_join(pthread_t thread, void **result)
{
	return joined(thread, result, 0);
}

EXPORT int pthread_tryjoin_np(pthread_t thread, void **result)
{
	struct started *one = find(thread);

	if (!one)
		return BEHIND(pthread_tryjoin_np)(thread, result);
	if (one->ended)
		return joined(thread, result, 0);
	found_nothing(0);
	return EBUSY;
}

EXPORT int pthread_clockjoin_np(pthread_t thread, void **result, clockid_t clock,
				const struct timespec *time)
{
	return joined(thread, result, time ? due_ps(clock, time) : 0);
}

EXPORT int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *time)
{
	return pthread_clockjoin_np(thread, result, CLOCK_REALTIME, time);
}

EXPORT int pthread_detach(pthread_t thread)
{
	struct started *one = find(thread);
	int error = BEHIND(pthread_detach)(thread);

	if (!one || error)
		return error;
	if (one->ended)
		forget(one);
	else
		one->detached = true;
	return 0;
}

EXPORT int pthread_cancel(pthread_t thread)
{
	struct started *one = find(thread);
	struct words words = {{getpid(), LOOK_SIGNAL, one ? one->tid : getpid()}};
	int error = BEHIND(pthread_cancel)(thread);

	if (taking_part() && !error && !(one && one->ended))
		ask(CALL_KILL, &words); /* It may wait, or sleep. */
	return error;
}

EXPORT int pthread_kill(pthread_t thread, int signal)
{
	struct started *one = find(thread);
	struct words words = {{getpid(), signal, one ? one->tid : getpid()}};

	if (!taking_part() || !signal || pthread_equal(thread, pthread_self()) || (one && one->ended))
		return BEHIND(pthread_kill)(thread, signal);
	ask(CALL_KILL, &words);
	return 0;
}
