/* Processes that programs start and wait for. */
#define _GNU_SOURCE
#include "channel.h"
#include "signals.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

static void born(pid_t child)
{
	struct words words = {{child}};

	ask(CALL_BORN, &words);
}

EXPORT pid_t fork(void)
{
	pid_t child;

	if (!taking_part())
		return BEHIND(fork)();
	settle(); /* Nobody else may run before the simulator knows of the child. */
	child = BEHIND(fork)();
	if (!child)
		take_part();
	else if (child > 0)
		born(child);
	return child;
}

EXPORT pid_t _Fork(void)
{
	return fork();
}

/* The parent may go on before its child runs another program. */
EXPORT pid_t vfork(void)
{
	return fork();
}

EXPORT int daemon(int here, int noisy)
{
	pid_t child;
	int null;

	if (!taking_part())
		return BEHIND(daemon)(here, noisy);
	child = fork();
	if (child < 0)
		return -1;
	if (child)
		_exit(0);
	if (setsid() < 0 || (!here && chdir("/")))
		return -1;
	null = noisy ? -1 : open("/dev/null", O_RDWR);
	for (int i = 0; null >= 0 && i < 3; i++)
		dup2(null, i);
	if (null > 2)
		close(null);
	return 0;
}

/* The next program's loader reads the processor's clock before anybody can catch that. */
static void change(bool begin)
{
	struct words words = {{begin}};

	if (!taking_part())
		return;
	ask(CALL_EXEC, &words);
	trap_clock(!begin);
}

#define CHANGED(call)                                                                              \
	({                                                                                         \
		int done, kept;                                                                    \
		change(true);                                                                      \
		done = (call);                                                                     \
		kept = errno;                                                                      \
		change(false);                                                                     \
		errno = kept;                                                                      \
		done;                                                                              \
	})

EXPORT int execve(const char *path, char *const arguments[], char *const environment[])
{
	return CHANGED(BEHIND(execve)(path, arguments, environment));
}

EXPORT int execv(const char *path, char *const arguments[])
{
	return execve(path, arguments, environ);
}

EXPORT int execvpe(const char *file, char *const arguments[], char *const environment[])
{
	return CHANGED(BEHIND(execvpe)(file, arguments, environment));
}

EXPORT int execvp(const char *file, char *const arguments[])
{
	return execvpe(file, arguments, environ);
}

EXPORT int fexecve(int descriptor, char *const arguments[], char *const environment[])
{
	return CHANGED(BEHIND(fexecve)(descriptor, arguments, environment));
}

#define MOST 4096

/* What follows the first argument, up to NULL; behind it may be an environment. */
#define LIST(last, list, environment)                                                              \
	va_list rest;                                                                              \
	int count = 1;                                                                             \
	char *list[MOST] = {(char *)last};                                                         \
	va_start(rest, last);                                                                      \
	while (list[count - 1] && count < MOST - 1)                                                \
		list[count++] = va_arg(rest, char *);                                              \
	environment;                                                                               \
	va_end(rest)

EXPORT int execl(const char *path, const char *first, ...)
{
	LIST(first, list, (void)0);
	return execv(path, list);
}

EXPORT int execlp(const char *file, const char *first, ...)
{
	LIST(first, list, (void)0);
	return execvp(file, list);
}

EXPORT int execle(const char *path, const char *first, ...)
{
	char **environment;

	LIST(first, list, environment = va_arg(rest, char **));
	return execve(path, list, environment);
}

static int spawned(int error, const pid_t *child)
{
	trap_clock(true);
	if (!error)
		born(*child);
	return error;
}

#define SPAWN(name)                                                                                \
	EXPORT int name(pid_t *restrict child, const char *restrict file,                          \
			const posix_spawn_file_actions_t *actions,                                 \
			const posix_spawnattr_t *restrict attributes, char *const arguments[],     \
			char *const environment[])                                                 \
	{                                                                                          \
		pid_t made;                                                                        \
                                                                                                   \
		if (!child)                                                                        \
			child = &made;                                                             \
		if (!taking_part())                                                                \
			return BEHIND(name)(child, file, actions, attributes, arguments,           \
					    environment);                                          \
		settle();                                                                          \
		trap_clock(false);                                                                 \
		return spawned(BEHIND(name)(child, file, actions, attributes, arguments,           \
					    environment),                                          \
			       child);                                                             \
	}

SPAWN(posix_spawn)
SPAWN(posix_spawnp)

/* What the C library starts and waits for itself takes no part, and no time. */

static char *step_out(void)
{
	char *name = getenv("HCASIM_CHANNEL");

	name = name ? strdup(name) : NULL;
	unsetenv("HCASIM_CHANNEL");
	trap_clock(false);
	return name;
}

static void step_in(char *name)
{
	trap_clock(true);
	if (name)
		setenv("HCASIM_CHANNEL", name, 1);
	free(name);
}

EXPORT int system(const char *command)
{
	char *name;
	int done;

	if (!taking_part() || !command)
		return BEHIND(system)(command);
	name = step_out();
	done = BEHIND(system)(command);
	step_in(name);
	return done;
}

EXPORT FILE *popen(const char *command, const char *mode)
{
	FILE *made;
	char *name;

	if (!taking_part())
		return BEHIND(popen)(command, mode);
	name = step_out();
	made = BEHIND(popen)(command, mode);
	step_in(name);
	return made;
}

/* Waiting for children: those that have ended wake whoever parks. */

EXPORT pid_t wait4(pid_t process, int *status, int options, struct rusage *usage)
{
	struct handled before = handled();
	pid_t found;

	if (!taking_part())
		return BEHIND(wait4)(process, status, options, usage);
	for (;;) {
		found = BEHIND(wait4)(process, status, options | WNOHANG, usage);
		if (found) {
			note(FOUND);
			return found;
		}
		if (options & WNOHANG) {
			found_nothing(process);
			return 0;
		}
		if (interrupted(before, false)) {
			errno = EINTR;
			return -1;
		}
		park(0, "for a child to end");
	}
}

EXPORT pid_t waitpid(pid_t process, int *status, int options)
{
	if (!taking_part())
		return BEHIND(waitpid)(process, status, options);
	return wait4(process, status, options, NULL);
}

EXPORT pid_t wait(int *status)
{
	return waitpid(-1, status, 0);
}

EXPORT pid_t wait3(int *status, int options, struct rusage *usage)
{
	return wait4(-1, status, options, usage);
}

EXPORT int waitid(idtype_t kind, id_t id, siginfo_t *info, int options)
{
	struct handled before = handled();
	int done;

	if (!taking_part())
		return BEHIND(waitid)(kind, id, info, options);
	for (;;) {
		info->si_pid = 0;
		done = BEHIND(waitid)(kind, id, info, options | WNOHANG);
		if (done || info->si_pid) {
			note(FOUND);
			return done;
		}
		if (options & WNOHANG) {
			found_nothing(id);
			return 0;
		}
		if (interrupted(before, false)) {
			errno = EINTR;
			return -1;
		}
		park(0, "for a child to end");
	}
}
