#include "turns.h"

#include <stdlib.h>

bool turns_start(struct session *s, struct turns *turns, int count)
{
    *turns = (struct turns){.pattern = (enum pattern)get(s, PATTERN), .count = count, .state = 1};
    if (turns->pattern != ZIPF)
        return true;
    turns->shares = calloc((size_t)count, sizeof *turns->shares);
    if (!turns->shares)
        return fail_errno(&s->failure, "memory for the order of queue pairs");
    double sum = 0;
    for (int i = 0; i < count; i++)
        turns->shares[i] = sum += 1.0 / (i + 1);
    return true;
}

int turns_next(struct turns *turns)
{
    if (turns->pattern == CYCLIC) {
        int now = turns->next;
        turns->next = now + 1 == turns->count ? 0 : now + 1;
        return now;
    }
    uint64_t drawn = draw(&turns->state);
    if (turns->pattern == RANDOM)
        return (int)(drawn % (uint64_t)turns->count);
    double place = (double)(drawn >> 11) * 0x1p-53 * turns->shares[turns->count - 1];
    int low = 0, high = turns->count - 1;
    while (low < high) {
        int middle = (low + high) / 2;
        if (turns->shares[middle] <= place)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

void turns_end(struct turns *turns)
{
    free(turns->shares);
}
