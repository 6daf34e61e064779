#include "faults.h"

#include <stdarg.h>
#include <string.h>

enum { FEW = 10 };

const char *shortened(const char *word, char text[SHORT_WORD])
{
    static const char DOTS[] = "...";
    if (strlen(word) < SHORT_WORD)
        return word;
    size_t kept = SHORT_WORD - sizeof DOTS;
    /* Not amid a character of UTF-8. */
    while (kept && ((unsigned char)word[kept] & 0xc0) == 0x80)
        kept--;
    memcpy(text, word, kept);
    memcpy(text + kept, DOTS, sizeof DOTS);
    return text;
}

static bool begin(struct faults *faults)
{
    if (++faults->count > FEW)
        return false;
    fputs(faults->where, faults->out);
    return true;
}

bool fault(struct faults *faults, const char *format, ...)
{
    if (begin(faults)) {
        va_list arguments;
        va_start(arguments, format);
        vfprintf(faults->out, format, arguments);
        va_end(arguments);
        fputc('\n', faults->out);
    }
    return false;
}

/* Edits that turn one word into another. */
static size_t distance(const char *a, const char *b)
{
    size_t row[SHORT_WORD], length = strlen(b);
    if (length >= SHORT_WORD - 1)
        return length;
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            size_t best = corner + (a[i - 1] != b[j - 1]);
            if (row[j] + 1 < best)
                best = row[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            corner = row[j];
            row[j] = best;
        }
    }
    return row[length];
}

bool fault_word(struct faults *faults, const char *subject, const char *found,
                const char *const *names)
{
    char text[SHORT_WORD];
    if (!begin(faults))
        return false;
    found = shortened(found, text);
    fprintf(faults->out, "%s: found %s; allowed: ", subject, found);
    const char *nearest = NULL;
    size_t least = strlen(found) / 2 + 1;
    for (size_t i = 0; names[i]; i++) {
        fprintf(faults->out, "%s%s", i ? ", " : "", names[i]);
        size_t now = distance(found, names[i]);
        if (now < least) {
            least = now;
            nearest = names[i];
        }
    }
    if (nearest)
        fprintf(faults->out, "; did you mean %s?", nearest);
    fputc('\n', faults->out);
    return false;
}

void faults_end(struct faults *faults)
{
    if (faults->count > FEW)
        fprintf(faults->out, "%sand %zu more\n", faults->where, faults->count - FEW);
    faults->count = 0;
}
