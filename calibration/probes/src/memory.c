#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "control.h"

enum { HUGE_SHIFT = 26 /* MAP_HUGE_SHIFT */, CHUNK = 1 << 24 };

/* A client says what both ends map: neither is to starve its host. */
static bool is_granted(struct session *s, size_t more)
{
    size_t most = (size_t)sysconf(_SC_PHYS_PAGES) / 2 * (size_t)sysconf(_SC_PAGESIZE);
    s->mapped += more;
    return s->mapped <= most || fail(&s->failure,
                                     "buffers: found %zu bytes or more; allowed: at most %zu, "
                                     "half of the memory of this host",
                                     s->mapped, most);
}

/* Clears memory, which may take longer than the point has. */
static bool touch(struct session *s, uint8_t *data, size_t size)
{
    for (size_t done = 0; done < size; done += CHUNK) {
        if (!session_goes_on(s))
            return false;
        memset(data + done, 0, size - done < CHUNK ? size - done : CHUNK);
    }
    return true;
}

bool buffer_map(struct session *s, struct buffer *buffer, size_t size)
{
    size_t page = (size_t)get(s, PAGE_SIZE);
    int flags = MAP_PRIVATE | MAP_ANONYMOUS;
    *buffer = (struct buffer){.size = size, .mapped = (size + page - 1) / page * page};
    if (!is_granted(s, buffer->mapped))
        return false;
    if (page > (size_t)sysconf(_SC_PAGESIZE))
        flags |= MAP_HUGETLB | (int)((unsigned)__builtin_ctzll(page) << HUGE_SHIFT);
    buffer->data = mmap(NULL, buffer->mapped, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (buffer->data == MAP_FAILED) {
        buffer->data = NULL;
        char call[80];
        snprintf(call, sizeof call, "%zu bytes in pages of %zu: mmap", size, page);
        return fail_errno(&s->failure, call);
    }
    /* No page becomes huge or is first touched while something is timed. */
    if (!(flags & MAP_HUGETLB))
        (void)madvise(buffer->data, buffer->mapped, MADV_NOHUGEPAGE);
    return touch(s, buffer->data, buffer->mapped);
}

struct ibv_mr *buffer_register(struct session *s, const struct buffer *buffer, int port)
{
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;
    if (s->ports[port].device.atomic_cap != IBV_ATOMIC_NONE)
        access |= IBV_ACCESS_REMOTE_ATOMIC;
    return ibv_reg_mr(s->pd[port], buffer->data, buffer->size, access);
}

bool buffer_make(struct session *s, struct buffer *buffer, size_t size, int port)
{
    if (!buffer_map(s, buffer, size))
        return false;
    /* Too short on purpose: the peer writes, or we send, beyond the end. */
    if (get(s, FAULT) == WRONG_SIZE && size > 1)
        buffer->size = size / 2;
    buffer->mr = buffer_register(s, buffer, port);
    buffer->size = size;
    return buffer->mr || fail_errno(&s->failure, "ibv_reg_mr");
}

void buffer_free(struct buffer *buffer)
{
    if (buffer->mr)
        ibv_dereg_mr(buffer->mr);
    if (buffer->data)
        munmap(buffer->data, buffer->mapped);
    *buffer = (struct buffer){0};
}

bool exchange_targets(struct session *s, const struct buffer *mine, int count,
                      struct target *theirs)
{
    /* One line at a time each way, so that neither end fills the other's socket. */
    for (int i = 0; i < count; i++) {
        char line[LONGEST_WORD];
        if (!control_say(s, "memory %" PRIu64 " %" PRIu32, (uint64_t)(uintptr_t)mine[i].data,
                         mine[i].mr->rkey) ||
            !control_hear(s, line))
            return false;
        if (sscanf(line, "memory %" SCNu64 " %" SCNu32, &theirs[i].address, &theirs[i].rkey) != 2)
            return fail(&s->failure, "heard '%.100s' instead of memory", line);
        if (get(s, FAULT) == WRONG_RKEY && !s->server)
            theirs[i].rkey ^= 0x80;
    }
    return control_meet(s);
}
