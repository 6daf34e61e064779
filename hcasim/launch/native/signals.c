#define _GNU_SOURCE
#include "signals.h"
#include "channel.h"
#include "clocks.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define HIGHEST 64

struct state {
	struct handled handled;
	uint64_t came; /* while it asked, a bit for each */
};

static __thread struct state own __attribute__((tls_model("initial-exec")));

/* What the program wants to happen; the system knows of our own functions only. */
static struct sigaction wished[HIGHEST + 1];

static bool reserved(int signal)
{
	return signal == SIGSEGV || signal == SIGTRAP || signal == LOOK_SIGNAL;
}

static int real_sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	return BEHIND(sigaction)(signal, action, old);
}

struct handled handled(void)
{
	return own.handled;
}

bool interrupted(struct handled before, bool always)
{
	return own.handled.ending != before.ending || (always && own.handled.all != before.all);
}

static void send(int signal, int timer)
{
	siginfo_t info = {.si_signo = signal, .si_code = timer ? SI_TIMER : SI_TKILL};
	sigset_t blocked;

	if (timer) {
		info.si_value = timer_value(timer);
	} else {
		info.si_pid = getpid();
		info.si_uid = getuid();
	}
	BEHIND(pthread_sigmask)(SIG_BLOCK, NULL, &blocked);
	if (sigismember(&blocked, signal)) /* Another thread may wait for it. */
		syscall(SYS_rt_sigqueueinfo, getpid(), signal, &info);
	else
		syscall(SYS_rt_tgsigqueueinfo, getpid(), (pid_t)syscall(SYS_gettid), signal, &info);
}

void deliver(int signal)
{
	uint64_t came = own.came;

	if (!signal && !came)
		return;
	own.came = 0;
	if (signal)
		send(signal & ((1 << TIMER_BITS) - 1), signal >> TIMER_BITS);
	for (int one = 1; came && one <= HIGHEST; one++)
		if (came & 1ull << (one - 1))
			send(one, 0);
}

static bool has_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static void handle(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = wished[signal];
	int kept = errno;

	own.handled.all++;
	if (!(action.sa_flags & SA_RESTART))
		own.handled.ending++;
	if (action.sa_flags & SA_RESETHAND) {
		wished[signal] = (struct sigaction){.sa_handler = SIG_DFL};
		if (!reserved(signal))
			real_sigaction(signal, &wished[signal], NULL);
	}
	if (action.sa_flags & SA_SIGINFO)
		action.sa_sigaction(signal, info, context);
	else
		action.sa_handler(signal);
	errno = kept;
}

static void came(int signal, siginfo_t *info, void *context)
{
	if (asking())
		own.came |= 1ull << (signal - 1);
	else if (has_handler(&wished[signal]))
		handle(signal, info, context);
}

/* A fault of the program is its own, as if we were not here. */
static void pass_on(int signal, siginfo_t *info, void *context)
{
	struct sigaction action = {.sa_handler = SIG_DFL};

	if (has_handler(&wished[signal])) {
		handle(signal, info, context);
		return;
	}
	if (info->si_code <= 0 && wished[signal].sa_handler == SIG_IGN)
		return;
	real_sigaction(signal, &action, NULL);
	if (info->si_code <= 0)
		syscall(SYS_tgkill, getpid(), (pid_t)syscall(SYS_gettid), signal);
}

static void fault(int signal, siginfo_t *info, void *context)
{
	if (info->si_code != SI_KERNEL || !read_trapped_clock(context))
		pass_on(signal, info, context);
}

static void trap(int signal, siginfo_t *info, void *context)
{
	if (info->si_code == TRAP_TRACE)
		step(signal, info, context);
	else
		pass_on(signal, info, context);
}

void catch_signals(void)
{
	struct sigaction action = {.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER | SA_RESTART};

	sigaddset(&action.sa_mask, LOOK_SIGNAL);
	action.sa_sigaction = fault;
	real_sigaction(SIGSEGV, &action, NULL);
	action.sa_sigaction = trap;
	real_sigaction(SIGTRAP, &action, NULL);
	action.sa_flags = SA_SIGINFO | SA_RESTART;
	action.sa_sigaction = look;
	real_sigaction(LOOK_SIGNAL, &action, NULL);
}

sigset_t bearable(const sigset_t *set)
{
	sigset_t left = *set;

	for (int signal = 1; signal <= HIGHEST; signal++)
		if (reserved(signal))
			sigdelset(&left, signal);
	return left;
}

EXPORT int sigaction(int signal, const struct sigaction *action, struct sigaction *old)
{
	struct sigaction before, ours;

	if (!taking_part() || signal < 1 || signal > HIGHEST)
		return real_sigaction(signal, action, old);
	before = wished[signal];
	if (!has_handler(&before) && !reserved(signal))
		if (real_sigaction(signal, NULL, &before))
			return -1;
	if (action && !reserved(signal)) {
		ours = *action;
		if (has_handler(action)) {
			ours.sa_sigaction = came;
			ours.sa_flags = (action->sa_flags | SA_SIGINFO) & ~SA_RESETHAND;
			ours.sa_mask = bearable(&action->sa_mask);
		}
		wished[signal] = *action;
		if (real_sigaction(signal, &ours, NULL)) {
			wished[signal] = before;
			return -1;
		}
	} else if (action) {
		wished[signal] = *action;
	}
	if (old)
		*old = before;
	return 0;
}

static sighandler_t set_handler(int signal, sighandler_t handler, int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;

	if (sigaction(signal, &action, &old))
		return SIG_ERR;
	return old.sa_handler;
}

EXPORT sighandler_t signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, SA_RESTART);
}

EXPORT sighandler_t bsd_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, SA_RESTART);
}

EXPORT sighandler_t __sysv_signal(int number, sighandler_t handler)
{
	return set_handler(number, handler, SA_RESETHAND | SA_NODEFER);
}

EXPORT int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	sigset_t left;

	if (!set || how == SIG_UNBLOCK || !taking_part())
		return BEHIND(pthread_sigmask)(how, set, old);
	left = bearable(set);
	return BEHIND(pthread_sigmask)(how, &left, old);
}

EXPORT int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	int error = pthread_sigmask(how, set, old);

	if (!error)
		return 0;
	errno = error;
	return -1;
}

EXPORT int kill(pid_t process, int signal)
{
	struct words words = {{process, signal}};

	if (taking_part() && signal && process > 0 && process != getpid() &&
	    !BEHIND(kill)(process, 0)) {
		ask(CALL_KILL, &words);
		if (words.w[0])
			return 0;
	}
	return BEHIND(kill)(process, signal);
}

EXPORT int pause(void)
{
	struct handled before = handled();

	if (!taking_part())
		return BEHIND(pause)();
	while (!interrupted(before, true))
		park(0, "for a signal");
	errno = EINTR;
	return -1;
}

EXPORT int sigsuspend(const sigset_t *set)
{
	struct handled before = handled();
	sigset_t kept;

	if (!taking_part())
		return BEHIND(sigsuspend)(set);
	pthread_sigmask(SIG_SETMASK, set, &kept);
	while (!interrupted(before, true))
		park(0, "for a signal");
	pthread_sigmask(SIG_SETMASK, &kept, NULL);
	errno = EINTR;
	return -1;
}

EXPORT int sigtimedwait(const sigset_t *set, siginfo_t *info, const struct timespec *timeout)
{
	static const struct timespec none;
	struct handled before = handled();
	uint64_t until;
	int found;

	if (!taking_part())
		return BEHIND(sigtimedwait)(set, info, timeout);
	until = timeout ? now_ps() + length_ps(timeout) : 0;
	for (;;) {
		found = BEHIND(sigtimedwait)(set, info, &none);
		if (found >= 0 || errno != EAGAIN)
			return found;
		if (timeout && now_ps() >= until)
			return -1;
		if (interrupted(before, true)) {
			errno = EINTR;
			return -1;
		}
		park(until, "for a signal");
	}
}

EXPORT int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	if (!taking_part())
		return BEHIND(sigwaitinfo)(set, info);
	return sigtimedwait(set, info, NULL);
}

EXPORT int sigwait(const sigset_t *set, int *signal)
{
	int found;

	if (!taking_part())
		return BEHIND(sigwait)(set, signal);
	do
		found = sigtimedwait(set, NULL, NULL);
	while (found < 0 && errno == EINTR);
	if (found < 0)
		return errno;
	*signal = found;
	return 0;
}
