#define _GNU_SOURCE
#include "channel.h"
#include "signals.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

/* Descriptors that programs look at, as by select, are smaller. */
#define FIRST_DESCRIPTOR 1024

#define GONE 125

struct question {
	uint32_t what;
	uint32_t notes;
	uint64_t spent_ps;
	struct words words;
};

struct answer {
	int32_t error;
	int32_t signal;
	uint64_t now_ps;
	struct words words;
};

struct thread {
	int descriptor;
	uint64_t now_ps;
	uint64_t spent_ps;
	uint64_t idle_ps;
	uint64_t began_ps;
	uint64_t left_ns; /* processor time up to which it has been charged, */
	uint64_t aside_ns; /* and at which it has stepped aside */
	uint32_t notes;
	volatile bool asking;
};

/* Of the first kind, so that handlers of signals can reach it. */
static __thread struct thread own __attribute__((tls_model("initial-exec"))) = {.descriptor = -1};

static struct host known;
static uint64_t busy_ps;

/* Who computes so long between two questions does not only look for something. */
#define BUSY_NS 10000
#define TRIES 16

/* The connections of all threads of this process, a bit for each descriptor: a child gives them up. */
#define MOST_DESCRIPTORS (1 << 20)
static _Atomic uint64_t connections[MOST_DESCRIPTORS / 64];

void *behind(const char *name)
{
	void *found = dlsym(RTLD_NEXT, name);

	if (!found) {
		fprintf(stderr, "hcasim: the system's libraries have no %s\n", name);
		_exit(GONE);
	}
	return found;
}

bool taking_part(void)
{
	static int known = -1;

	if (known < 0)
		known = getenv("HCASIM_CHANNEL") != NULL;
	return known;
}

bool asking(void)
{
	return own.asking;
}

bool is_connection(int descriptor)
{
	return descriptor > 0 && descriptor < MOST_DESCRIPTORS &&
	       connections[descriptor / 64] >> descriptor % 64 & 1;
}

static int remember(int descriptor)
{
	if (descriptor >= MOST_DESCRIPTORS) {
		syscall(SYS_close, descriptor);
		errno = EMFILE;
		return -1;
	}
	connections[descriptor / 64] |= 1ull << descriptor % 64;
	return descriptor;
}

static void forget(int descriptor)
{
	connections[descriptor / 64] &= ~(1ull << descriptor % 64);
	syscall(SYS_close, descriptor);
}

bool of_own_user(int descriptor)
{
	struct ucred other;
	socklen_t size = sizeof(other);

	if (!syscall(SYS_getsockopt, descriptor, SOL_SOCKET, SO_PEERCRED, &other, &size) &&
	    other.uid == geteuid())
		return true;
	errno = EACCES;
	return false;
}

/* What the environment says, or has said before the program cleared it. */
static const char *said(const char *name, char *kept, size_t size)
{
	const char *value = getenv(name);

	if (value)
		snprintf(kept, size, "%s", value);
	return kept;
}

/* Without the interposed functions: programs must not see the descriptor. */
static int connected(void)
{
	static char kept[sizeof(((struct sockaddr_un *)NULL)->sun_path)];
	int low = syscall(SYS_socket, AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), high;
	struct sockaddr_un to = {.sun_family = AF_UNIX};

	if (low < 0)
		return -1;
	strcpy(to.sun_path, said("HCASIM_CHANNEL", kept, sizeof(kept)));
	if (syscall(SYS_connect, low, &to, sizeof(to)) < 0 || !of_own_user(low)) {
		syscall(SYS_close, low);
		return -1;
	}
	high = syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
	if (high < 0)
		return remember(low);
	syscall(SYS_close, low);
	return remember(high);
}

static uint64_t processor_ns(void)
{
	struct timespec time;

	if (!known.factor)
		return 0;
	syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000ull + time.tv_nsec;
}

void leave_out(uint64_t ns)
{
	own.left_ns += ns;
}

void step_aside(void)
{
	own.aside_ns = processor_ns();
}

void go_on(void)
{
	if (own.aside_ns)
		own.left_ns += processor_ns() - own.aside_ns;
	own.aside_ns = 0;
}

void forget_computing(void)
{
	own.left_ns = processor_ns();
	own.aside_ns = 0;
}

/* Charge what this thread has computed. */
static void compute(void)
{
	uint64_t now = own.aside_ns ? own.aside_ns : processor_ns();
	uint64_t least = own.left_ns + known.reading_ns;

	if (now <= least)
		return;
	if (now - least >= BUSY_NS)
		own.notes |= FOUND;
	own.spent_ps += (now - least) * known.factor / 1000;
	own.left_ns = now;
}

static int exchange(enum call what, struct words *words, const void *sent, size_t size, void *got,
		    size_t room, size_t *came)
{
	struct question question;
	struct answer answer;
	struct iovec out[2] = {{&question, sizeof(question)}, {(void *)sent, size}};
	struct iovec in[2] = {{&answer, sizeof(answer)}, {got, room}};
	struct msghdr to = {.msg_iov = out, .msg_iovlen = size ? 2 : 1};
	struct msghdr from = {.msg_iov = in, .msg_iovlen = room ? 2 : 1};
	ssize_t length;

	own.asking = true;
	if (what != CALL_HELLO)
		compute();
	question = (struct question){what, own.notes, own.spent_ps, *words};
	do
		length = syscall(SYS_sendmsg, own.descriptor, &to, MSG_NOSIGNAL);
	while (length < 0 && errno == EINTR);
	if (length >= 0)
		do
			length = syscall(SYS_recvmsg, own.descriptor, &from, 0);
		while (length < 0 && errno == EINTR);
	if (length < 0 && (errno == EBADF || errno == ENOTSOCK))
		fprintf(stderr, "hcasim: %s has closed descriptor %d, which led to the simulator\n",
			program_invocation_short_name, own.descriptor);
	if (length < (ssize_t)sizeof(answer))
		_exit(GONE); /* If the simulator has ended, it has said why. */
	if (what == CALL_PARK || what == CALL_SLEEP)
		own.idle_ps += answer.now_ps - own.now_ps - own.spent_ps;
	else if (what != CALL_HELLO)
		busy_ps += answer.now_ps - own.now_ps;
	own.notes = 0;
	own.spent_ps = 0;
	own.now_ps = answer.now_ps;
	*words = answer.words;
	if (came)
		*came = length - sizeof(answer);
	own.asking = false;
	watch_again();
	forget_computing();
	deliver(answer.signal);
	return answer.error;
}

/* Processor time that is the library's own. */
static uint64_t least_ns(bool trapped)
{
	uint64_t began, took, least = UINT64_MAX;

	for (int i = 0; i < TRIES; i++) {
		began = processor_ns();
		if (trapped)
			__builtin_ia32_rdtsc();
		took = processor_ns() - began;
		if (took < least)
			least = took;
	}
	return least;
}

static void measure(void)
{
	known.reading_ns = least_ns(false);
	known.trap_ns = least_ns(true) - known.reading_ns;
	own.spent_ps = own.notes = 0;
	forget_computing();
}

static void say_hello(void)
{
	static char node[64]; /* Our ssh changes it. */
	struct words words = {{getpid(), (uint64_t)syscall(SYS_gettid)}};
	char names[512];
	int size = snprintf(names, sizeof(names), "%.255s%c%.63s", program_invocation_short_name, 0,
			    said("HCASIM_NODE", node, sizeof(node)));

	own = (struct thread){.descriptor = connected()};
	if (own.descriptor < 0) {
		fprintf(stderr, "hcasim: no connection to the simulator: %s\n", strerror(errno));
		_exit(GONE);
	}
	watch_thread();
	exchange(CALL_HELLO, &words, names, size, NULL, 0, NULL);
	known.hertz = words.w[0];
	known.node = words.w[1];
	known.nodes = words.w[2];
	known.network = words.w[3];
	known.factor = words.w[4];
	if (known.factor && !known.trap_ns)
		measure();
	own.began_ps = own.now_ps;
}

/* A child has connections of its own. */
static void give_up(void)
{
	for (int i = 0; i < MOST_DESCRIPTORS / 64; i++)
		while (connections[i])
			forget(i * 64 + __builtin_ctzll(connections[i]));
	busy_ps = 0;
	own.descriptor = -1;
}

void take_part(void)
{
	static bool begun;

	if (!begun) { /* From here on the simulator may send signals. */
		begun = true;
		catch_signals();
		trap_clock(true);
		pthread_atfork(NULL, NULL, give_up);
	}
	if (own.descriptor < 0)
		say_hello();
}

void leave(void)
{
	if (own.descriptor < 0)
		return;
	watch_no_more();
	forget(own.descriptor);
	own.descriptor = -1;
}

const struct host *host(void)
{
	take_part();
	return &known;
}

int ask_with(enum call what, struct words *words, const void *sent, size_t size, void *got,
	     size_t room, size_t *came)
{
	int kept = errno, error;

	take_part();
	error = exchange(what, words, sent, size, got, room, came);
	errno = kept;
	return error;
}

int ask(enum call what, struct words *words)
{
	return ask_with(what, words, NULL, 0, NULL, 0, NULL);
}

uint64_t now_ps(void)
{
	take_part();
	compute();
	return own.now_ps + own.spent_ps;
}

uint64_t answered_ps(void)
{
	take_part();
	return own.now_ps;
}

uint64_t thread_ps(void)
{
	return now_ps() - own.began_ps - own.idle_ps;
}

uint64_t process_ps(void)
{
	return busy_ps + own.spent_ps;
}

void spend(uint64_t ps)
{
	own.spent_ps += ps;
}

void settle(void)
{
	struct words words = {{0}};

	if (own.spent_ps)
		ask(CALL_SPEND, &words);
}

void touch(void)
{
	own.notes |= TOUCHED;
}

void note(enum note note)
{
	own.notes |= note;
}

bool park(uint64_t until_ps, const char *what, ...)
{
	struct words words = {{until_ps}};
	char told[128];
	va_list rest;

	va_start(rest, what);
	vsnprintf(told, sizeof(told), what, rest);
	va_end(rest);
	ask_with(CALL_PARK, &words, told, strlen(told), NULL, 0, NULL);
	return words.w[0];
}

void found_nothing(uint64_t what)
{
	struct words words = {{what}};

	ask(CALL_NOTHING, &words);
}

void say_once(const char *name, const char *line)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	static const char *said[256];
	static int count;
	bool known = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; i < count; i++)
		known |= !strcmp(said[i], name);
	if (!known && count < 256)
		said[count++] = name;
	pthread_mutex_unlock(&lock);
	if (!known)
		fprintf(stderr, "hcasim: %s\n", line);
}

/* The first turn of a program comes before its main function, and may come in the constructor of
 * another library. */
__attribute__((constructor)) static void begin(void)
{
	if (taking_part())
		take_part();
}
