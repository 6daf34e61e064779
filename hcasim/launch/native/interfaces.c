/* Interfaces of the network: each but the loop has the address of the node. */
#define _GNU_SOURCE
#include "sockets.h"

#include <net/if.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>

#define NETWORK 0xffff0000

EXPORT int ioctl(int descriptor, unsigned long request, ...)
{
	struct sockaddr_in *address;
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
	address = (struct sockaddr_in *)&asked->ifr_addr;
	*address = (struct sockaddr_in){.sin_family = AF_INET};
	if (request == SIOCGIFADDR)
		address->sin_addr.s_addr = htonl(loop ? INADDR_LOOPBACK : node_address(host()->node));
	else
		address->sin_addr.s_addr = htonl(NETWORK);
	return 0;
}
