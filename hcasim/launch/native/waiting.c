/* Waiting for one of several descriptors. */
#define _GNU_SOURCE
#include "clocks.h"
#include "sockets.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>

struct wait {
	bool limited;
	bool at_once;
	uint64_t until;
	struct handled before;
	sigset_t kept;
	bool masked;
	char what[64]; /* is waited for */
};

static struct wait begin_wait(const struct timespec *timeout, const sigset_t *mask)
{
	struct wait wait = {.before = handled(), .what = ""};

	if (timeout) {
		wait.limited = true;
		wait.at_once = !timeout->tv_sec && !timeout->tv_nsec;
		wait.until = now_ps() + length_ps(timeout);
	}
	if (mask) {
		pthread_sigmask(SIG_SETMASK, mask, &wait.kept);
		wait.masked = true;
	}
	settle_timers(0);
	return wait;
}

/* Whether a signal that the program does not know of has ended the look. */
static bool of_ours(const struct wait *wait, int found)
{
	return found < 0 && errno == EINTR && !interrupted(wait->before, true);
}

/* What the last look found; whether to look again. */
static bool again(struct wait *wait, int found)
{
	if (found) {
		note(FOUND);
		return false;
	}
	if (wait->at_once) {
		spend(LOOK_PS);
		found_nothing(-1);
		return false;
	}
	if (wait->limited && now_ps() >= wait->until)
		return false;
	return true;
}

/* Add a descriptor to what is waited for, if there is room. */
static void name_one(struct wait *wait, int descriptor)
{
	size_t size = strlen(wait->what);

	if (size < sizeof(wait->what) - 12)
		sprintf(wait->what + size, "%s%d", size ? ", " : "", descriptor);
}

static void rest(struct wait *wait)
{
	park(settle_timers(wait->until), wait->what[0] ? "for descriptor %s" : "%s", wait->what);
	pthread_testcancel();
	settle_timers(0);
}

static int end_wait(struct wait *wait, int found, bool ended)
{
	int kept = errno;

	if (wait->masked)
		pthread_sigmask(SIG_SETMASK, &wait->kept, NULL);
	errno = kept;
	if (!ended)
		return found;
	errno = EINTR;
	return -1;
}

/* Look until something is found; name_all tells what is looked at. */
#define WAIT(wait, look, name_all)                                                                 \
	({                                                                                         \
		int found;                                                                         \
		bool ended;                                                                        \
		for (;;) {                                                                         \
			do                                                                         \
				found = (look);                                                    \
			while (of_ours(&(wait), found));                                           \
			ended = !found && interrupted((wait).before, true);                        \
			if (ended || !again(&(wait), found))                                       \
				break;                                                             \
			if (!(wait).what[0])                                                       \
				name_all;                                                          \
			rest(&(wait));                                                             \
		}                                                                                  \
		end_wait(&(wait), found, ended);                                                   \
	})

static const struct timespec *milliseconds(int timeout, struct timespec *time)
{
	if (timeout < 0)
		return NULL;
	*time = (struct timespec){timeout / 1000, timeout % 1000 * 1000000};
	return time;
}

EXPORT int ppoll(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout,
		 const sigset_t *mask)
{
	struct wait wait;

	if (!taking_part())
		return BEHIND(ppoll)(descriptors, count, timeout, mask);
	wait = begin_wait(timeout, mask);
	return WAIT(wait, BEHIND(poll)(descriptors, count, 0), for (nfds_t i = 0; i < count; i++)
				name_one(&wait, descriptors[i].fd));
}

EXPORT int poll(struct pollfd *descriptors, nfds_t count, int timeout)
{
	struct timespec time;

	if (!taking_part())
		return BEHIND(poll)(descriptors, count, timeout);
	return ppoll(descriptors, count, milliseconds(timeout, &time), NULL);
}

EXPORT int __poll_chk(struct pollfd *descriptors, nfds_t count, int timeout, size_t room)
{
	if (room / sizeof(*descriptors) < count)
		abort();
	return poll(descriptors, count, timeout);
}

EXPORT int __ppoll_chk(struct pollfd *descriptors, nfds_t count, const struct timespec *timeout,
		       const sigset_t *mask, size_t room)
{
	if (room / sizeof(*descriptors) < count)
		abort();
	return ppoll(descriptors, count, timeout, mask);
}

struct sets {
	fd_set *given[3];
	fd_set wanted[3];
	size_t size;
};

static bool is_wanted(const struct sets *sets, int descriptor)
{
	for (int i = 0; i < 3; i++)
		if (sets->given[i] && FD_ISSET(descriptor, &sets->wanted[i]))
			return true;
	return false;
}

static int look_at(struct sets *sets, int count)
{
	struct timeval none = {0, 0};

	for (int i = 0; i < 3; i++)
		if (sets->given[i])
			memcpy(sets->given[i], &sets->wanted[i], sets->size);
	return BEHIND(select)(count, sets->given[0], sets->given[1], sets->given[2], &none);
}

EXPORT int pselect(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict faults,
		   const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
	struct sets sets = {.given = {in, out, faults}};
	struct wait wait;

	if (!taking_part() || count > FD_SETSIZE)
		return BEHIND(pselect)(count, in, out, faults, timeout, mask);
	sets.size = (count + __NFDBITS - 1) / __NFDBITS * sizeof(__fd_mask);
	for (int i = 0; i < 3; i++)
		if (sets.given[i])
			memcpy(&sets.wanted[i], sets.given[i], sets.size);
	wait = begin_wait(timeout, mask);
	return WAIT(wait, look_at(&sets, count), for (int one = 0; one < count; one++)
				if (is_wanted(&sets, one)) name_one(&wait, one));
}

EXPORT int select(int count, fd_set *restrict in, fd_set *restrict out, fd_set *restrict faults,
		  struct timeval *restrict timeout)
{
	struct timespec time, *limit = NULL;
	uint64_t began;
	int found;

	if (!taking_part())
		return BEHIND(select)(count, in, out, faults, timeout);
	if (timeout) {
		time = (struct timespec){timeout->tv_sec, timeout->tv_usec * 1000};
		limit = &time;
	}
	began = now_ps();
	found = pselect(count, in, out, faults, limit, NULL);
	if (timeout) { /* Linux tells what is left. */
		uint64_t took = now_ps() - began, all = length_ps(&time);
		struct timespec left = as_length(took < all ? all - took : 0);

		*timeout = (struct timeval){left.tv_sec, left.tv_nsec / 1000};
	}
	return found;
}

EXPORT int epoll_pwait2(int descriptor, struct epoll_event *events, int most,
			const struct timespec *timeout, const sigset_t *mask)
{
	struct wait wait;

	if (!taking_part())
		return BEHIND(epoll_pwait2)(descriptor, events, most, timeout, mask);
	wait = begin_wait(timeout, mask);
	return WAIT(wait, BEHIND(epoll_wait)(descriptor, events, most, 0),
		    name_one(&wait, descriptor));
}

EXPORT int epoll_pwait(int descriptor, struct epoll_event *events, int most, int timeout,
		       const sigset_t *mask)
{
	struct timespec time;

	if (!taking_part())
		return BEHIND(epoll_pwait)(descriptor, events, most, timeout, mask);
	return epoll_pwait2(descriptor, events, most, milliseconds(timeout, &time), mask);
}

EXPORT int epoll_wait(int descriptor, struct epoll_event *events, int most, int timeout)
{
	if (!taking_part())
		return BEHIND(epoll_wait)(descriptor, events, most, timeout);
	return epoll_pwait(descriptor, events, most, timeout, NULL);
}
