/* What is wrong with a plan, in words, a line of text for each fault. */
#ifndef FAULTS_H
#define FAULTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum { SHORT_WORD = 64 };

struct faults {
    FILE *out;
    const char *where; /* what each fault begins with */
    size_t count;
};

/* Each returns false. The first few faults are said, the others only counted. */
__attribute__((format(printf, 2, 3))) bool fault(struct faults *faults, const char *format, ...);

/* The same for a word that is none of the names, with the one that was probably meant. */
bool fault_word(struct faults *faults, const char *subject, const char *found,
                const char *const *names);

/* Says how many more there were. */
void faults_end(struct faults *faults);

/* The word, or as much of it as is good to read. */
const char *shortened(const char *word, char text[SHORT_WORD]);

#endif
