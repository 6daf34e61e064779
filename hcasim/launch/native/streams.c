/* Bytes that are read and written. */
#define _GNU_SOURCE
#include "rdmacm.h"
#include "sockets.h"

#include <errno.h>
#include <signal.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/uio.h>
#include <unistd.h>

#define PIECES 1024

EXPORT ssize_t read(int descriptor, void *to, size_t size)
{
	struct attempt attempt;
	ssize_t done;

	if (!may_wait(descriptor))
		return BEHIND(read)(descriptor, to, size);
	attempt = begin_attempts(descriptor, SO_RCVTIMEO, true);
	done = ATTEMPTS(attempt, BEHIND(read)(descriptor, to, size));
	if (done > 0)
		touch(); /* There is room for others to write. */
	return done;
}

EXPORT ssize_t readv(int descriptor, const struct iovec *pieces, int count)
{
	struct attempt attempt;
	ssize_t done;

	if (!may_wait(descriptor))
		return BEHIND(readv)(descriptor, pieces, count);
	attempt = begin_attempts(descriptor, SO_RCVTIMEO, true);
	done = ATTEMPTS(attempt, BEHIND(readv)(descriptor, pieces, count));
	if (done > 0)
		touch();
	return done;
}

EXPORT ssize_t recvmsg(int descriptor, struct msghdr *message, int flags)
{
	void *address = message->msg_name;
	socklen_t length = message->msg_namelen;
	struct sockaddr_un name;
	struct attempt attempt;
	int family;
	ssize_t done;

	if (!may_wait(descriptor))
		return BEHIND(recvmsg)(descriptor, message, flags);
	family = family_of(descriptor);
	attempt = begin_attempts(descriptor, SO_RCVTIMEO, !(flags & MSG_DONTWAIT));
	flags &= family ? ~MSG_OOB : ~0;
	done = ATTEMPTS(attempt, ({
				if (family && address) {
					message->msg_name = &name;
					message->msg_namelen = sizeof(name);
				}
				BEHIND(recvmsg)(descriptor, message, flags | MSG_DONTWAIT);
			}));
	if (family && address) {
		if (done >= 0 && message->msg_namelen)
			show_name(family, &name, message->msg_namelen, address, &length);
		else
			length = 0;
		message->msg_name = address;
		message->msg_namelen = length;
	}
	if (done > 0)
		touch();
	return done;
}

EXPORT ssize_t recvfrom(int descriptor, void *restrict to, size_t size, int flags,
			struct sockaddr *restrict address, socklen_t *restrict length)
{
	struct iovec piece = {to, size};
	struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
	ssize_t done, all = 0;

	if (!may_wait(descriptor))
		return BEHIND(recvfrom)(descriptor, to, size, flags, address, length);
	message.msg_name = address;
	message.msg_namelen = address && length ? *length : 0;
	do {
		done = recvmsg(descriptor, &message, flags);
		if (done <= 0)
			break;
		all += done;
		piece = (struct iovec){(char *)to + all, size - all};
	} while (flags & MSG_WAITALL && !(flags & (MSG_PEEK | MSG_DONTWAIT)) &&
		 (size_t)all < size && is_stream(descriptor));
	if (address && length)
		*length = message.msg_namelen;
	return all ? all : done;
}

EXPORT ssize_t recv(int descriptor, void *to, size_t size, int flags)
{
	if (!taking_part())
		return BEHIND(recv)(descriptor, to, size, flags);
	return recvfrom(descriptor, to, size, flags, NULL, NULL);
}

/* Whoever writes and waits, writes all. */
static ssize_t send_all(int descriptor, const struct msghdr *given, int flags, bool by_write)
{
	struct attempt attempt =
		begin_attempts(descriptor, SO_SNDTIMEO, !(flags & MSG_DONTWAIT));
	struct msghdr message = *given;
	struct iovec pieces[PIECES];
	size_t count = given->msg_iovlen, left = 0;
	ssize_t done, all = 0;

	if (count > PIECES) {
		errno = EMSGSIZE;
		return -1;
	}
	memcpy(pieces, given->msg_iov, count * sizeof(*pieces));
	message.msg_iov = pieces;
	for (size_t i = 0; i < count; i++)
		left += pieces[i].iov_len;
	send_takes(descriptor);
	for (;;) {
		if (by_write)
			done = ATTEMPTS(attempt, BEHIND(writev)(descriptor, message.msg_iov,
								message.msg_iovlen));
		else
			done = ATTEMPTS(attempt, BEHIND(sendmsg)(descriptor, &message,
								 flags | MSG_DONTWAIT));
		if (done < 0)
			return all ? all : done;
		touch();
		all += done;
		left -= done;
		if (!left || !attempt.waits || !done)
			return all;
		message.msg_control = NULL;
		message.msg_controllen = 0;
		while (done) {
			size_t part = message.msg_iov->iov_len;

			part = part < (size_t)done ? part : (size_t)done;
			message.msg_iov->iov_base = (char *)message.msg_iov->iov_base + part;
			message.msg_iov->iov_len -= part;
			done -= part;
			if (!message.msg_iov->iov_len) {
				message.msg_iov++;
				message.msg_iovlen--;
			}
		}
	}
}

EXPORT ssize_t writev(int descriptor, const struct iovec *pieces, int count)
{
	struct msghdr message = {.msg_iov = (struct iovec *)pieces, .msg_iovlen = count};

	if (!may_wait(descriptor))
		return BEHIND(writev)(descriptor, pieces, count);
	if (family_of(descriptor))
		return sendmsg(descriptor, &message, 0);
	return send_all(descriptor, &message, 0, true);
}

EXPORT ssize_t write(int descriptor, const void *from, size_t size)
{
	struct iovec piece = {(void *)from, size};

	if (rdmacm_owns(descriptor))
		return rdmacm_write(descriptor, from, size);
	if (!may_wait(descriptor))
		return BEHIND(write)(descriptor, from, size);
	return writev(descriptor, &piece, 1);
}

EXPORT ssize_t sendmsg(int descriptor, const struct msghdr *message, int flags)
{
	struct msghdr named = *message;
	struct sockaddr_un name;
	struct place place;
	ssize_t done;

	if (!may_wait(descriptor))
		return BEHIND(sendmsg)(descriptor, message, flags);
	if (!family_of(descriptor))
		return send_all(descriptor, message, flags, false);
	flags &= ~MSG_OOB;
	place = peer_of(descriptor);
	if (message->msg_name && !is_stream(descriptor) &&
	    !place_of(message->msg_name, message->msg_namelen, &place)) {
		errno = EINVAL;
		return -1;
	}
	named.msg_name = NULL;
	named.msg_namelen = 0;
	if (place.port) {
		named.msg_name = &name;
		named.msg_namelen = name_of(place, false, &name);
		if (bind_somewhere(descriptor))
			return -1;
	}
	done = send_all(descriptor, &named, flags | MSG_NOSIGNAL, false);
	if (done >= 0)
		return done;
	if (((errno == ECONNREFUSED || errno == ENOENT) && place.port) ||
	    (errno == EPIPE && first_refusal(descriptor))) {
		/* A datagram to nobody is lost, as are the first bytes to who has closed. */
		done = 0;
		for (size_t i = 0; i < message->msg_iovlen; i++)
			done += message->msg_iov[i].iov_len;
	} else if (errno == EPIPE && !(flags & MSG_NOSIGNAL)) {
		raise(SIGPIPE);
	}
	return done;
}

EXPORT ssize_t sendto(int descriptor, const void *from, size_t size, int flags,
		      const struct sockaddr *address, socklen_t length)
{
	struct iovec piece = {(void *)from, size};
	struct msghdr message = {.msg_name = (void *)address,
				 .msg_namelen = length,
				 .msg_iov = &piece,
				 .msg_iovlen = 1};

	if (!may_wait(descriptor))
		return BEHIND(sendto)(descriptor, from, size, flags, address, length);
	return sendmsg(descriptor, &message, flags);
}

EXPORT ssize_t send(int descriptor, const void *from, size_t size, int flags)
{
	if (!taking_part())
		return BEHIND(send)(descriptor, from, size, flags);
	return sendto(descriptor, from, size, flags, NULL, 0);
}

EXPORT int eventfd_write(int descriptor, eventfd_t value)
{
	return write(descriptor, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

EXPORT int eventfd_read(int descriptor, eventfd_t *value)
{
	return read(descriptor, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

/* What headers call instead where they know how much fits. */

EXPORT ssize_t __read_chk(int descriptor, void *to, size_t size, size_t room)
{
	if (size > room)
		abort();
	return read(descriptor, to, size);
}

EXPORT ssize_t __recv_chk(int descriptor, void *to, size_t size, size_t room, int flags)
{
	if (size > room)
		abort();
	return recv(descriptor, to, size, flags);
}

EXPORT ssize_t __recvfrom_chk(int descriptor, void *restrict to, size_t size, size_t room,
			      int flags, struct sockaddr *restrict address,
			      socklen_t *restrict length)
{
	if (size > room)
		abort();
	return recvfrom(descriptor, to, size, flags, address, length);
}
