/* Lines of text between client and server, over TCP, each with a deadline.
 *
 * A connection serves one point, so that whatever goes wrong, the next point starts afresh. */
#ifndef CONTROL_H
#define CONTROL_H

#include "session.h"

enum { LONGEST_WORD = 512 };

bool control_connect(struct session *s, const char *host, const char *service);
int control_listen(const char *address, const char *service, struct failure *failure);
/* Of either end of a connected socket, in numbers. */
bool control_address(int socket, bool of_peer, char text[ADDRESS_TEXT]);

__attribute__((format(printf, 2, 3))) bool control_say(struct session *s, const char *format, ...);
/* The next line; false if the peer says "failed ...". */
bool control_hear(struct session *s, char line[LONGEST_WORD]);
/* Hears just this. */
bool control_expect(struct session *s, const char *word);
/* Both ends have come this far. */
bool control_meet(struct session *s);
/* False if the peer has left, or has said that it failed. */
bool control_quiet(struct session *s);
/* Waits a moment for the peer's own account of what failed; returns it, or NULL. */
const char *control_last_words(struct session *s, char line[LONGEST_WORD]);

#endif
