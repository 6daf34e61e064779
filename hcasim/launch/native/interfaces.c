/* Interfaces of the network: eth0 has the address of the node, lo that of the loop. */
#define _GNU_SOURCE
#include "sockets.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#define NETWORK 0xffff0000

static void set(struct sockaddr *to, uint32_t address)
{
	struct sockaddr_in in = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(address)};

	memcpy(to, &in, sizeof(in));
}

EXPORT int ioctl(int descriptor, unsigned long request, ...)
{
	struct ifreq *asked;
	va_list rest;
	bool loop;

	va_start(rest, request);
	asked = va_arg(rest, void *);
	va_end(rest);
	if (!taking_part() || (request != SIOCGIFADDR && request != SIOCGIFNETMASK) ||
	    !family_of(descriptor))
		return BEHIND(ioctl)(descriptor, request, asked);
	loop = !strcmp(asked->ifr_name, "lo");
	set(&asked->ifr_addr, request == SIOCGIFNETMASK ? NETWORK
			      : loop		       ? INADDR_LOOPBACK
						       : node_address(host()->node));
	return 0;
}

/* One piece of memory, as the C library frees one. */
struct interface {
	struct ifaddrs told;
	struct sockaddr address, mask, all;
	char name[IF_NAMESIZE];
};

EXPORT int getifaddrs(struct ifaddrs **found)
{
	struct interface *both;

	if (!taking_part())
		return BEHIND(getifaddrs)(found);
	both = calloc(2, sizeof(*both));
	if (!both)
		return -1;
	for (int i = 0; i < 2; i++) {
		uint32_t address = i ? node_address(host()->node) : INADDR_LOOPBACK;

		strcpy(both[i].name, i ? "eth0" : "lo");
		set(&both[i].address, address);
		set(&both[i].mask, NETWORK);
		set(&both[i].all, address | ~NETWORK);
		both[i].told = (struct ifaddrs){
			.ifa_next = i ? NULL : &both[1].told,
			.ifa_name = both[i].name,
			.ifa_flags = IFF_UP | IFF_RUNNING | (i ? IFF_BROADCAST : IFF_LOOPBACK),
			.ifa_addr = &both[i].address,
			.ifa_netmask = &both[i].mask,
			.ifa_broadaddr = &both[i].all,
		};
	}
	*found = &both->told;
	return 0;
}
