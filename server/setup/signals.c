#include "server/setup/signals.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <unistd.h>

/* A handler has no context but the process's. */
static sem_t came;
static atomic_int first_signal; /* 0: none yet */

static void on_signal(int number)
{
    int failure = errno;
    int none = 0;
    if (!atomic_compare_exchange_strong(&first_signal, &none, number))
        _exit(128 + number);
    (void)sem_post(&came);
    errno = failure;
}

void signals_init(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    (void)sem_init(&came, 0, 0);
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGPIPE, &action, NULL);
}

int signals_wait(void)
{
    while (sem_wait(&came) != 0 && errno == EINTR)
        continue;
    return atomic_load(&first_signal);
}
