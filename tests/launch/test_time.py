"""Programs see simulated time, and wait in it, for each other, for memory and for nothing."""

import subprocess
from pathlib import Path
from textwrap import dedent

import pytest

from hcasim.launch import Launched, launch
from hcasim.runs.machine import find_machine
from tests.programs import program

START = r"""
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

static volatile int came;
static void come(int signal) { came++; }
static double us(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (t.tv_sec - 86400) * 1e6 + t.tv_nsec * 1e-3;
}
"""


def compiled(tmp_path: Path, source: str, *more: str) -> str:
    """Compile a program of one file, with more options."""
    compiler = program("cc", "gcc")
    (tmp_path / "a.c").write_text(START + dedent(source))
    command = [compiler, "-w", "-O1", "-pthread", "-o", tmp_path / "a", tmp_path / "a.c", *more]
    subprocess.run(command, check=True)
    return str(tmp_path / "a")


def run(tmp_path: Path, source: str, *more: str, until_ps: int = 0) -> Launched:
    """Run a program of one file, and the same with arguments, on nodes of their own."""
    made = compiled(tmp_path, source)
    machine = find_machine("liu2004", {}, mpi=False)
    return launch(machine, [[made], *([made, one] for one in more)], until_ps=until_ps)


def test_clocks_timers_and_signals_are_in_simulated_time(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        static int code, value;
        static void learn(int signal, siginfo_t *info, void *context)
        {
            code = info->si_code;
            value = info->si_value.sival_int;
        }
        static void fault(int signal) { printf("own fault\\n"); fflush(stdout); _exit(3); }
        int main(void)
        {
            struct itimerval each = {{0, 1000}, {0, 1000}};
            struct itimerspec once = {{0, 0}, {0, 500000}};
            timer_t tells;
            int timer = timerfd_create(CLOCK_MONOTONIC, 0);
            struct pollfd ready = {timer, POLLIN, 0};
            unsigned long long ticks = __rdtsc();
            usleep(1000);
            printf("%.0f ticks\\n", (__rdtsc() - ticks) / 1e3);
            printf("%ld\\n", time(NULL));
            signal(SIGALRM, come);
            alarm(2);
            printf("left %d\\n", sleep(5));
            setitimer(ITIMER_REAL, &each, NULL);
            while (came < 11) pause();
            each.it_value.tv_usec = 0;
            setitimer(ITIMER_REAL, &each, NULL);
            printf("%.0f us\\n", us());
            timerfd_settime(timer, 0, &once, NULL);
            printf("%d\\n", poll(&ready, 1, -1));
            printf("%.0f us\\n", us());
            struct sigevent told = {.sigev_signo = SIGUSR1, .sigev_value.sival_int = 42};
            struct sigaction tell = {.sa_sigaction = learn, .sa_flags = SA_SIGINFO};
            sigaction(SIGUSR1, &tell, NULL);
            timer_create(CLOCK_MONOTONIC, &told, &tells);
            timer_settime(tells, 0, &once, NULL);
            pause();
            printf("%d of a timer: %d\\n", code == SI_TIMER, value);
            signal(SIGSEGV, fault);
            *(volatile int *)0 = 1;
        }
        """
    assert run(tmp_path, source).codes == (3,)
    told = ["3400 ticks", "1704067200", "left 3", "2011000 us", "1", "2011500 us"]
    assert capfd.readouterr().out.splitlines() == [*told, "1 of a timer: 42", "own fault"]


def test_sockets_of_nodes_wait_for_each_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        int main(int count, char **words)
        {
            struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM}, *found;
            struct sockaddr_in peer;
            socklen_t length = sizeof(peer);
            char name[64], bytes[8];
            int end, one;
            gethostname(name, sizeof(name));
            if (count == 1) {
                struct ifaddrs *all;
                getifaddrs(&all);
                for (struct ifaddrs *one = all; one; one = one->ifa_next) {
                    peer = *(struct sockaddr_in *)one->ifa_addr;
                    printf("%s: %s\\n", one->ifa_name, inet_ntoa(peer.sin_addr));
                }
                freeifaddrs(all);
                sleep(1);
                hints.ai_flags = AI_PASSIVE;
                getaddrinfo(NULL, "18515", &hints, &found);
                end = socket(AF_INET, SOCK_STREAM, 0);
                bind(end, found->ai_addr, found->ai_addrlen);
                listen(end, 1);
                one = accept(end, (void *)&peer, &length);
                printf("%s: %s\\n", name, inet_ntoa(peer.sin_addr));
                while (read(one, bytes, 5) > 0)
                    write(one, bytes, 5);
                return 0;
            }
            if (getaddrinfo(words[1], "18515", &hints, &found)) return 1;
            end = socket(AF_INET, SOCK_STREAM, 0);
            if (connect(end, found->ai_addr, found->ai_addrlen)) return 2;
            double began = us();
            for (int i = 0; i < 10; i++) {
                write(end, "hello", 5);
                recv(end, bytes, 5, MSG_WAITALL);
            }
            printf("%s: %.0f us\\n", name, (us() - began) / 10);
            fcntl(end, F_SETFL, O_NONBLOCK);
            write(end, "again", 5);
            int looks = 0;
            while (read(end, bytes, 5) < 0 && errno == EAGAIN) looks++;
            printf("%s: %d\\n", name, looks < 10);
        }
        """
    assert run(tmp_path, source, "server").codes == (0, 0)
    lines = sorted(capfd.readouterr().out.splitlines())
    both = ["eth0: 127.0.1.1", "lo: 127.0.0.1"]
    assert lines == [*both, "node0: 127.0.1.2", "node1: 1", "node1: 50 us"]


def test_threads_and_children_take_turns(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    source = """
        static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
        static pthread_cond_t done = PTHREAD_COND_INITIALIZER;
        static sem_t go;
        static int number;
        static void *work(void *argument)
        {
            usleep(1000);
            pthread_mutex_lock(&lock);
            usleep(500);
            number++;
            pthread_cond_signal(&done);
            pthread_mutex_unlock(&lock);
            sem_wait(&go);
            return argument;
        }
        static void *sleeping(void *argument) { sleep(1000); return NULL; }
        int main(void)
        {
            pthread_t threads[3];
            struct timespec late;
            void *result;
            char byte;
            int status, ends[2];
            sem_init(&go, 0, 0);
            for (long i = 0; i < 3; i++)
                pthread_create(&threads[i], NULL, work, (void *)i);
            pthread_mutex_lock(&lock);
            while (number < 3) pthread_cond_wait(&done, &lock);
            clock_gettime(CLOCK_REALTIME, &late);
            late.tv_sec++;
            printf("%.0f us\\n", us());
            printf("%d\\n", pthread_cond_timedwait(&done, &lock, &late) == ETIMEDOUT);
            for (long i = 0; i < 3; i++) sem_post(&go);
            for (long i = 0; i < 3; i++) pthread_join(threads[i], NULL);
            pthread_create(threads, NULL, sleeping, NULL);
            usleep(1);
            pthread_cancel(threads[0]);
            pthread_join(threads[0], &result);
            printf("%d\\n", result == PTHREAD_CANCELED);
            fflush(stdout);
            pipe(ends);
            if (!fork()) {
                sleep(2);
                write(ends[1], "x", 1);
                execlp("sh", "sh", "-c", "sleep 1; exit 7", NULL);
            }
            read(ends[0], &byte, 1);
            printf("%.3f s\\n", us() * 1e-6);
            wait(&status);
            printf("%d after %.3f s\\n", WEXITSTATUS(status), us() * 1e-6);
        }
        """
    assert run(tmp_path, source).codes == (0,)
    told = ["2500 us", "1", "1", "3.003 s", "7 after 4.003 s"]
    assert capfd.readouterr().out.splitlines() == told


def test_a_loop_that_reads_memory_waits_and_one_that_computes_does_not(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    source = """
        static volatile int flag;
        static volatile long left = 20000000;
        static void *set(void *argument)
        {
            for (int i = 1; i <= 20; i++) {
                usleep(100);
                flag = i;
            }
        }
        int main(void)
        {
            pthread_t thread;
            pthread_create(&thread, NULL, set, NULL);
            for (int i = 1; i <= 20; i++)
                while (flag < i)
                    ;
            printf("%.0f us\\n", us());
            while (left) left--;
            printf("%.0f us\\n", us());
            pthread_join(thread, NULL);
        }
        """
    assert run(tmp_path, source).codes == (0,)
    assert capfd.readouterr().out.splitlines() == ["2000 us", "2000 us"]


def test_a_loop_that_nothing_can_end_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, "static volatile int flag; int main(void) { while (!flag) ; }").ended
    assert "reads memory in a loop" in capfd.readouterr().err
