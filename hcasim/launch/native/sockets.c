#define _GNU_SOURCE
#include "rdmacm.h"
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SOCKETS 4096
#define A_BYTE 254 /* nodes: neither 0 nor 255 */

static struct {
	uint8_t family;
	bool refused; /* what has been sent last */
	struct place peer;
} known[SOCKETS];

uint32_t node_address(uint64_t node)
{
	return 0x7f000000 | (1 + node / A_BYTE) << 8 | (1 + node % A_BYTE);
}

int node_of(uint32_t address)
{
	for (uint64_t node = 0; node < host()->nodes; node++)
		if (node_address(node) == address)
			return node;
	return -1;
}

static uint32_t resolved(uint32_t address)
{
	if (address == INADDR_ANY || address == INADDR_LOOPBACK)
		return node_address(host()->node);
	return address;
}

bool place_of(const struct sockaddr *address, socklen_t length, struct place *place)
{
	if (address->sa_family == AF_INET && length >= sizeof(struct sockaddr_in)) {
		const struct sockaddr_in *in = (const void *)address;

		*place = (struct place){ntohl(in->sin_addr.s_addr), ntohs(in->sin_port)};
	} else if (address->sa_family == AF_INET6 && length >= sizeof(struct sockaddr_in6)) {
		const struct sockaddr_in6 *in = (const void *)address;
		uint32_t last;

		memcpy(&last, in->sin6_addr.s6_addr + 12, 4);
		if (IN6_IS_ADDR_LOOPBACK(&in->sin6_addr))
			last = htonl(INADDR_LOOPBACK);
		else if (!IN6_IS_ADDR_UNSPECIFIED(&in->sin6_addr) &&
			 !IN6_IS_ADDR_V4MAPPED(&in->sin6_addr))
			last = 0xffffffff;
		*place = (struct place){ntohl(last), ntohs(in->sin6_port)};
	} else {
		return false;
	}
	place->address = resolved(place->address);
	return true;
}

/* Where the channel is: no other user can enter it. */
static const char *folder(void)
{
	static char kept[sizeof(((struct sockaddr_un *)0)->sun_path)];
	const char *channel = *kept ? NULL : getenv("HCASIM_CHANNEL");
	const char *end = channel ? strrchr(channel, '/') : NULL;

	if (end && end - channel < (long)sizeof(kept))
		memcpy(kept, channel, end - channel);
	return kept;
}

/* Programs may clear their environment later. */
__attribute__((constructor)) static void keep_folder(void)
{
	folder();
}

socklen_t name_of(struct place place, bool stream, struct sockaddr_un *name)
{
	memset(name, 0, sizeof(*name));
	name->sun_family = AF_UNIX;
	return offsetof(struct sockaddr_un, sun_path) + 1 +
	       snprintf(name->sun_path, sizeof(name->sun_path), "%s/%c%x.%x", folder(),
			stream ? 't' : 'u', place.address, place.port);
}

/* Addresses of sockets without a name are 0. */
static bool read_name(const struct sockaddr_un *name, socklen_t size, struct place *place)
{
	size_t own = strlen(folder()), length = size - offsetof(struct sockaddr_un, sun_path);
	char text[sizeof(name->sun_path) + 1] = "", kind;
	unsigned int address, port;

	*place = (struct place){0, 0};
	if (size <= offsetof(struct sockaddr_un, sun_path) || !own)
		return false;
	memcpy(text, name->sun_path, length < sizeof(text) ? length : sizeof(text) - 1);
	if (strncmp(text, folder(), own) ||
	    sscanf(text + own, "/%c%x.%x", &kind, &address, &port) != 3)
		return false;
	*place = (struct place){address, port};
	return true;
}

static void show(int family, struct place place, struct sockaddr *address, socklen_t *length)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_port = htons(place.port)};
	struct sockaddr_in6 in6 = {.sin6_family = AF_INET6, .sin6_port = htons(place.port)};
	const void *shown = &in;
	socklen_t size = sizeof(in);

	in.sin_addr.s_addr = htonl(place.address);
	if (family == AF_INET6) {
		if (place.address) {
			memset(in6.sin6_addr.s6_addr + 10, 0xff, 2);
			memcpy(in6.sin6_addr.s6_addr + 12, &in.sin_addr, 4);
		}
		shown = &in6;
		size = sizeof(in6);
	}
	if (!address || !length)
		return;
	memcpy(address, shown, *length < size ? *length : size);
	*length = size;
}

void show_name(int family, const struct sockaddr_un *name, socklen_t size, struct sockaddr *address,
	       socklen_t *length)
{
	struct place place;

	read_name(name, size, &place);
	show(family, place, address, length);
}

static int own_name(int descriptor, struct sockaddr_un *name, socklen_t *size)
{
	*size = sizeof(*name);
	return BEHIND(getsockname)(descriptor, (struct sockaddr *)name, size);
}

const char *name_end(int descriptor, char end[END])
{
	struct sockaddr_un name;
	struct place place;
	socklen_t size = sizeof(name);
	bool connected = !BEHIND(getpeername)(descriptor, (struct sockaddr *)&name, &size);

	end[0] = 0;
	if (!connected && own_name(descriptor, &name, &size))
		return end;
	if (name.sun_family == AF_UNIX && read_name(&name, size, &place))
		snprintf(end, END, ", %s node%d:%u", connected ? "connected to" : "which is",
			 node_of(place.address), place.port);
	return end;
}

/* A program that was started with a socket knows it by its name only. */
int family_of(int descriptor)
{
	struct sockaddr_un name;
	struct place place;
	socklen_t size;
	int kept = errno;

	if (!taking_part() || descriptor < 0)
		return 0;
	if (descriptor < SOCKETS && known[descriptor].family)
		return known[descriptor].family;
	if (!own_name(descriptor, &name, &size) && name.sun_family == AF_UNIX &&
	    read_name(&name, size, &place))
		return AF_INET;
	errno = kept;
	return 0;
}

void copy_family(int from, int to)
{
	if (from >= 0 && from < SOCKETS && to >= 0 && to < SOCKETS)
		known[to] = known[from];
}

/* TCP learns that the other end has closed when the first bytes that it sent come back. */
bool first_refusal(int descriptor)
{
	if (descriptor >= SOCKETS || known[descriptor].refused)
		return false;
	known[descriptor].refused = true;
	return is_stream(descriptor);
}

static void know(int descriptor, int family)
{
	if (descriptor >= 0 && descriptor < SOCKETS) {
		memset(&known[descriptor], 0, sizeof(known[descriptor]));
		known[descriptor].family = family;
	}
}

struct place peer_of(int descriptor)
{
	if (descriptor < 0 || descriptor >= SOCKETS)
		return (struct place){0, 0};
	return known[descriptor].peer;
}

bool is_stream(int descriptor)
{
	int type = 0;
	socklen_t length = sizeof(type);

	BEHIND(getsockopt)(descriptor, SOL_SOCKET, SO_TYPE, &type, &length);
	return type == SOCK_STREAM;
}

/* A path stays when its socket has been closed. The system tells a socket of another kind whether
 * there is one. */
static bool is_left(const struct sockaddr_un *name, socklen_t size, bool stream)
{
	int other = BEHIND(socket)(AF_UNIX, stream ? SOCK_DGRAM : SOCK_STREAM, 0);
	bool left = BEHIND(connect)(other, (const struct sockaddr *)name, size) < 0 &&
		    errno == ECONNREFUSED;

	BEHIND(close)(other);
	errno = EADDRINUSE;
	return left && !unlink(name->sun_path);
}

static int bind_to(int descriptor, struct place place)
{
	struct sockaddr_un name;
	struct words words;
	bool chosen = !place.port, stream = is_stream(descriptor);
	socklen_t size;
	int done;

	do {
		if (chosen) {
			words = (struct words){{0}};
			ask(CALL_PORT, &words);
			place.port = words.w[0];
		}
		size = name_of(place, stream, &name);
		do
			done = BEHIND(bind)(descriptor, (struct sockaddr *)&name, size);
		while (done < 0 && errno == EADDRINUSE && is_left(&name, size, stream));
	} while (done < 0 && errno == EADDRINUSE && chosen);
	return done;
}

int bind_somewhere(int descriptor)
{
	struct sockaddr_un name;
	struct place place;
	socklen_t size;

	if (own_name(descriptor, &name, &size) || read_name(&name, size, &place))
		return 0;
	return bind_to(descriptor, (struct place){node_address(host()->node), 0});
}

EXPORT int socket(int family, int type, int protocol)
{
	int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC), made;

	if (taking_part() && family == AF_NETLINK && protocol == NETLINK_RDMA) {
		errno = EPROTONOSUPPORT; /* The kernel's devices are not the program's. */
		return -1;
	}
	if (!taking_part() || (family != AF_INET && family != AF_INET6) ||
	    (kind != SOCK_STREAM && kind != SOCK_DGRAM)) {
		made = BEHIND(socket)(family, type, protocol);
		know(made, 0);
		return made;
	}
	made = BEHIND(socket)(AF_UNIX, type, 0);
	know(made, family);
	return made;
}

EXPORT int bind(int descriptor, const struct sockaddr *address, socklen_t length)
{
	struct place place;

	if (!family_of(descriptor) || !place_of(address, length, &place))
		return BEHIND(bind)(descriptor, address, length);
	if (place.address != node_address(host()->node)) {
		errno = EADDRNOTAVAIL;
		return -1;
	}
	return bind_to(descriptor, place);
}

EXPORT int listen(int descriptor, int backlog)
{
	if (family_of(descriptor) && bind_somewhere(descriptor))
		return -1;
	touch();
	return BEHIND(listen)(descriptor, backlog);
}

static int connected(int descriptor, const struct sockaddr *address, socklen_t length)
{
	struct attempt attempt = begin_attempts(descriptor, SO_SNDTIMEO, true);
	int done = ATTEMPTS(attempt, BEHIND(connect)(descriptor, address, length));

	if (!done)
		touch();
	return done;
}

EXPORT int connect(int descriptor, const struct sockaddr *address, socklen_t length)
{
	struct handled before = handled();
	struct sockaddr_un name;
	struct place place;
	socklen_t size;
	uint64_t until;
	int done;

	if (!may_wait(descriptor))
		return BEHIND(connect)(descriptor, address, length);
	if (!family_of(descriptor) || !place_of(address, length, &place))
		return connected(descriptor, address, length);
	if (node_of(place.address) < 0) {
		errno = ENETUNREACH;
		return -1;
	}
	if (bind_somewhere(descriptor))
		return -1;
	if (!is_stream(descriptor)) {
		if (descriptor < SOCKETS)
			known[descriptor].peer = place;
		return 0;
	}
	send_takes(descriptor);
	size = name_of(place, true, &name);
	until = now_ps() + REFUSED_PS;
	for (;;) {
		done = connected(descriptor, (struct sockaddr *)&name, size);
		if (done < 0 && errno == ENOENT)
			errno = ECONNREFUSED;
		if (!done || errno != ECONNREFUSED || now_ps() >= until)
			return done;
		if (interrupted(before, false)) {
			errno = EINTR;
			return -1;
		}
		park(until, "for node%d to listen at port %u", node_of(place.address), place.port);
	}
}

EXPORT int accept4(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length,
		   int flags)
{
	struct sockaddr_un name;
	struct attempt attempt;
	socklen_t size;
	int family, made;

	if (!may_wait(descriptor))
		return BEHIND(accept4)(descriptor, address, length, flags);
	family = family_of(descriptor);
	attempt = begin_attempts(descriptor, SO_RCVTIMEO, true);
	if (!family) {
		made = ATTEMPTS(attempt, BEHIND(accept4)(descriptor, address, length, flags));
	} else {
		size = sizeof(name);
		made = ATTEMPTS(attempt, BEHIND(accept4)(descriptor, (struct sockaddr *)&name,
							 &size, flags));
		if (made >= 0)
			show_name(family, &name, size, address, length);
	}
	if (made >= 0) {
		know(made, family);
		touch();
	}
	return made;
}

EXPORT int accept(int descriptor, struct sockaddr *restrict address, socklen_t *restrict length)
{
	return accept4(descriptor, address, length, 0);
}

EXPORT int getsockname(int descriptor, struct sockaddr *restrict address,
		       socklen_t *restrict length)
{
	int family = family_of(descriptor);
	struct sockaddr_un name;
	socklen_t size;

	if (!family)
		return BEHIND(getsockname)(descriptor, address, length);
	if (own_name(descriptor, &name, &size))
		return -1;
	show_name(family, &name, size, address, length);
	return 0;
}

EXPORT int getpeername(int descriptor, struct sockaddr *restrict address,
		       socklen_t *restrict length)
{
	int family = family_of(descriptor);
	struct sockaddr_un name;
	socklen_t size = sizeof(name);

	if (!family)
		return BEHIND(getpeername)(descriptor, address, length);
	if (peer_of(descriptor).port) {
		show(family, peer_of(descriptor), address, length);
		return 0;
	}
	if (BEHIND(getpeername)(descriptor, (struct sockaddr *)&name, &size))
		return -1;
	show_name(family, &name, size, address, length);
	return 0;
}

EXPORT int setsockopt(int descriptor, int level, int name, const void *value, socklen_t length)
{
	int done, kept = errno;

	if (!family_of(descriptor))
		return BEHIND(setsockopt)(descriptor, level, name, value, length);
	if (level != SOL_SOCKET)
		return 0;
	done = BEHIND(setsockopt)(descriptor, level, name, value, length);
	if (done < 0 && errno != EINVAL && errno != EFAULT && errno != EDOM) {
		errno = kept;
		return 0;
	}
	return done;
}

EXPORT int getsockopt(int descriptor, int level, int name, void *restrict value,
		      socklen_t *restrict length)
{
	int family = family_of(descriptor), told;

	if (!family || (level == SOL_SOCKET && name != SO_DOMAIN && name != SO_PROTOCOL))
		return BEHIND(getsockopt)(descriptor, level, name, value, length);
	told = level != SOL_SOCKET	    ? level == IPPROTO_TCP && name == TCP_NODELAY
	       : name == SO_DOMAIN	    ? family
	       : is_stream(descriptor) ? IPPROTO_TCP
					    : IPPROTO_UDP;
	memset(value, 0, *length);
	memcpy(value, &told, *length < sizeof(told) ? *length : sizeof(told));
	return 0;
}

EXPORT int sockatmark(int descriptor)
{
	return family_of(descriptor) ? 0 : BEHIND(sockatmark)(descriptor);
}

EXPORT int shutdown(int descriptor, int how)
{
	touch();
	if (how != SHUT_RD && descriptor >= 0 && descriptor < SOCKETS)
		known[descriptor].refused = true; /* By this end: it says so at once. */
	return BEHIND(shutdown)(descriptor, how);
}

/* Descriptors that are closed and copied. */

static int no_descriptor(void)
{
	errno = EBADF;
	return -1;
}

EXPORT int close(int descriptor)
{
	if (is_connection(descriptor))
		return no_descriptor();
	if (rdmacm_owns(descriptor))
		return rdmacm_close(descriptor);
	if (may_wait(descriptor))
		touch();
	know(descriptor, 0);
	return BEHIND(close)(descriptor);
}

EXPORT int close_range(unsigned int first, unsigned int last, int flags)
{
	if (!taking_part() || flags & CLOSE_RANGE_CLOEXEC)
		return BEHIND(close_range)(first, last, flags);
	for (unsigned int one = first; one <= last && one < 65536; one++)
		close(one);
	return 0;
}

EXPORT void closefrom(int first)
{
	close_range(first, ~0u, 0);
}

EXPORT int dup(int from)
{
	int made = BEHIND(dup)(from);

	copy_family(from, made);
	return made;
}

static int copied(int from, int made)
{
	if (made >= 0)
		copy_family(from, made);
	touch();
	return made;
}

EXPORT int dup2(int from, int to)
{
	return copied(from, is_connection(to) ? no_descriptor() : BEHIND(dup2)(from, to));
}

EXPORT int dup3(int from, int to, int flags)
{
	return copied(from, is_connection(to) ? no_descriptor() : BEHIND(dup3)(from, to, flags));
}

static int controlled(int (*real)(int, int, ...), int descriptor, int command, long argument)
{
	int done = real(descriptor, command, argument);

	if (command == F_DUPFD || command == F_DUPFD_CLOEXEC)
		copy_family(descriptor, done);
	return done;
}

#define FCNTL(name)                                                                                \
	EXPORT int name(int descriptor, int command, ...)                                          \
	{                                                                                          \
		va_list rest;                                                                      \
		long argument;                                                                     \
                                                                                                   \
		va_start(rest, command);                                                           \
		argument = va_arg(rest, long);                                                     \
		va_end(rest);                                                                      \
		return controlled(BEHIND(name), descriptor, command, argument);                    \
	}

FCNTL(fcntl)
FCNTL(fcntl64)
