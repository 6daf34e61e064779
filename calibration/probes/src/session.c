#include "session.h"

#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "control.h"

enum { LOOK_US = 10000 };

volatile sig_atomic_t stopped_by, look_due;

const char *signal_name(int number)
{
    return number == SIGINT    ? "SIGINT"
           : number == SIGTERM ? "SIGTERM"
           : number == SIGHUP  ? "SIGHUP"
                               : "signal";
}

static void note_look(int number)
{
    (void)number;
    look_due = 1;
}

void looks_begin(void)
{
    struct sigaction action = {.sa_handler = note_look, .sa_flags = SA_RESTART};
    struct itimerval every = {.it_interval.tv_usec = LOOK_US, .it_value.tv_usec = LOOK_US};
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &every, NULL);
}

bool session_goes_on(struct session *s)
{
    if (s->failure.text[0])
        return false;
    if (stopped_by)
        return fail(&s->failure, "%s", signal_name(stopped_by));
    if (system_ns() >= s->deadline_ns)
        return fail(&s->failure, "deadline of %g s", (double)s->allowed_ns / 1e9);
    if (!look_due)
        return true;
    look_due = 0;
    return s->control < 0 || control_quiet(s);
}

struct series *new_series(struct session *s, const char *name, size_t count, double share)
{
    struct series *series = &s->series[s->series_count];
    *series = (struct series){.name = name, .share = share};
    series->ticks = calloc(count, sizeof *series->ticks);
    if (!series->ticks) {
        fail_errno(&s->failure, "memory for the samples");
        return NULL;
    }
    s->series_count++;
    return series;
}

void session_close(struct session *s)
{
    for (int i = 0; i < s->lane_count; i++) {
        struct lane *lane = &s->lanes[i];
        if (lane->id && lane->qp)
            rdma_destroy_qp(lane->id);
        else if (lane->qp)
            ibv_destroy_qp(lane->qp);
        if (lane->id)
            rdma_destroy_id(lane->id);
    }
    if (s->channel)
        rdma_destroy_event_channel(s->channel);
    free(s->lanes);
    for (int i = 0; i < s->port_count; i++) {
        if (s->cq[i])
            ibv_destroy_cq(s->cq[i]);
        if (s->pd[i])
            ibv_dealloc_pd(s->pd[i]);
    }
    for (int i = 0; i < s->series_count; i++)
        free(s->series[i].ticks);
}
