#include "options.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "number.h"
#include "peers.h"

static const char HELP[] =
    "Usage: hcasim-probes list                    the workloads and their options\n"
    "       hcasim-probes check PLAN [--seed N]   read a plan, print its points in their order\n"
    "       hcasim-probes header [PORT]           print what a trace would say of this machine\n"
    "       hcasim-probes serve [PORT]            answer clients until a signal\n"
    "       hcasim-probes run PLAN [OPTION]...    measure, write a trace\n"
    "\n"
    "PORT is one of\n"
    "  --bind ADDRESS[,ADDRESS]  the port that has this IP address; two for ports=2\n"
    "                            (default: the one on the way to the other host)\n"
    "  --device NAME[:PORT]      such as mlx5_0:1; connects by hand\n"
    "  --gid-index N             with --device: entry of the GID table\n"
    "\n"
    "Options of serve\n"
    "  --listen ADDRESS          for clients (default: all of IPv4; anybody who reaches it may ask)\n"
    "  --deadline SECONDS        the longest that a client may set for a point (default: 300)\n"
    "\n"
    "Options of run\n"
    "  --server HOST             where `serve` runs; reg_mr, loopback_lat, post_cost need none\n"
    "  --port N                  TCP port to meet at (default: " DEFAULT_SERVICE "; serve too)\n"
    "  --connect WAY             manager (rdma_cm, default) or hand (numbers sent over TCP)\n"
    "  --seed N                  of the order of the points (default: 1; 0 keeps the plan's)\n"
    "  --deadline SECONDS        for each point (default: 30)\n"
    "  --clock SOURCE            auto (default), tsc or monotonic\n"
    "  --raw                     write all samples, never a histogram\n"
    "  -o FILE                   where to write the trace (default: standard output)\n";

/* The command and its plan. */
static bool read_words(int count, char **words, struct options *options)
{
    options->verb = optind < count ? words[optind++] : "";
    bool plans = !strcmp(options->verb, "run") || !strcmp(options->verb, "check");
    if (plans && optind < count)
        options->plan = words[optind++];
    if (optind < count || (plans && !options->plan)) {
        fprintf(stderr, "%s: found %s; see --help\n", options->verb,
                optind < count ? words[optind] : "no plan");
        return false;
    }
    return true;
}

bool options_read(int count, char **words, struct options *options)
{
    enum { SERVER = 256, LISTEN, PORT, BIND, DEVICE, GID, CONNECT, SEED, DEADLINE, CLOCK, RAW };
    static const struct option LONG[] = {
        {"server", required_argument, NULL, SERVER},   {"port", required_argument, NULL, PORT},
        {"bind", required_argument, NULL, BIND},       {"device", required_argument, NULL, DEVICE},
        {"gid-index", required_argument, NULL, GID},   {"connect", required_argument, NULL, CONNECT},
        {"seed", required_argument, NULL, SEED},       {"deadline", required_argument, NULL, DEADLINE},
        {"clock", required_argument, NULL, CLOCK},     {"raw", no_argument, NULL, RAW},
        {"listen", required_argument, NULL, LISTEN},   {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},              {NULL, 0, NULL, 0},
    };
    *options = (struct options){
        .service = DEFAULT_SERVICE, .gid_index = -1, .seed = 1};
    bool good = true;
    int found, place = 0;
    while ((found = getopt_long(count, words, "o:h", LONG, &place)) != -1) {
        int64_t number = 0;
        const char *allowed = NULL;
        switch (found) {
        case SERVER:
            options->server = optarg;
            break;
        case LISTEN:
            options->listen = optarg;
            break;
        case PORT:
            options->service = optarg;
            /* getaddrinfo would take what is left of a greater one. */
            allowed = read_whole(optarg, 1, 65535, &number) ? NULL : "1 to 65535";
            break;
        case BIND:
            options->bind = optarg;
            break;
        case DEVICE:
            options->device = optarg;
            break;
        case GID:
            allowed = read_whole(optarg, 0, 255, &number) ? NULL : "0 to 255";
            options->gid_index = (int)number;
            break;
        case CONNECT:
            options->by_hand = strcmp(optarg, "hand") == 0;
            allowed = options->by_hand || !strcmp(optarg, "manager")
                          ? NULL
                          : "manager, hand";
            break;
        case SEED:
            allowed = read_whole(optarg, 0, INT64_MAX, &number) ? NULL : "0 to 2^63 - 1";
            options->seed = (uint64_t)number;
            break;
        case DEADLINE:
            allowed = read_decimal(optarg, 0.1, 86400, &options->deadline) ? NULL
                                                                           : "0.1 to 86400 s";
            break;
        case CLOCK:
            options->clock = !strcmp(optarg, "tsc")         ? CLOCK_TSC
                                : !strcmp(optarg, "monotonic") ? CLOCK_SYSTEM
                                                               : CLOCK_AUTO;
            allowed = options->clock == CLOCK_AUTO && strcmp(optarg, "auto")
                          ? "auto, tsc, monotonic"
                          : NULL;
            break;
        case RAW:
            options->raw = true;
            break;
        case 'o':
            options->output = optarg;
            break;
        case 'h':
            fputs(HELP, stdout);
            options->help = true;
            return true;
        default:
            good = false;
        }
        if (allowed) {
            fprintf(stderr, "--%s: found %s; allowed: %s\n", LONG[place].name, optarg, allowed);
            good = false;
        }
    }
    if (options->device && !options->by_hand)
        options->by_hand = true;
    if (options->device && options->bind) {
        fputs("--device: contradicts --bind; leave one out\n", stderr);
        good = false;
    }
    good = read_words(count, words, options) && good;
    if (!options->deadline)
        options->deadline = strcmp(options->verb, "serve") ? 30 : 300;
    return good;
}
