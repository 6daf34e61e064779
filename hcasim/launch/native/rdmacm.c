#define _GNU_SOURCE
#include "rdmacm.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "channel.h"
#include "verbs.h"

#define DESCRIPTORS 4096
#define MISC_MAJOR 10

/* Commands of rdma/rdma_user_cm.h that are not only passed on. */
enum { CREATE_ID = 0, GET_EVENT = 12, SET_OPTION = 14, MIGRATE_ID = 18 };
#define WITHOUT_ANSWER                                                                             \
	(1 << 3 | 1 << 4 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 | 1 << 10 | 1 << 14 | 1 << 15 |       \
	 1 << 20 | 1 << 21)

struct header {
	uint32_t command;
	uint16_t in, out;
};

struct set_option {
	uint64_t value;
	uint32_t id, level, name, length;
};

struct migrate_id {
	uint64_t answer;
	uint32_t id, from;
};

/* The simulator's handles of the descriptors; 0 for those that are none of these. */
static uint64_t handles[DESCRIPTORS];

bool rdmacm_is(const char *path)
{
	return taking_part() && !strcmp(path, "/dev/infiniband/rdma_cm");
}

bool rdmacm_owns(int descriptor)
{
	return descriptor >= 0 && descriptor < DESCRIPTORS && handles[descriptor];
}

/* A child has the descriptors, but none of what its parent has made of the device. */
static void forget(void)
{
	memset(handles, 0, sizeof(handles));
}

int rdmacm_open(int flags)
{
	static bool begun;
	struct words words;
	int ends[2], error;

	if (!begun) {
		begun = true;
		pthread_atfork(NULL, NULL, forget);
	}
	if (syscall(SYS_pipe2, ends, flags & (O_CLOEXEC | O_NONBLOCK)) < 0)
		return -1;
	words = (struct words){{ends[1]}};
	error = ends[0] < DESCRIPTORS ? ask(CALL_CM_OPEN, &words) : EMFILE;
	syscall(SYS_close, ends[1]);
	if (error) {
		syscall(SYS_close, ends[0]);
		errno = error;
		return -1;
	}
	handles[ends[0]] = words.w[0];
	return ends[0];
}

int rdmacm_close(int descriptor)
{
	struct words words = {{handles[descriptor]}};

	handles[descriptor] = 0;
	ask(CALL_CM_CLOSE, &words);
	return syscall(SYS_close, descriptor);
}

static bool waits(int descriptor)
{
	return !(syscall(SYS_fcntl, descriptor, F_GETFL) & O_NONBLOCK);
}

ssize_t rdmacm_write(int descriptor, const void *command, size_t size)
{
	const struct header *header = command;
	struct words words;
	size_t in = size - sizeof(*header), came;
	uint64_t place = 0;
	char sent[1024], got[1024];
	bool may_wait = waits(descriptor);
	int error;

	if (size < sizeof(*header) || header->in > in || in > sizeof(sent)) {
		errno = EINVAL;
		return -1;
	}
	in = header->in;
	memcpy(sent, header + 1, in);
	if (header->command == SET_OPTION && in >= sizeof(struct set_option)) {
		struct set_option *option = (struct set_option *)sent;

		if (option->length > sizeof(sent) - in) {
			errno = EINVAL;
			return -1;
		}
		memcpy(sent + in, (void *)(uintptr_t)option->value, option->length);
		in += option->length;
	}
	if (header->command == MIGRATE_ID && in >= sizeof(struct migrate_id)) {
		struct migrate_id *moved = (struct migrate_id *)sent;

		if (!rdmacm_owns(moved->from)) {
			errno = EBADF;
			return -1;
		}
		moved->from = handles[moved->from];
	}
	do {
		if (!rdmacm_owns(descriptor)) { /* Another thread has closed it. */
			errno = EBADF;
			return -1;
		}
		words = (struct words){{handles[descriptor], header->command, may_wait}};
		error = ask_with(CALL_CM_WRITE, &words, sent, in, got, sizeof(got), &came);
	} while (error == EAGAIN && header->command == GET_EVENT && may_wait &&
		 park(0, "for an event of the connection manager, descriptor %d", descriptor));
	if (words.w[0]) {
		/* The pipe has had a byte, and there is no event any more. */
		char byte;

		syscall(SYS_read, descriptor, &byte, 1);
	}
	if (error) {
		errno = error;
		return -1;
	}
	if (!(WITHOUT_ANSWER & 1 << header->command))
		memcpy(&place, sent + (header->command == CREATE_ID ? 8 : 0), sizeof(place));
	if (place)
		memcpy((void *)(uintptr_t)place, got, came < header->out ? came : header->out);
	return size;
}

/* librdmacm wants a character device. */
#define FSTAT(name, structure)                                                                     \
	EXPORT int name(int descriptor, struct structure *found)                                   \
	{                                                                                          \
		int failed = BEHIND(name)(descriptor, found);                                      \
                                                                                                   \
		if (!failed && rdmacm_owns(descriptor)) {                                          \
			found->st_mode = S_IFCHR | 0666;                                           \
			found->st_rdev = makedev(MISC_MAJOR, 0);                                   \
		}                                                                                  \
		return failed;                                                                     \
	}

FSTAT(fstat, stat)
FSTAT(fstat64, stat64)
