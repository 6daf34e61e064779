/* hcasim-probes: measures RDMA adapters. */
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "control.h"
#include "options.h"
#include "peers.h"
#include "ports.h"
#include "trace.h"

enum { USAGE = 2, GIVE_UP = 3 /* points without an answer */ };

static void note_signal(int number)
{
    stopped_by = number;
}

static void catch_signals(void)
{
    /* A second signal ends the process at once. */
    struct sigaction action = {.sa_handler = note_signal, .sa_flags = (int)SA_RESETHAND};
    struct sigaction before;
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    /* nohup has it ignored. */
    if (sigaction(SIGHUP, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
        sigaction(SIGHUP, &action, NULL);
}

/* Whether all that was printed has been written. */
static bool is_written(FILE *out, const char *name, struct failure *failure)
{
    errno = 0;
    if (fflush(out) == 0 && !ferror(out))
        return true;
    return fail(failure, "%s: cannot be written: %s", name,
                errno ? strerror(errno) : "an earlier write has failed");
}

/* The exit code of what only prints. */
static int finish(void)
{
    struct failure failure = {{0}};
    if (is_written(stdout, "standard output", &failure))
        return 0;
    fprintf(stderr, "%s\n", failure.text);
    return USAGE;
}

/* Our address on the way to a host: nothing is sent. */
static bool local_address(const char *host, char text[ADDRESS_TEXT], struct failure *failure)
{
    struct addrinfo *found, hints = {.ai_socktype = SOCK_DGRAM};
    int code = getaddrinfo(host, "9", &hints, &found);
    if (code)
        return fail(failure, "--server %s: %s", host, gai_strerror(code));
    int one = socket(found->ai_family, SOCK_DGRAM, 0);
    bool good = one >= 0 && connect(one, found->ai_addr, found->ai_addrlen) == 0 &&
                control_address(one, false, text);
    if (!good)
        fail_errno(failure, host);
    if (one >= 0)
        close(one);
    freeaddrinfo(found);
    return good;
}

/* Opens the ports that the options name; none is not a fault if nothing names one. */
static bool open_ports(const struct options *options, struct port ports[MAX_PORTS], int *count,
                       struct failure *failure)
{
    char addresses[256], local[ADDRESS_TEXT], *save = NULL;
    *count = 0;
    if (options->device) {
        *count = port_open_device(&ports[0], options->device, options->gid_index, failure);
        return *count;
    }
    if (options->bind && strlen(options->bind) >= sizeof addresses)
        return fail(failure, "--bind: found %zu characters; allowed: at most %zu",
                    strlen(options->bind), sizeof addresses - 1);
    if (options->bind)
        snprintf(addresses, sizeof addresses, "%s", options->bind);
    else if (!options->server)
        return true;
    else if (!local_address(options->server, local, failure))
        return false;
    else
        snprintf(addresses, sizeof addresses, "%s", local);
    for (char *one = strtok_r(addresses, ",", &save); one; one = strtok_r(NULL, ",", &save)) {
        if (*count == MAX_PORTS)
            return fail(failure, "--bind: found more than %d addresses", MAX_PORTS);
        if (!port_open_address(&ports[*count], one, failure))
            return false;
        (*count)++;
    }
    return true;
}

static void close_ports(struct port *ports, int count)
{
    for (int i = 0; i < count; i++)
        port_close(&ports[i]);
}

static int list(void)
{
    for (const struct probe *probe = PROBES; probe->name; probe++) {
        printf("%-13s %s\n             ", probe->name, probe->title);
        for (enum key key = 0; key < KEYS; key++)
            if (has_key(probe, key))
                printf(" %s", key_name(key));
        putchar('\n');
    }
    return finish();
}

static int check(const struct options *options)
{
    struct plan plan;
    if (!plan_read(options->plan, options->seed, &plan))
        return USAGE;
    for (size_t i = 0; i < plan.count; i++) {
        point_print(&plan.points[i], stdout);
        putchar('\n');
    }
    free(plan.points);
    return finish();
}

static int header(const struct options *options, const char *command)
{
    struct port ports[MAX_PORTS];
    struct failure failure = {{0}};
    int count = 0, code = USAGE;
    if (!clock_calibrate(options->clock))
        fail(&failure, "--clock tsc: the counter of this processor cannot be used");
    else if (open_ports(options, ports, &count, &failure) && !count)
        fail(&failure, "which port? name it with --bind or --device");
    if (!failure.text[0]) {
        struct about about = {command, NULL, options->by_hand, ports, count};
        trace_header(stdout, &about);
        code = finish();
    } else {
        fprintf(stderr, "%s\n", failure.text);
    }
    close_ports(ports, count);
    return code;
}

static int serve_clients(const struct options *options)
{
    struct port ports[MAX_PORTS];
    struct failure failure = {{0}};
    int count = 0;
    bool good = open_ports(options, ports, &count, &failure);
    if (good) {
        int64_t allowed_ns = (int64_t)(options->deadline * 1e9);
        looks_begin();
        struct server server = {options->listen, options->service, allowed_ns, ports, count};
        good = serve(&server, &failure);
    }
    if (!good)
        fprintf(stderr, "%s\n", failure.text);
    close_ports(ports, count);
    return good ? 0 : USAGE;
}

/* Whether a trace would be written over the plan, by whatever name. */
static bool is_plan(const char *output, const char *plan)
{
    struct stat out, in;
    return !stat(output, &out) && !(strcmp(plan, "-") ? stat(plan, &in) : fstat(0, &in)) &&
           S_ISREG(out.st_mode) && out.st_dev == in.st_dev && out.st_ino == in.st_ino;
}

/* What run needs and the plan does not say. */
static bool check_plan(const struct plan *plan, const struct options *options)
{
    bool good = true, server = false, mtu = false, wrong_qp = false;
    for (size_t i = 0; i < plan->count; i++) {
        server |= !plan->points[i].probe->alone;
        mtu |= plan->points[i].value[MTU] != 0;
        wrong_qp |= plan->points[i].value[FAULT] == WRONG_QP;
    }
    if (options->output && is_plan(options->output, options->plan)) {
        fprintf(stderr, "-o %s: is the plan; name another file\n", options->output);
        good = false;
    }
    if (server && !options->server) {
        fprintf(stderr, "%s: has points for two ends; name the other with --server\n",
                options->plan);
        good = false;
    }
    if ((mtu || wrong_qp) && !options->by_hand) {
        fprintf(stderr, "%s: %s needs --connect hand\n", options->plan, mtu ? "mtu" : "fault=qp");
        good = false;
    }
    return good;
}

/* Measures the points; returns the exit code. */
static int measure(const struct options *options, const struct plan *plan, FILE *out,
                   const struct about *about, struct failure *failure)
{
    const char *reason = "", *name = options->output ? options->output : "standard output";
    size_t measured = 0, failed = 0, silent = 0;
    looks_begin();
    trace_header(out, about);
    bool whole = is_written(out, name, failure);
    for (size_t i = 0; i < plan->count && whole && !reason[0]; i++) {
        struct session s = {.point = plan->points[i],
                            .by_hand = options->by_hand,
                            .ports = about->ports,
                            .port_count = about->port_count,
                            .allowed_ns = (int64_t)(options->deadline * 1e9)};
        bool met, good = run_client(&s, options->server, options->service, &met);
        fprintf(stderr, "[%zu/%zu] ", i + 1, plan->count);
        point_print(&s.point, stderr);
        fprintf(stderr, "%s%s\n", good ? "" : ": ", s.failure.text);
        if (good) {
            trace_point(out, &s, options->raw);
            measured++;
        } else if (stopped_by) {
            reason = signal_name(stopped_by);
        } else {
            trace_failure(out, &s.point, s.failure.text);
            failed++;
        }
        silent = met ? 0 : silent + 1;
        session_close(&s);
        if (stopped_by)
            reason = signal_name(stopped_by);
        else if (silent == GIVE_UP)
            reason = "the server does not answer";
        whole = is_written(out, name, failure);
    }
    bool complete = measured + failed == plan->count;
    trace_end(out, measured, complete, complete ? "" : reason);
    whole = is_written(out, name, failure) && whole;
    if (out != stdout && fclose(out))
        whole = fail_errno(failure, name);
    if (stopped_by && whole)
        return 128 + stopped_by;
    return failed || !complete || !whole;
}

static int run(const struct options *options, const char *command)
{
    struct plan plan;
    struct port ports[MAX_PORTS];
    struct failure failure = {{0}};
    int count = 0, code = USAGE;
    FILE *out = stdout;
    if (!plan_read(options->plan, options->seed, &plan))
        return USAGE;
    bool good = check_plan(&plan, options);
    if (good && !clock_calibrate(options->clock))
        good = fail(&failure, "--clock tsc: the counter of this processor cannot be used");
    good = good && open_ports(options, ports, &count, &failure);
    if (good && !count)
        good = fail(&failure, "which port? name it with --bind or --device");
    if (good && options->output && !(out = fopen(options->output, "w")))
        good = fail_errno(&failure, options->output);
    if (good) {
        struct about about = {command, &plan, options->by_hand, ports, count};
        code = measure(options, &plan, out, &about, &failure);
    }
    if (failure.text[0])
        fprintf(stderr, "%s\n", failure.text);
    close_ports(ports, count);
    free(plan.points);
    return code;
}

int main(int count, char **words)
{
    struct options options;
    char command[1024] = "";
    for (int i = 0; i < count; i++) {
        size_t used = strlen(command);
        snprintf(command + used, sizeof command - used, "%s%s", i ? " " : "", words[i]);
    }
    if (!options_read(count, words, &options))
        return USAGE;
    if (options.help)
        return finish();
    const char *verb = options.verb;
    catch_signals();
    if (!strcmp(verb, "list"))
        return list();
    if (!strcmp(verb, "check"))
        return check(&options);
    if (!strcmp(verb, "header"))
        return header(&options, command);
    if (!strcmp(verb, "serve"))
        return serve_clients(&options);
    if (!strcmp(verb, "run"))
        return run(&options, command);
    fprintf(stderr, "found '%s'; allowed: list, check, header, serve, run; see --help\n", verb);
    return USAGE;
}
