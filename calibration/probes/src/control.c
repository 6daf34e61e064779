#include "control.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { TICK_MS = 50, LAST_WORDS_NS = 1000000000 };

static const char FAILED[] = "failed ";

static bool wait_for(struct session *s, short events)
{
    for (;;) {
        /* Not control_quiet: the line that is waited for would disturb it. */
        if (s->failure.text[0])
            return false;
        if (stopped_by)
            return fail(&s->failure, "%s", signal_name(stopped_by));
        if (system_ns() >= s->deadline_ns)
            return fail(&s->failure, "deadline of %g s: the %s is silent",
                        (double)s->allowed_ns / 1e9, s->server ? "client" : "server");
        struct pollfd one = {.fd = s->control, .events = events};
        if (poll(&one, 1, TICK_MS) > 0)
            return true;
    }
}

/* Closes a socket and keeps the reason. */
static int abandon(int made)
{
    int error = errno;
    close(made);
    errno = error;
    return -1;
}

/* A socket that does not block, or -1 and errno. */
static int make_socket(const struct addrinfo *address)
{
    int one = 1, made = socket(address->ai_family, SOCK_STREAM, 0);
    if (made < 0)
        return -1;
    setsockopt(made, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return fcntl(made, F_SETFL, O_NONBLOCK) ? abandon(made) : made;
}

bool control_connect(struct session *s, const char *host, const char *service)
{
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM};
    int code = getaddrinfo(host, service, &hints, &found);
    if (code)
        return fail(&s->failure, "%s: %s", host, gai_strerror(code));
    int error = 0;
    for (struct addrinfo *one = found; one; one = one->ai_next) {
        s->control = make_socket(one);
        if (s->control >= 0 && connect(s->control, one->ai_addr, one->ai_addrlen) == 0)
            break;
        socklen_t length = sizeof error;
        error = errno;
        if (s->control < 0)
            continue;
        if (error == EINPROGRESS && wait_for(s, POLLOUT))
            getsockopt(s->control, SOL_SOCKET, SO_ERROR, &error, &length);
        if (error == 0 || s->failure.text[0])
            break;
        close(s->control);
        s->control = -1;
    }
    freeaddrinfo(found);
    if (s->control < 0)
        return fail(&s->failure, "no connection to %s port %s: %s", host, service, strerror(error));
    return !s->failure.text[0];
}

int control_listen(const char *address, const char *service, struct failure *failure)
{
    struct addrinfo *found, hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    hints.ai_family = address ? AF_UNSPEC : AF_INET;
    int code = getaddrinfo(address, service, &hints, &found), one = 1;
    if (code) {
        fail(failure, "%s: %s", address ? address : service, gai_strerror(code));
        return -1;
    }
    int listener = make_socket(found);
    if (listener >= 0)
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listener >= 0 &&
        (bind(listener, found->ai_addr, found->ai_addrlen) || listen(listener, 8)))
        listener = abandon(listener);
    if (listener < 0)
        fail(failure, "port %s: %s", service, strerror(errno));
    freeaddrinfo(found);
    return listener;
}

bool control_address(int socket, bool of_peer, char text[ADDRESS_TEXT])
{
    struct sockaddr_storage address;
    socklen_t length = sizeof address;
    int (*name_of)(int, struct sockaddr *, socklen_t *) = of_peer ? getpeername : getsockname;
    return name_of(socket, (struct sockaddr *)&address, &length) == 0 &&
           getnameinfo((struct sockaddr *)&address, length, text, ADDRESS_TEXT, NULL, 0,
                       NI_NUMERICHOST) == 0;
}

bool control_say(struct session *s, const char *format, ...)
{
    char line[2 * LONGEST_WORD];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    if (length < 0 || (size_t)length >= sizeof line - 1)
        return fail(&s->failure, "a line is too long");
    line[length++] = '\n';
    for (int sent = 0; sent < length;) {
        ssize_t now = send(s->control, line + sent, (size_t)(length - sent), MSG_NOSIGNAL);
        if (now > 0)
            sent += (int)now;
        else if (errno != EAGAIN && errno != EINTR)
            return fail(&s->failure, "the %s has left: %s", s->server ? "client" : "server",
                        strerror(errno));
        else if (!wait_for(s, POLLOUT))
            return false;
    }
    return true;
}

/* Takes a whole line out of the inbox. */
static bool take_line(struct session *s, char line[LONGEST_WORD])
{
    char *end = memchr(s->inbox, '\n', s->inbox_used);
    if (!end)
        return false;
    size_t length = (size_t)(end - s->inbox), kept = length;
    if (kept >= LONGEST_WORD)
        kept = LONGEST_WORD - 1;
    memcpy(line, s->inbox, kept);
    line[kept] = '\0';
    s->inbox_used -= length + 1;
    memmove(s->inbox, end + 1, s->inbox_used);
    return true;
}

/* Reads what has come: 1 if something has, 0 if nothing, -1 if the peer has left. */
static int fetch(struct session *s)
{
    if (s->inbox_used == sizeof s->inbox)
        return -1;
    ssize_t now = recv(s->control, s->inbox + s->inbox_used, sizeof s->inbox - s->inbox_used, 0);
    if (now > 0) {
        s->inbox_used += (size_t)now;
        return 1;
    }
    return now < 0 && (errno == EAGAIN || errno == EINTR) ? 0 : -1;
}

static bool fail_left(struct session *s)
{
    return fail(&s->failure, "the %s has left", s->server ? "client" : "server");
}

static bool fail_peer(struct session *s, const char *line)
{
    return fail(&s->failure, "%s (at the %s)", line + strlen(FAILED),
                s->server ? "client" : "server");
}

bool control_hear(struct session *s, char line[LONGEST_WORD])
{
    while (!take_line(s, line)) {
        if (!wait_for(s, POLLIN))
            return false;
        if (fetch(s) < 0)
            return fail_left(s);
    }
    return strncmp(line, FAILED, strlen(FAILED)) != 0 || fail_peer(s, line);
}

bool control_expect(struct session *s, const char *word)
{
    char line[LONGEST_WORD];
    return control_hear(s, line) &&
           (strcmp(line, word) == 0 ||
            fail(&s->failure, "heard '%s' from the peer instead of '%s'", line, word));
}

bool control_meet(struct session *s)
{
    return s->alone || (control_say(s, "here") && control_expect(s, "here"));
}

bool control_quiet(struct session *s)
{
    int came = fetch(s);
    if (s->inbox_used >= strlen(FAILED) && !strncmp(s->inbox, FAILED, strlen(FAILED))) {
        char line[LONGEST_WORD];
        return !take_line(s, line) || fail_peer(s, line);
    }
    return came >= 0 || memchr(s->inbox, '\n', s->inbox_used) || fail_left(s);
}

const char *control_last_words(struct session *s, char line[LONGEST_WORD])
{
    int64_t end = system_ns() + LAST_WORDS_NS;
    do {
        while (take_line(s, line))
            if (strncmp(line, FAILED, strlen(FAILED)) == 0)
                return line + strlen(FAILED);
        struct pollfd one = {.fd = s->control, .events = POLLIN};
        if (poll(&one, 1, TICK_MS) > 0 && fetch(s) <= 0)
            return NULL;
    } while (system_ns() < end && !stopped_by);
    return NULL;
}
