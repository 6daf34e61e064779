/* Names of nodes: node0, node1, ...; server is the first. */
#define _GNU_SOURCE
#include "sockets.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#define NUMBER 16

/* The address that stands for a name; the name itself if it is none of ours. */
static const char *numbered(const char *name, char number[NUMBER])
{
	uint32_t address;
	uint64_t node;
	char *end;

	if (!name || !taking_part())
		return name;
	node = strtoul(name + (strncmp(name, "node", 4) ? 0 : 4), &end, 10);
	if (!strcmp(name, "localhost"))
		address = INADDR_LOOPBACK;
	else if (!strcmp(name, "server"))
		address = node_address(0);
	else if (!strncmp(name, "node", 4) && name[4] && !*end && node < host()->nodes)
		address = node_address(node);
	else
		return name;
	snprintf(number, NUMBER, "%u.%u.%u.%u", address >> 24, address >> 16 & 255,
		 address >> 8 & 255, address & 255);
	return number;
}

static bool is_number(const char *name)
{
	unsigned char address[sizeof(struct in6_addr)];

	return inet_pton(AF_INET, name, address) == 1 || inet_pton(AF_INET6, name, address) == 1;
}

EXPORT int getaddrinfo(const char *restrict name, const char *restrict service,
		       const struct addrinfo *restrict hints, struct addrinfo **restrict found)
{
	struct addrinfo changed = {.ai_flags = 0};
	char number[NUMBER];

	if (!taking_part())
		return BEHIND(getaddrinfo)(name, service, hints, found);
	name = numbered(name, number);
	if (name && !is_number(name))
		return EAI_NONAME; /* Nobody is asked in real time. */
	if (hints)
		changed = *hints;
	changed.ai_flags &= ~AI_ADDRCONFIG;
	if (changed.ai_family == AF_INET6)
		changed.ai_flags |= AI_V4MAPPED;
	return BEHIND(getaddrinfo)(name, service, &changed, found);
}

EXPORT int getnameinfo(const struct sockaddr *restrict address, socklen_t length,
		       char *restrict name, socklen_t room, char *restrict service,
		       socklen_t service_room, int flags)
{
	struct place place;
	int error;

	if (!taking_part())
		return BEHIND(getnameinfo)(address, length, name, room, service, service_room, flags);
	error = BEHIND(getnameinfo)(address, length, name, room, service, service_room,
				    flags | NI_NUMERICHOST);
	if (error || flags & NI_NUMERICHOST || !name || !place_of(address, length, &place))
		return error;
	if (node_of(place.address) >= 0)
		snprintf(name, room, "node%d", node_of(place.address));
	return 0;
}

EXPORT struct hostent *gethostbyname(const char *name)
{
	char number[NUMBER];

	if (!taking_part())
		return BEHIND(gethostbyname)(name);
	name = numbered(name, number);
	if (!is_number(name)) {
		h_errno = HOST_NOT_FOUND;
		return NULL;
	}
	return BEHIND(gethostbyname)(name);
}

EXPORT int gethostbyname_r(const char *restrict name, struct hostent *restrict kept,
			   char *restrict buffer, size_t size, struct hostent **restrict found,
			   int *restrict error)
{
	char number[NUMBER];

	if (!taking_part())
		return BEHIND(gethostbyname_r)(name, kept, buffer, size, found, error);
	name = numbered(name, number);
	if (!is_number(name)) {
		*found = NULL;
		*error = HOST_NOT_FOUND;
		return 0;
	}
	return BEHIND(gethostbyname_r)(name, kept, buffer, size, found, error);
}

EXPORT int gethostname(char *name, size_t room)
{
	char own[32];
	size_t size;

	if (!taking_part())
		return BEHIND(gethostname)(name, room);
	size = snprintf(own, sizeof(own), "node%lu", host()->node) + 1;
	memcpy(name, own, size < room ? size : room);
	if (size <= room)
		return 0;
	errno = ENAMETOOLONG;
	return -1;
}

EXPORT int __gethostname_chk(char *name, size_t room, size_t known)
{
	if (room > known)
		abort();
	return gethostname(name, room);
}

/* The node's address, as the C library makes an identifier of that. */
EXPORT long gethostid(void)
{
	uint32_t address;

	if (!taking_part())
		return BEHIND(gethostid)();
	address = htonl(node_address(host()->node));
	return (int32_t)(address << 16 | address >> 16);
}

EXPORT int uname(struct utsname *system)
{
	int done = BEHIND(uname)(system);

	if (!done && taking_part())
		gethostname(system->nodename, sizeof(system->nodename));
	return done;
}
