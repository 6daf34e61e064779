/* Clocks, which all show simulated time, and sleep. */
#define _GNU_SOURCE
#include "clocks.h"
#include "channel.h"
#include "signals.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/time.h>
#include <sys/times.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define SECOND 1000000000000ull /* in ps */
#define NANOSECOND 1000ull

/* The calendar's time, and that since the machine was started, when a simulation begins. */
#define EPOCH_S 1704067200
#define UPTIME_S 86400

#define LONGEST_S 4000000 /* 46 days are for ever */

#define READ_PS 20000

/* A thread that does nothing but reading the clock, and memory, waits for something: so often, it has
 * looked and found nothing. */
#define IN_A_ROW 32

static __thread struct {
	uint64_t since_ps;
	int row;
} reading __attribute__((tls_model("initial-exec")));

/* What a read shows. */
static uint64_t read_ps(void)
{
	note(CLOCK);
	if (answered_ps() != reading.since_ps)
		reading.row = 0;
	spend(READ_PS);
	if (++reading.row >= IN_A_ROW && !asking()) {
		found_nothing(-1);
		reading.row = 0;
	}
	reading.since_ps = answered_ps();
	return now_ps();
}

static struct timespec as_timespec(uint64_t ps, uint64_t since_s)
{
	return (struct timespec){since_s + ps / SECOND, ps % SECOND / NANOSECOND};
}

uint64_t length_ps(const struct timespec *time)
{
	if (time->tv_sec < 0)
		return 0;
	if (time->tv_sec >= LONGEST_S)
		return LONGEST_S * SECOND;
	return time->tv_sec * SECOND + time->tv_nsec * NANOSECOND;
}

uint64_t due_ps(clockid_t clock, const struct timespec *time)
{
	struct timespec left = *time;

	left.tv_sec -= clock == CLOCK_REALTIME || clock == CLOCK_TAI ? EPOCH_S : UPTIME_S;
	return length_ps(&left);
}

struct timespec as_length(uint64_t ps)
{
	return as_timespec(ps, 0);
}

/* The processor's own clock. */

static uint64_t ticks(void)
{
	return ((unsigned __int128)read_ps() * host()->hertz) / SECOND;
}

/* rdtsc is 0f 31; rdtscp, which also tells the processor's number, is 0f 01 f9. */
bool read_trapped_clock(void *context)
{
	greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
	const unsigned char *at = (const unsigned char *)registers[REG_RIP];
	bool numbered;
	uint64_t found;

	if ((uint64_t)at >> 47 || at[0] != 0x0f)
		return false;
	numbered = at[1] == 0x01 && at[2] == 0xf9;
	if (at[1] != 0x31 && !numbered)
		return false;
	leave_out(host()->trap_ns);
	found = ticks();
	registers[REG_RAX] = (uint32_t)found;
	registers[REG_RDX] = found >> 32;
	if (numbered)
		registers[REG_RCX] = 0;
	registers[REG_RIP] += numbered ? 3 : 2;
	return true;
}

void trap_clock(bool trap)
{
	prctl(PR_SET_TSC, trap ? PR_TSC_SIGSEGV : PR_TSC_ENABLE, 0, 0, 0);
}

/* The C library's clocks. */

EXPORT int clock_gettime(clockid_t clock, struct timespec *time)
{
	if (!taking_part())
		return BEHIND(clock_gettime)(clock, time);
	switch (clock) {
	case CLOCK_REALTIME:
	case CLOCK_REALTIME_COARSE:
	case CLOCK_TAI:
		*time = as_timespec(read_ps(), EPOCH_S);
		return 0;
	case CLOCK_MONOTONIC:
	case CLOCK_MONOTONIC_RAW:
	case CLOCK_MONOTONIC_COARSE:
	case CLOCK_BOOTTIME:
		*time = as_timespec(read_ps(), UPTIME_S);
		return 0;
	case CLOCK_THREAD_CPUTIME_ID:
		read_ps();
		*time = as_timespec(thread_ps(), 0);
		return 0;
	default:
		if (clock < 0 && (clock & 7) == 6) { /* of a thread, by pthread_getcpuclockid */
			read_ps();
			*time = as_timespec(thread_ps(), 0);
			return 0;
		}
		if (clock >= 0 && clock != CLOCK_PROCESS_CPUTIME_ID)
			return BEHIND(clock_gettime)(clock, time);
		read_ps();
		*time = as_timespec(process_ps(), 0);
		return 0;
	}
}

EXPORT int clock_getres(clockid_t clock, struct timespec *resolution)
{
	if (!taking_part())
		return BEHIND(clock_getres)(clock, resolution);
	if (resolution)
		*resolution = (struct timespec){0, 1};
	return 0;
}

EXPORT int timespec_get(struct timespec *time, int base)
{
	if (!taking_part() || base != TIME_UTC)
		return BEHIND(timespec_get)(time, base);
	return clock_gettime(CLOCK_REALTIME, time) ? 0 : base;
}

EXPORT int gettimeofday(struct timeval *restrict time, void *restrict zone)
{
	uint64_t ps;

	if (!taking_part())
		return BEHIND(gettimeofday)(time, zone);
	ps = read_ps();
	time->tv_sec = EPOCH_S + ps / SECOND;
	time->tv_usec = ps % SECOND / 1000000;
	return 0;
}

EXPORT time_t time(time_t *kept)
{
	time_t found;

	if (!taking_part())
		return BEHIND(time)(kept);
	found = EPOCH_S + read_ps() / SECOND;
	if (kept)
		*kept = found;
	return found;
}

EXPORT clock_t clock(void)
{
	if (!taking_part())
		return BEHIND(clock)();
	read_ps();
	return process_ps() / (SECOND / CLOCKS_PER_SEC);
}

EXPORT clock_t times(struct tms *spent)
{
	uint64_t tick = SECOND / sysconf(_SC_CLK_TCK);

	if (!taking_part())
		return BEHIND(times)(spent);
	read_ps();
	if (spent)
		*spent = (struct tms){.tms_utime = process_ps() / tick};
	return UPTIME_S * (SECOND / tick) + now_ps() / tick;
}

/* Sleep. */

/* Returns 0 when the time has come, or EINTR. */
static int sleep_until(uint64_t until)
{
	struct handled before = handled();
	struct words words;

	while (now_ps() < until) {
		words = (struct words){{until}};
		ask(CALL_SLEEP, &words);
		pthread_testcancel();
		if (interrupted(before, true))
			return EINTR;
	}
	return 0;
}

EXPORT int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time,
			   struct timespec *left)
{
	uint64_t until;
	int error;

	if (!taking_part())
		return BEHIND(clock_nanosleep)(clock, flags, time, left);
	if (time->tv_sec < 0 || time->tv_nsec < 0 || time->tv_nsec > 999999999)
		return EINVAL;
	until = flags & TIMER_ABSTIME ? due_ps(clock, time) : now_ps() + length_ps(time);
	error = sleep_until(until);
	if (error && left && !(flags & TIMER_ABSTIME))
		*left = as_timespec(until > now_ps() ? until - now_ps() : 0, 0);
	return error;
}

EXPORT int nanosleep(const struct timespec *time, struct timespec *left)
{
	int error;

	if (!taking_part())
		return BEHIND(nanosleep)(time, left);
	error = clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
	if (!error)
		return 0;
	errno = error;
	return -1;
}

EXPORT int usleep(useconds_t us)
{
	struct timespec time = as_timespec(us * 1000000ull, 0);

	if (!taking_part())
		return BEHIND(usleep)(us);
	return nanosleep(&time, NULL);
}

EXPORT unsigned int sleep(unsigned int seconds)
{
	struct timespec time = {seconds, 0}, left;

	if (!taking_part())
		return BEHIND(sleep)(seconds);
	if (!nanosleep(&time, &left))
		return 0;
	return left.tv_sec + (left.tv_nsec >= 500000000);
}

EXPORT int sched_yield(void)
{
	if (!taking_part())
		return BEHIND(sched_yield)();
	found_nothing(0);
	return 0;
}
