/* reg_mr: registering memory that is already there, and deregistering it. */
#include "lanes.h"
#include "memory.h"
#include "probes.h"

static bool turn(struct session *s, const struct buffer *buffer, bool counts)
{
    uint64_t begin = ticks();
    struct ibv_mr *mr = buffer_register(s, buffer, 0);
    if (!mr)
        return fail_errno(&s->failure, "ibv_reg_mr");
    note_time(&s->series[0], counts, begin);
    begin = ticks();
    if (ibv_dereg_mr(mr))
        return fail_errno(&s->failure, "ibv_dereg_mr");
    note_time(&s->series[1], counts, begin);
    return session_goes_on(s);
}

bool reg_mr(struct session *s)
{
    struct need need = {.lanes = 1, .completions = 1};
    struct buffer buffer = {0};
    size_t count = (size_t)get(s, ITERS);
    int64_t laps = get(s, WARMUP) + get(s, ITERS);
    bool good = lanes_prepare(s, &need) && buffer_map(s, &buffer, (size_t)get(s, SIZE)) &&
                new_series(s, "registration", count, 1.0) &&
                new_series(s, "deregistration", count, 1.0);
    for (int64_t lap = 0; good && lap < laps; lap++)
        good = turn(s, &buffer, lap >= get(s, WARMUP));
    buffer_free(&buffer);
    s->is_time = true;
    return good;
}
