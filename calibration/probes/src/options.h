/* The command line. */
#ifndef OPTIONS_H
#define OPTIONS_H

#include "clock.h"

struct options {
    const char *verb, *plan, *server, *service, *bind, *listen, *device, *output;
    int gid_index;
    bool help; /* was asked for, and printed */
    bool by_hand, raw;
    uint64_t seed;
    double deadline;
    enum clock_source clock;
};

/* Reads the command line; what is wrong with it is printed. Prints the help, if it is asked for. */
bool options_read(int count, char **words, struct options *options);

#endif
