/* Files that programs look for: the adapter's devices, which they may read and write, and files of the
 * system that tell of the processor and of the machine, which are those of the node. */
#define _GNU_SOURCE
#include "channel.h"
#include "rdmacm.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
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

/* Its frequency is the simulated processor's. */
static void show_processor(int file)
{
	FILE *real = BEHIND(fopen)("/proc/cpuinfo", "re");
	char line[8192];

	while (real && fgets(line, sizeof(line), real))
		if (!strncmp(line, "cpu MHz", 7))
			dprintf(file, "cpu MHz\t\t: %.3f\n", host()->hertz / 1e6);
		else
			dprintf(file, "%s", line);
	if (real)
		fclose(real);
}

static void show_name(int file)
{
	dprintf(file, "node%lu\n", host()->node);
}

/* Libraries take two processes for neighbours that share memory if this is the same for both: each of
 * its parts differs between nodes. Nodes are counted from 1, as 0 is no identifier. */
static void show_boot(int file)
{
	unsigned long number = host()->node + 1;

	dprintf(file, "%08lx-%04lx-4000-8000-%012lx\n", number, number & 0xffff, number);
}

static void show_machine(int file)
{
	dprintf(file, "%032lx\n", host()->node + 1);
}

/* Another one at each time. */
static void show_drawn(int file)
{
	uint16_t part[8];

	getrandom(part, sizeof(part), 0);
	dprintf(file, "%04x%04x-%04x-4%03x-%04x-%04x%04x%04x\n", part[0], part[1], part[2],
		part[3] & 0xfff, (part[4] & 0x3fff) | 0x8000, part[5], part[6], part[7]);
}

static const struct {
	const char *path;
	void (*show)(int file);
} shown[] = {
	{"/proc/cpuinfo", show_processor},
	{"/proc/sys/kernel/hostname", show_name},
	{"/proc/sys/kernel/random/boot_id", show_boot},
	{"/proc/sys/kernel/random/uuid", show_drawn},
	{"/etc/hostname", show_name},
	{"/etc/machine-id", show_machine},
	{"/var/lib/dbus/machine-id", show_machine},
};

/* Open what the node has under a path; -1 if that is what the system has. */
static int open_shown(const char *path)
{
	for (size_t i = 0; taking_part() && i < sizeof(shown) / sizeof(*shown); i++)
		if (!strcmp(path, shown[i].path)) {
			int made = memfd_create(strrchr(path, '/') + 1, MFD_CLOEXEC);

			shown[i].show(made);
			lseek(made, 0, SEEK_SET);
			return made;
		}
	return -1;
}

static int open_ours(const char *path, int flags)
{
	int made = rdmacm_is(path) ? rdmacm_open(flags) : open_shown(path);

	if (made >= 0 && !(flags & O_CLOEXEC))
		BEHIND(fcntl)(made, F_SETFD, 0);
	return made;
}

#define MODE(flags)                                                                                \
	({                                                                                         \
		va_list rest;                                                                      \
		mode_t mode;                                                                       \
                                                                                                   \
		va_start(rest, flags);                                                             \
		mode = va_arg(rest, mode_t);                                                       \
		va_end(rest);                                                                      \
		mode;                                                                              \
	})

#define OPEN(name, checked)                                                                        \
	EXPORT int name(const char *path, int flags, ...)                                          \
	{                                                                                          \
		int made = open_ours(path, flags);                                                 \
		mode_t mode = MODE(flags);                                                         \
                                                                                                   \
		return made >= 0 ? made : BEHIND(name)(path, flags, mode);                         \
	}                                                                                          \
                                                                                                   \
	EXPORT int checked(const char *path, int flags)                                            \
	{                                                                                          \
		return name(path, flags);                                                          \
	}

#define OPENAT(name, checked)                                                                      \
	EXPORT int name(int folder, const char *path, int flags, ...)                              \
	{                                                                                          \
		int made = open_ours(path, flags);                                                 \
		mode_t mode = MODE(flags);                                                         \
                                                                                                   \
		return made >= 0 ? made : BEHIND(name)(folder, path, flags, mode);                 \
	}                                                                                          \
                                                                                                   \
	EXPORT int checked(int folder, const char *path, int flags)                                \
	{                                                                                          \
		return name(folder, path, flags);                                                  \
	}

#define FOPEN(name)                                                                                \
	EXPORT FILE *name(const char *path, const char *mode)                                      \
	{                                                                                          \
		int made = open_ours(path, strchr(mode, 'e') ? O_CLOEXEC : 0);                     \
                                                                                                   \
		return made >= 0 ? fdopen(made, mode) : BEHIND(name)(path, mode);                  \
	}

OPEN(open, __open_2)
OPEN(open64, __open64_2)
OPENAT(openat, __openat_2)
OPENAT(openat64, __openat64_2)
FOPEN(fopen)
FOPEN(fopen64)
