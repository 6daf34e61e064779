#define _GNU_SOURCE
#include "clocks.h"
#include "sockets.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>

static bool outside(const struct stat *status)
{
	const char *files = getenv("HCASIM_OUTSIDE");
	char name[64];

	snprintf(name, sizeof(name), ",%lu:%lu,", status->st_dev, status->st_ino);
	return files && strstr(files, name);
}

bool may_wait(int descriptor)
{
	struct stat status;
	int domain = AF_UNIX;
	socklen_t length = sizeof(domain);
	bool found;
	int kept = errno;

	if (!taking_part())
		return false;
	found = !fstat(descriptor, &status);
	if (found && S_ISSOCK(status.st_mode))
		BEHIND(getsockopt)(descriptor, SOL_SOCKET, SO_DOMAIN, &domain, &length);
	errno = kept;
	if (!found || domain != AF_UNIX)
		return false;
	/* Those of events and timers are of no kind. */
	return (S_ISSOCK(status.st_mode) || S_ISFIFO(status.st_mode) || !(status.st_mode & S_IFMT)) &&
	       !outside(&status);
}

struct attempt begin_attempts(int descriptor, int option, bool may_wait)
{
	struct attempt attempt = {descriptor, option, -1, true, false, 0, handled()};
	int flags = BEHIND(fcntl)(descriptor, F_GETFL);

	if (flags >= 0 && (flags & O_NONBLOCK || !may_wait))
		attempt.waits = false;
	if (flags >= 0 && !(flags & O_NONBLOCK))
		attempt.flags = flags;
	return attempt;
}

void begin_attempt(const struct attempt *attempt)
{
	settle_timers(0);
	if (attempt->flags >= 0)
		BEHIND(fcntl)(attempt->descriptor, F_SETFL, attempt->flags | O_NONBLOCK);
}

static uint64_t limit(const struct attempt *attempt)
{
	struct timeval time = {0, 0};
	socklen_t length = sizeof(time);
	struct timespec given;

	if (attempt->option)
		BEHIND(getsockopt)(attempt->descriptor, SOL_SOCKET, attempt->option, &time, &length);
	given = (struct timespec){time.tv_sec, time.tv_usec * 1000};
	return length_ps(&given) ? now_ps() + length_ps(&given) : 0;
}

bool end_attempt(struct attempt *attempt, bool done)
{
	int kept = errno;
	char end[END];
	uint64_t until;

	if (attempt->flags >= 0)
		BEHIND(fcntl)(attempt->descriptor, F_SETFL, attempt->flags);
	errno = kept;
	if (done || (errno != EAGAIN && errno != EWOULDBLOCK)) {
		note(FOUND);
		return false;
	}
	if (!attempt->waits) {
		spend(LOOK_PS);
		found_nothing(attempt->descriptor);
		errno = EAGAIN;
		return false;
	}
	if (!attempt->limited) {
		attempt->until = limit(attempt);
		attempt->limited = true;
	}
	if (attempt->until && now_ps() >= attempt->until)
		return false;
	if (interrupted(attempt->before, attempt->until)) {
		errno = EINTR;
		return false;
	}
	until = settle_timers(attempt->until);
	park(until, "%s %d%s", attempt->option == SO_SNDTIMEO ? "to write descriptor" : "to read descriptor",
	     attempt->descriptor, name_end(attempt->descriptor, end));
	pthread_testcancel();
	return true;
}

void send_takes(int descriptor)
{
	spend(family_of(descriptor) ? MESSAGE_PS : LOCAL_MESSAGE_PS);
	settle();
}
