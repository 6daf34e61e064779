/* Files of the adapter that programs look for: its device, which they may read and write. */
#define _GNU_SOURCE
#include "channel.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_device(const char *path)
{
	return taking_part() && !strcmp(path, "/dev/infiniband/uverbs0");
}

EXPORT int access(const char *path, int how)
{
	return is_device(path) ? 0 : BEHIND(access)(path, how);
}

#define STAT(name, structure)                                                                      \
	EXPORT int name(const char *restrict path, struct structure *restrict found)               \
	{                                                                                          \
		if (!is_device(path))                                                              \
			return BEHIND(name)(path, found);                                          \
		*found = (struct structure){.st_mode = S_IFCHR | 0666, .st_nlink = 1};             \
		return 0;                                                                          \
	}

STAT(stat, stat)
STAT(stat64, stat64)
