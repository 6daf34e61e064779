/* Descriptors that others read and write: calls that may wait are tried without waiting, and tried
 * again when others have done something. */
#ifndef HCASIM_SOCKETS_H
#define HCASIM_SOCKETS_H

#include "channel.h"
#include "signals.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>

/* Chosen: what a message takes to another program by a socket of the network, and on the same node,
 * and a look that finds nothing. */
#define MESSAGE_PS 25000000
#define LOCAL_MESSAGE_PS 2000000
#define LOOK_PS 500000

#define REFUSED_PS 60000000000000ull /* how long a client waits for a server */

/* A socket of the network is one of the system's for processes of one machine, whose name tells the
 * address, so that simulations do not meet each other, and no real time passes within it. */
struct place {
	uint32_t address;
	uint16_t port;
};

/* Its family for the program, AF_INET or AF_INET6; 0 if it is not of the network. */
int family_of(int descriptor);
void copy_family(int from, int to);

uint32_t node_address(uint64_t node);
/* The node of an address; -1 if it is of none. */
int node_of(uint32_t address);

/* Between addresses of the program and names; *length is as in getsockname. */
bool place_of(const struct sockaddr *address, socklen_t length, struct place *place);
socklen_t name_of(struct place place, bool stream, struct sockaddr_un *name);
void show_name(int family, const struct sockaddr_un *name, socklen_t size, struct sockaddr *address,
	       socklen_t *length);

/* Which address a socket of the network is connected to, or has, in words; "" of other descriptors. */
#define END 48
const char *name_end(int descriptor, char end[END]);

/* Give a socket an address, if it has none. */
int bind_somewhere(int descriptor);
/* Where a socket for datagrams was connected to; port 0 is nowhere. */
struct place peer_of(int descriptor);
bool is_stream(int descriptor);
/* Whether the refusal of what is sent is the first one, of which TCP does not know yet. */
bool first_refusal(int descriptor);

/* Whether others of the simulation are at the other end: not those of files and terminals. */
bool may_wait(int descriptor);

struct attempt {
	int descriptor;
	int option;	/* SO_RCVTIMEO or SO_SNDTIMEO, or 0 */
	int flags;	/* of the descriptor; -1 if they are left alone */
	bool waits;	/* what the program wants */
	bool limited;
	uint64_t until;
	struct handled before;
};

struct attempt begin_attempts(int descriptor, int option, bool may_wait);
void begin_attempt(const struct attempt *attempt);
/* Whether to try again. */
bool end_attempt(struct attempt *attempt, bool done);

#define ATTEMPTS(attempt, call)                                                                    \
	({                                                                                         \
		__typeof__(call) done;                                                             \
		do {                                                                               \
			begin_attempt(&attempt);                                                   \
			done = (call);                                                             \
		} while (end_attempt(&attempt, done >= 0));                                        \
		done;                                                                              \
	})

/* The time of a message. */
void send_takes(int descriptor);

#endif
