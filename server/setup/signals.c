#include "server/setup/signals.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <unistd.h>

/* A handler has no context but the process's. */
static sem_t came;
static atomic_int end_signal; /* 0: none yet */
static atomic_bool hangup;

static void on_end(int number)
{
    int failure = errno;
    int none = 0;
    if (!atomic_compare_exchange_strong(&end_signal, &none, number))
        _exit(128 + number);
    (void)sem_post(&came);
    errno = failure;
}

static void on_hangup(int number)
{
    int failure = errno;
    (void)number;
    if (!atomic_exchange(&hangup, true))
        (void)sem_post(&came);
    errno = failure;
}

static void handle(int number, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(number, &action, NULL);
}

void signals_init(void)
{
    static const int ignored[] = {SIGPIPE, SIGUSR1, SIGUSR2,   SIGALRM, SIGVTALRM, SIGPROF,
                                  SIGIO,   SIGPWR,  SIGSTKFLT, SIGXFSZ, SIGXCPU};
    (void)sem_init(&came, 0, 0);
    handle(SIGTERM, on_end);
    handle(SIGINT, on_end);
    handle(SIGHUP, on_hangup);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        handle(ignored[i], SIG_IGN);
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        handle(number, SIG_IGN);
}

int signals_wait(void)
{
    for (;;) {
        while (sem_wait(&came) != 0 && errno == EINTR)
            continue;
        int number = atomic_load(&end_signal);
        if (number != 0)
            return number;
        if (atomic_exchange(&hangup, false))
            return SIGHUP;
    }
}
