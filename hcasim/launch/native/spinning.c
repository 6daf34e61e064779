#define _GNU_SOURCE
#include "signals.h"
void look(int signal, siginfo_t *info, void *context) { (void)signal; (void)info; (void)context; }
void step(int signal, siginfo_t *info, void *context) { (void)signal; (void)info; (void)context; }
