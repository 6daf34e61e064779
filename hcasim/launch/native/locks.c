/* What threads wait for each other by. Only one thread runs at a time, so what is kept here needs no
 * lock of its own; a lock is tried, and tried again when others have done something. */
#define _GNU_SOURCE
#include "channel.h"
#include "clocks.h"
#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Threads that wait for a lock of this process: nobody else needs to be told of one that is free. */
static int waiting;

/* What follows the time tells what it waits for, as of `park`. */
#define WAIT_FOR_LOCK(...)                                                                         \
	do {                                                                                       \
		waiting++;                                                                         \
		park(__VA_ARGS__);                                                                 \
		waiting--;                                                                         \
	} while (0)

static void now_free(bool shared)
{
	if (waiting || shared)
		touch();
}

#define FOR_EVER 0ull

/* Until a try says something else than that it is busy. */
#define UNTIL_FREE(limit, try, ...)                                                               \
	({                                                                                         \
		uint64_t until = (limit);                                                          \
		int result;                                                                        \
		while ((result = (try)) == EBUSY) {                                                \
			if (until != FOR_EVER && now_ps() >= until) {                                      \
				result = ETIMEDOUT;                                                \
				break;                                                             \
			}                                                                          \
			WAIT_FOR_LOCK(until, __VA_ARGS__);                                         \
		}                                                                                  \
		result;                                                                            \
	})

#define SHARED 128 /* in the kind of a mutex */
#define CHECKING 2

static int lock_until(pthread_mutex_t *mutex, uint64_t given)
{
	/* One that checks for errors says so. */
	if ((mutex->__data.__kind & 3) == CHECKING &&
	    mutex->__data.__owner == (int)syscall(SYS_gettid))
		return EDEADLK;
	return UNTIL_FREE(given, BEHIND(pthread_mutex_trylock)(mutex),
			  "for the lock at %p, which thread %d has", (void *)mutex,
			  mutex->__data.__owner);
}

EXPORT int pthread_mutex_lock(pthread_mutex_t *mutex)
{
	int error;

	if (!taking_part())
		return BEHIND(pthread_mutex_lock)(mutex);
	error = BEHIND(pthread_mutex_trylock)(mutex);
	return error == EBUSY ? lock_until(mutex, FOR_EVER) : error;
}

EXPORT int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
	int error = BEHIND(pthread_mutex_trylock)(mutex);

	if (error == EBUSY && taking_part())
		found_nothing((uintptr_t)mutex);
	return error;
}

EXPORT int pthread_mutex_clocklock(pthread_mutex_t *restrict mutex, clockid_t clock,
				   const struct timespec *restrict time)
{
	if (!taking_part())
		return BEHIND(pthread_mutex_clocklock)(mutex, clock, time);
	return lock_until(mutex, due_ps(clock, time) + 1);
}

EXPORT int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex,
				   const struct timespec *restrict time)
{
	if (!taking_part())
		return BEHIND(pthread_mutex_timedlock)(mutex, time);
	return lock_until(mutex, due_ps(CLOCK_REALTIME, time) + 1);
}

EXPORT int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	int error = BEHIND(pthread_mutex_unlock)(mutex);

	if (taking_part())
		now_free(mutex->__data.__kind & SHARED);
	return error;
}

EXPORT int pthread_spin_lock(pthread_spinlock_t *lock)
{
	if (!taking_part())
		return BEHIND(pthread_spin_lock)(lock);
	return UNTIL_FREE(FOR_EVER, BEHIND(pthread_spin_trylock)(lock), "for the lock at %p",
			  (void *)lock);
}

EXPORT int pthread_spin_unlock(pthread_spinlock_t *lock)
{
	now_free(false);
	return BEHIND(pthread_spin_unlock)(lock);
}

EXPORT int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
	if (!taking_part())
		return BEHIND(pthread_rwlock_rdlock)(lock);
	return UNTIL_FREE(FOR_EVER, BEHIND(pthread_rwlock_tryrdlock)(lock),
			  "to read by the lock at %p", (void *)lock);
}

EXPORT int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
	if (!taking_part())
		return BEHIND(pthread_rwlock_wrlock)(lock);
	return UNTIL_FREE(FOR_EVER, BEHIND(pthread_rwlock_trywrlock)(lock),
			  "to write by the lock at %p", (void *)lock);
}

EXPORT int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
	now_free(false);
	return BEHIND(pthread_rwlock_unlock)(lock);
}

/* Semaphores tell by errno. */

static int taken(sem_t *semaphore, uint64_t until)
{
	struct handled before = handled();

	while (BEHIND(sem_trywait)(semaphore)) {
		if (errno != EAGAIN)
			return -1;
		if (interrupted(before, true)) {
			errno = EINTR;
			return -1;
		}
		if (until && now_ps() >= until) {
			errno = ETIMEDOUT;
			return -1;
		}
		WAIT_FOR_LOCK(until, "for the semaphore at %p", (void *)semaphore);
		pthread_testcancel();
	}
	return 0;
}

EXPORT int sem_wait(sem_t *semaphore)
{
	return taking_part() ? taken(semaphore, 0) : BEHIND(sem_wait)(semaphore);
}

EXPORT int sem_clockwait(sem_t *restrict semaphore, clockid_t clock,
			 const struct timespec *restrict time)
{
	if (!taking_part())
		return BEHIND(sem_clockwait)(semaphore, clock, time);
	return taken(semaphore, due_ps(clock, time) + 1);
}

EXPORT int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict time)
{
	if (!taking_part())
		return BEHIND(sem_timedwait)(semaphore, time);
	return taken(semaphore, due_ps(CLOCK_REALTIME, time) + 1);
}

EXPORT int sem_trywait(sem_t *semaphore)
{
	int done = BEHIND(sem_trywait)(semaphore);

	if (done && errno == EAGAIN && taking_part())
		found_nothing((uintptr_t)semaphore);
	return done;
}

EXPORT int sem_post(sem_t *semaphore)
{
	touch(); /* Another process may wait for it. */
	return BEHIND(sem_post)(semaphore);
}

/* Conditions and barriers: what the program has room for is used in our own way. */

/* glibc has them twice; those of old programs, of one word, are not ours. */
#define CONDITION(name)                                                                            \
	({                                                                                         \
		static __typeof__(&name) found;                                                    \
		if (!found)                                                                        \
			found = (__typeof__(&name))dlvsym(RTLD_NEXT, #name, "GLIBC_2.3.2");        \
		found;                                                                             \
	})

struct waiter {
	struct waiter *next;
	bool signalled;
};

struct condition {
	struct waiter *first;
	clockid_t clock; /* after 8 bytes of zeros, as of PTHREAD_COND_INITIALIZER: CLOCK_REALTIME */
};

_Static_assert(sizeof(struct condition) <= sizeof(pthread_cond_t), "room in a condition");

static struct condition *inside(pthread_cond_t *condition)
{
	return (struct condition *)condition;
}

EXPORT int pthread_cond_init(pthread_cond_t *restrict condition,
			     const pthread_condattr_t *restrict attributes)
{
	if (!taking_part())
		return CONDITION(pthread_cond_init)(condition, attributes);
	memset(condition, 0, sizeof(*condition));
	if (attributes)
		pthread_condattr_getclock(attributes, &inside(condition)->clock);
	return 0;
}

EXPORT int pthread_cond_destroy(pthread_cond_t *condition)
{
	return taking_part() ? 0 : CONDITION(pthread_cond_destroy)(condition);
}

static void relock(void *mutex)
{
	pthread_mutex_lock(mutex);
}

struct waited {
	pthread_cond_t *condition;
	struct waiter *waiter;
	pthread_mutex_t *mutex;
};

static void give_up(struct condition *condition, struct waiter *waiter)
{
	struct waiter **at = &condition->first;

	while (*at && *at != waiter)
		at = &(*at)->next;
	if (*at)
		*at = waiter->next;
}

static void cancelled(void *given)
{
	struct waited *waited = given;

	give_up(inside(waited->condition), waited->waiter);
	relock(waited->mutex);
}

static int wait_for(pthread_cond_t *condition, pthread_mutex_t *mutex, uint64_t until)
{
	struct waiter waiter = {NULL, false};
	struct waited waited = {condition, &waiter, mutex};
	struct waiter **last = &inside(condition)->first;
	int error = pthread_mutex_unlock(mutex);

	if (error)
		return error;
	while (*last)
		last = &(*last)->next;
	*last = &waiter;
	pthread_cleanup_push(cancelled, &waited);
	while (!waiter.signalled && !(until && now_ps() >= until)) {
		WAIT_FOR_LOCK(until, "for the condition at %p", (void *)condition);
		pthread_testcancel();
	}
	pthread_cleanup_pop(0);
	if (!waiter.signalled)
		give_up(inside(condition), &waiter);
	error = pthread_mutex_lock(mutex);
	return error ? error : waiter.signalled ? 0 : ETIMEDOUT;
}

EXPORT int pthread_cond_wait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex)
{
	if (!taking_part())
		return CONDITION(pthread_cond_wait)(condition, mutex);
	return wait_for(condition, mutex, 0);
}

EXPORT int pthread_cond_clockwait(pthread_cond_t *restrict condition,
				  pthread_mutex_t *restrict mutex, clockid_t clock,
				  const struct timespec *restrict time)
{
	if (!taking_part())
		return BEHIND(pthread_cond_clockwait)(condition, mutex, clock, time);
	return wait_for(condition, mutex, due_ps(clock, time) + 1);
}

EXPORT int pthread_cond_timedwait(pthread_cond_t *restrict condition,
				  pthread_mutex_t *restrict mutex,
				  const struct timespec *restrict time)
{
	if (!taking_part())
		return CONDITION(pthread_cond_timedwait)(condition, mutex, time);
	return wait_for(condition, mutex, due_ps(inside(condition)->clock, time) + 1);
}

static bool signal_first(struct condition *condition)
{
	struct waiter *first = condition->first;

	if (!first)
		return false;
	condition->first = first->next;
	first->signalled = true;
	touch();
	return true;
}

EXPORT int pthread_cond_signal(pthread_cond_t *condition)
{
	if (!taking_part())
		return CONDITION(pthread_cond_signal)(condition);
	signal_first(inside(condition));
	return 0;
}

EXPORT int pthread_cond_broadcast(pthread_cond_t *condition)
{
	if (!taking_part())
		return CONDITION(pthread_cond_broadcast)(condition);
	while (signal_first(inside(condition)))
		;
	return 0;
}

struct barrier {
	unsigned int count;
	unsigned int here;
	unsigned int opened;
};

_Static_assert(sizeof(struct barrier) <= sizeof(pthread_barrier_t), "room in a barrier");

EXPORT int pthread_barrier_init(pthread_barrier_t *restrict barrier,
				const pthread_barrierattr_t *restrict attributes, unsigned int count)
{
	if (!taking_part() || !count)
		return BEHIND(pthread_barrier_init)(barrier, attributes, count);
	*(struct barrier *)barrier = (struct barrier){count, 0, 0};
	return 0;
}

EXPORT int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
	return taking_part() ? 0 : BEHIND(pthread_barrier_destroy)(barrier);
}

EXPORT int pthread_barrier_wait(pthread_barrier_t *barrier)
{
	struct barrier *inside = (struct barrier *)barrier;
	unsigned int opened;

	if (!taking_part())
		return BEHIND(pthread_barrier_wait)(barrier);
	opened = inside->opened;
	if (++inside->here == inside->count) {
		inside->here = 0;
		inside->opened++;
		touch();
		return PTHREAD_BARRIER_SERIAL_THREAD;
	}
	while (inside->opened == opened)
		WAIT_FOR_LOCK(0, "for %u more at the barrier at %p", inside->count - inside->here,
			      (void *)barrier);
	return 0;
}
