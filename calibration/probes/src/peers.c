#include "peers.h"

#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "control.h"
#include "ports.h"

/* Clients speak as soon as they are connected, and others wait meanwhile. */
enum { TICK_MS = 200, FIRST_LINE_S = 3 };
static const int64_t NS_PER_MS = 1000000;
static const char FLUSHED[] = "IBV_WC_WR_FLUSH_ERR";

/* The ports of a session are those that its point uses. */
static bool choose_ports(struct session *s, struct port *ports, int count)
{
    int wanted = (int)get(s, PORTS);
    if (wanted > count)
        return fail(&s->failure, "ports=%d: found %d; name them all with --bind", wanted, count);
    s->ports = ports;
    s->port_count = wanted;
    return true;
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Tells the peer what failed, and adds what it says of the same fault. Work that was flushed only
 * shows that the other end knows better, so it is asked first. */
static void end_control(struct session *s)
{
    struct failure ours = s->failure;
    char line[LONGEST_WORD];
    const char *theirs = NULL;
    bool flushed = begins(ours.text, FLUSHED);
    if (s->control < 0)
        return;
    if (flushed)
        theirs = control_last_words(s, line);
    if (ours.text[0]) {
        /* A peer that has left, or does not listen, does not matter any more. */
        s->failure.text[0] = '\0';
        s->deadline_ns = system_ns() + TICK_MS * NS_PER_MS;
        control_say(s, "failed %s", ours.text);
    }
    if (!flushed && !s->server && begins(ours.text, "IBV_WC"))
        theirs = control_last_words(s, line);
    s->failure = ours;
    if (theirs && !strstr(theirs, "(at the ") && !begins(theirs, FLUSHED)) {
        const char *peer = s->server ? "client" : "server";
        size_t used = flushed ? 0 : strlen(ours.text);
        char *end = s->failure.text + used;
        size_t room = sizeof s->failure.text - used;
        if (flushed)
            snprintf(end, room, "%.200s (at the %s)", theirs, peer);
        else
            snprintf(end, room, " (at the %s: %.200s)", peer, theirs);
    }
    close(s->control);
    s->control = -1;
}

static bool talk(struct session *s, const char *host, const char *service, bool *met)
{
    char *text = NULL;
    size_t length = 0;
    FILE *line = open_memstream(&text, &length);
    if (!line)
        return fail_errno(&s->failure, "open_memstream");
    point_print(&s->point, line);
    fclose(line);
    bool good = control_connect(s, host, service) &&
                control_say(s, "hcasim-probes 1 %s %lld %s", s->by_hand ? "hand" : "manager",
                            (long long)(s->allowed_ns / NS_PER_MS), text);
    free(text);
    char answer[LONGEST_WORD];
    if (!good)
        return false;
    /* A server that refuses has been met, too. */
    *met = control_hear(s, answer) || strstr(s->failure.text, "(at the server)");
    if (s->failure.text[0])
        return false;
    if (strcmp(answer, "ready"))
        return fail(&s->failure, "heard '%.100s': this is no server of hcasim-probes", answer);
    return s->point.probe->run(s);
}

bool run_client(struct session *s, const char *host, const char *service, bool *met)
{
    struct port *ports = s->ports;
    int count = s->port_count;
    s->ports = NULL;
    s->port_count = 0;
    s->deadline_ns = system_ns() + s->allowed_ns;
    s->alone = s->point.probe->alone;
    s->control = -1;
    *met = s->alone;
    bool good = choose_ports(s, ports, count);
    if (good && s->alone)
        good = s->point.probe->run(s);
    else if (good)
        good = talk(s, host, service, met);
    end_control(s);
    return good;
}

/* Reads what the client wants. */
static bool understand(struct session *s, int64_t most_ns)
{
    char line[LONGEST_WORD], way[16], *errors = NULL;
    long long allowed_ms;
    int used = 0;
    if (!control_hear(s, line))
        return false;
    if (sscanf(line, "hcasim-probes 1 %15s %lld %n", way, &allowed_ms, &used) != 2 || !used ||
        allowed_ms < 1)
        return fail(&s->failure, "heard '%.100s': this is no client of the same version", line);
    if (allowed_ms > most_ns / NS_PER_MS)
        return fail(&s->failure, "deadline: found %.9g s; allowed: at most %.9g s, by --deadline",
                    (double)allowed_ms / 1e3, (double)most_ns / 1e9);
    size_t length = 0;
    FILE *out = open_memstream(&errors, &length);
    if (!out)
        return fail_errno(&s->failure, "open_memstream");
    bool good = point_parse(line + used, &s->point, out);
    fclose(out);
    if (!good)
        fail(&s->failure, "%.*s", (int)strcspn(errors, "\n"), errors);
    free(errors);
    if (good && s->point.probe->alone)
        good = fail(&s->failure, "%s needs no server", s->point.probe->name);
    s->by_hand = strcmp(way, "hand") == 0;
    s->allowed_ns = allowed_ms * NS_PER_MS;
    s->deadline_ns = system_ns() + s->allowed_ns;
    return good;
}

/* The port that a client has come to, opened the first time. */
static bool find_port(struct session *s, struct port *port)
{
    char address[ADDRESS_TEXT];
    if (!control_address(s->control, false, address))
        return fail_errno(&s->failure, "getsockname");
    if (port->context && strcmp(port->address, address) == 0)
        return true;
    port_close(port);
    return port_open_address(port, address, &s->failure);
}

static void answer(const struct server *server, struct port *found, int control)
{
    struct session s = {.server = true, .control = control};
    s.allowed_ns = FIRST_LINE_S * 1000 * NS_PER_MS;
    s.deadline_ns = system_ns() + s.allowed_ns;
    bool good = understand(&s, server->allowed_ns);
    if (good && server->port_count)
        good = choose_ports(&s, server->ports, server->port_count);
    else if (good)
        good = find_port(&s, found) && choose_ports(&s, found, 1);
    good = good && control_say(&s, "ready") && s.point.probe->run(&s);
    end_control(&s);
    fprintf(stderr, "%s", good ? "done" : "failed");
    if (s.point.probe) {
        fputs(": ", stderr);
        point_print(&s.point, stderr);
    }
    fprintf(stderr, "%s%s\n", good ? "" : ": ", s.failure.text);
    session_close(&s);
}

bool serve(const struct server *server, struct failure *failure)
{
    struct port found = {0};
    int listener = control_listen(server->address, server->service, failure);
    if (listener < 0)
        return false;
    fprintf(stderr, "listening on port %s\n", server->service);
    while (!stopped_by) {
        struct pollfd one = {.fd = listener, .events = POLLIN};
        if (poll(&one, 1, TICK_MS) <= 0)
            continue;
        int control = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (control >= 0)
            answer(server, &found, control);
    }
    close(listener);
    port_close(&found);
    return true;
}
