/* Processors: programs may run on all that there are, and on which one they do makes no difference. */
#define _GNU_SOURCE
#include "channel.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static int all(size_t size, cpu_set_t *set)
{
	size_t count = sysconf(_SC_NPROCESSORS_CONF);

	if (size * 8 < count)
		return EINVAL;
	CPU_ZERO_S(size, set);
	for (size_t i = 0; i < count; i++)
		CPU_SET_S(i, size, set);
	return 0;
}

EXPORT int sched_getaffinity(pid_t process, size_t size, cpu_set_t *set)
{
	if (!taking_part())
		return BEHIND(sched_getaffinity)(process, size, set);
	if (!all(size, set))
		return 0;
	errno = EINVAL;
	return -1;
}

EXPORT int pthread_getaffinity_np(pthread_t thread, size_t size, cpu_set_t *set)
{
	if (!taking_part())
		return BEHIND(pthread_getaffinity_np)(thread, size, set);
	return all(size, set);
}

EXPORT int sched_setaffinity(pid_t process, size_t size, const cpu_set_t *set)
{
	if (!taking_part())
		return BEHIND(sched_setaffinity)(process, size, set);
	return 0;
}

EXPORT int pthread_setaffinity_np(pthread_t thread, size_t size, const cpu_set_t *set)
{
	if (!taking_part())
		return BEHIND(pthread_setaffinity_np)(thread, size, set);
	return 0;
}
