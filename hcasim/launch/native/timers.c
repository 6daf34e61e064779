/* Timers in simulated time: those that send signals are the simulator's, those with a descriptor ours. */
#define _GNU_SOURCE
#include "channel.h"
#include "clocks.h"
#include "signals.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/types.h>
#include <unistd.h>

#define MICROSECOND 1000000ull

/* Timers of signals by number: that of alarm is 0, the others those of timer_create. */

static struct words set_timer(uint64_t number, uint64_t due, uint64_t every, int signal)
{
	struct words words = {{number, due, every, signal}};

	ask(CALL_TIMER, &words);
	return words; /* What was left, and how often it came. */
}

static struct words get_timer(uint64_t number)
{
	return set_timer(number, UINT64_MAX, 0, 0);
}

EXPORT unsigned int alarm(unsigned int seconds)
{
	struct timespec length = {seconds, 0};
	uint64_t left;

	if (!taking_part())
		return BEHIND(alarm)(seconds);
	left = set_timer(0, seconds ? now_ps() + length_ps(&length) : 0, 0, SIGALRM).w[0];
	return (left + 999999999999) / 1000000000000;
}

static uint64_t timeval_ps(const struct timeval *time)
{
	struct timespec length = {time->tv_sec, time->tv_usec * 1000};

	return length_ps(&length);
}

static struct timeval as_timeval(uint64_t ps)
{
	return (struct timeval){ps / MICROSECOND / 1000000, ps / MICROSECOND % 1000000};
}

static void tell_interval(struct itimerval *value, struct words words)
{
	value->it_value = as_timeval(words.w[0]);
	value->it_interval = as_timeval(words.w[1]);
}

EXPORT int setitimer(__itimer_which_t which, const struct itimerval *restrict value,
		     struct itimerval *restrict old)
{
	struct words words;
	uint64_t first;

	if (!taking_part())
		return BEHIND(setitimer)(which, value, old);
	if (which != ITIMER_REAL) {
		say_once("setitimer", "timers of processor time never end");
		return 0;
	}
	first = timeval_ps(&value->it_value);
	words = set_timer(0, first ? now_ps() + first : 0, timeval_ps(&value->it_interval), SIGALRM);
	if (old)
		tell_interval(old, words);
	return 0;
}

EXPORT int getitimer(__itimer_which_t which, struct itimerval *value)
{
	if (!taking_part())
		return BEHIND(getitimer)(which, value);
	memset(value, 0, sizeof(*value));
	if (which == ITIMER_REAL)
		tell_interval(value, get_timer(0));
	return 0;
}

EXPORT useconds_t ualarm(useconds_t us, useconds_t interval)
{
	struct itimerval value = {{interval / 1000000, interval % 1000000}, {us / 1000000, us % 1000000}};
	struct itimerval old;

	if (!taking_part())
		return BEHIND(ualarm)(us, interval);
	setitimer(ITIMER_REAL, &value, &old);
	return old.it_value.tv_sec * 1000000 + old.it_value.tv_usec;
}

#define TIMERS 256

static struct {
	bool made;
	clockid_t clock;
	int signal; /* with the number of the timer, which it comes back with */
	union sigval value;
} made[TIMERS];

union sigval timer_value(int number)
{
	return made[number].value;
}

EXPORT int timer_create(clockid_t clock, struct sigevent *event, timer_t *timer)
{
	intptr_t number = 1;

	if (!taking_part())
		return BEHIND(timer_create)(clock, event, timer);
	while (number < TIMERS && made[number].made)
		number++;
	if (number == TIMERS) {
		errno = EAGAIN;
		return -1;
	}
	if (event && event->sigev_notify == SIGEV_THREAD) {
		say_once("timer_create", "timers start no threads");
		errno = EOPNOTSUPP;
		return -1;
	}
	made[number].made = true;
	made[number].clock = clock;
	made[number].signal = !event			              ? SIGALRM
			      : event->sigev_notify == SIGEV_NONE ? 0
							          : event->sigev_signo;
	if (made[number].signal)
		made[number].signal |= number << TIMER_BITS;
	made[number].value = event ? event->sigev_value : (union sigval){.sival_int = number};
	*timer = (timer_t)number;
	return 0;
}

static bool known(timer_t timer)
{
	intptr_t number = (intptr_t)timer;

	if (number > 0 && number < TIMERS && made[number].made)
		return true;
	errno = EINVAL;
	return false;
}

static void tell_timer(struct itimerspec *value, struct words words)
{
	value->it_value = as_length(words.w[0]);
	value->it_interval = as_length(words.w[1]);
}

/* When a timer is due; 0 if it is stopped. */
static uint64_t first_ps(clockid_t clock, bool absolute, const struct timespec *time)
{
	uint64_t due;

	if (!time->tv_sec && !time->tv_nsec)
		return 0;
	due = absolute ? due_ps(clock, time) : now_ps() + length_ps(time);
	return due ? due : 1;
}

EXPORT int timer_settime(timer_t timer, int flags, const struct itimerspec *restrict value,
			 struct itimerspec *restrict old)
{
	intptr_t number = (intptr_t)timer;
	struct words words;

	if (!taking_part())
		return BEHIND(timer_settime)(timer, flags, value, old);
	if (!known(timer))
		return -1;
	words = set_timer(number,
			  first_ps(made[number].clock, flags & TIMER_ABSTIME, &value->it_value),
			  length_ps(&value->it_interval), made[number].signal);
	if (old)
		tell_timer(old, words);
	return 0;
}

EXPORT int timer_gettime(timer_t timer, struct itimerspec *value)
{
	if (!taking_part())
		return BEHIND(timer_gettime)(timer, value);
	if (!known(timer))
		return -1;
	tell_timer(value, get_timer((intptr_t)timer));
	return 0;
}

EXPORT int timer_getoverrun(timer_t timer)
{
	if (!taking_part())
		return BEHIND(timer_getoverrun)(timer);
	return known(timer) ? 0 : -1;
}

EXPORT int timer_delete(timer_t timer)
{
	if (!taking_part())
		return BEHIND(timer_delete)(timer);
	if (!known(timer))
		return -1;
	set_timer((intptr_t)timer, 0, 0, 0);
	made[(intptr_t)timer].made = false;
	return 0;
}

/* Timers with a descriptor: one of eventfd, which is told when they are due. */

static struct {
	int descriptor;
	clockid_t clock;
	uint64_t due;
	uint64_t every;
} watched[TIMERS];
static int watching;

static int find(int descriptor)
{
	for (int i = 0; i < watching; i++)
		if (watched[i].descriptor == descriptor)
			return i;
	return -1;
}

EXPORT int timerfd_create(clockid_t clock, int flags)
{
	int made, place;

	if (!taking_part())
		return BEHIND(timerfd_create)(clock, flags);
	made = eventfd(0, (flags & TFD_CLOEXEC ? EFD_CLOEXEC : 0) |
				  (flags & TFD_NONBLOCK ? EFD_NONBLOCK : 0));
	if (made < 0)
		return made;
	place = find(made);
	if (place < 0)
		place = watching < TIMERS ? watching++ : -1;
	if (place < 0) {
		close(made);
		errno = EMFILE;
		return -1;
	}
	watched[place].descriptor = made;
	watched[place].clock = clock;
	watched[place].due = watched[place].every = 0;
	return made;
}

EXPORT int timerfd_gettime(int descriptor, struct itimerspec *value)
{
	int place = taking_part() ? find(descriptor) : -1;
	uint64_t now;

	if (place < 0)
		return BEHIND(timerfd_gettime)(descriptor, value);
	settle_timers(0);
	now = now_ps();
	value->it_value = as_length(watched[place].due ? watched[place].due - now : 0);
	value->it_interval = as_length(watched[place].every);
	return 0;
}

EXPORT int timerfd_settime(int descriptor, int flags, const struct itimerspec *value,
			   struct itimerspec *old)
{
	int place = taking_part() ? find(descriptor) : -1;
	struct pollfd ready = {descriptor, POLLIN, 0};
	uint64_t forgotten;

	if (place < 0)
		return BEHIND(timerfd_settime)(descriptor, flags, value, old);
	if (old)
		timerfd_gettime(descriptor, old);
	if (BEHIND(poll)(&ready, 1, 0) == 1 && BEHIND(read)(descriptor, &forgotten, 8) != 8)
		return -1;
	watched[place].due = first_ps(watched[place].clock, flags & TFD_TIMER_ABSTIME,
				      &value->it_value);
	watched[place].every = length_ps(&value->it_interval);
	touch();
	return 0;
}

uint64_t settle_timers(uint64_t until)
{
	uint64_t now = watching ? now_ps() : 0, times;

	for (int i = 0; i < watching; i++) {
		if (watched[i].due && watched[i].due <= now) {
			times = 1;
			if (watched[i].every)
				times += (now - watched[i].due) / watched[i].every;
			if (BEHIND(write)(watched[i].descriptor, &times, sizeof(times)) < 0)
				watched[i].due = 0; /* It has been closed. */
			else
				watched[i].due = watched[i].every
							 ? watched[i].due + times * watched[i].every
							 : 0;
		}
		if (watched[i].due && (!until || watched[i].due < until))
			until = watched[i].due;
	}
	return until;
}
