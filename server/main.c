#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "api/api.h"
#include "server/http/daemon.h"
#include "server/setup/health_check.h"
#include "server/setup/once.h"
#include "server/setup/signals.h"
#include "server/setup/supervisor.h"
#include "server/work/clock.h"

#define EXIT_WRONG_OPTIONS 2

/* How long the daemon keeps listening after the first signal, so that orchestrators see it is not ready any more. */
#define DRAIN_VISIBLE_MS 500
#define DRAIN_POLL_MS 20

/* Freed memory stays with the process for the next request: page faults would cost it up to a third of its time, and zeroing the
 * pages of large results as much again. The budget gives that memory back when another needs it, and when there is nothing to do. */
#define MALLOC_MAPPINGS_MAX 0
#define MALLOC_KEPT_BYTES_MAX INT_MAX

/* Returns the exit status. */
static int fail(const struct error *err)
{
    bool wrong_options = err->code == ERROR_INVALID;
    (void)fprintf(stderr, "attnd: %s%s\n", err->text, wrong_options ? "; see attnd --help" : "");
    return wrong_options ? EXIT_WRONG_OPTIONS : EXIT_FAILURE;
}

/* Serves on for a while, not ready any more, so that load balancers send elsewhere before anything is refused. */
static void delay_shutdown(struct daemon *daemon, const struct options *options, struct log *log)
{
    const struct timespec delay = {.tv_sec = (time_t)options->shutdown_delay_s};
    if (options->shutdown_delay_s == 0 || !daemon_set_unready(daemon))
        return;
    log_event(log, LOG_INFO, "not ready any more, serving for another %zu s", options->shutdown_delay_s);
    (void)nanosleep(&delay, NULL);
}

/* Waits for the running requests. */
static void drain(struct daemon *daemon)
{
    const struct timespec pause = {.tv_nsec = DRAIN_POLL_MS * 1000000};
    int64_t until_ms = clock_ms() + DRAIN_VISIBLE_MS;
    daemon_drain(daemon);
    while (!daemon_is_idle(daemon) || (clock_ms() < until_ms && !daemon_is_deserted(daemon)))
        (void)nanosleep(&pause, NULL);
}

static bool serve(const struct options *options, struct log *log, struct error *err)
{
    static struct daemon daemon;
    if (!daemon_start(&daemon, options, log, err))
        return false;
    const char *scheme = daemon.listener.is_unix ? "" : options->tls_cert_file != NULL ? "https://" : "http://";
    (void)printf("attnd listening on %s%s\n", scheme, daemon.listener.url);
    (void)fflush(stdout);
    int signal_number;
    supervisor_notify("READY=1");
    while ((signal_number = signals_wait()) == SIGHUP)
        daemon_reload(&daemon);
    supervisor_notify("STOPPING=1");
    log_event(log, LOG_INFO, "signal %d: shutting down once the running requests are answered", signal_number);
    delay_shutdown(&daemon, options, log);
    drain(&daemon);
    daemon_stop(&daemon);
    log_event(log, LOG_INFO, "stopped");
    return true;
}

/* Whatever is wrong, the exit status is 1: orchestrators know no other. */
static int check_health(const struct options *options)
{
    struct error err = {0};
    if (health_check(options->health_check_url, options, &err))
        return EXIT_SUCCESS;
    (void)fail(&err);
    return EXIT_FAILURE;
}

/* Without them, sockets would get their numbers, and the log would go to a client. */
static void open_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0)
            (void)open("/dev/null", fd == 0 ? O_RDONLY : O_WRONLY);
}

int main(int argument_count, char **arguments)
{
    open_standard_streams();
    struct options options;
    struct error err = {0};
    switch (options_parse(argument_count, arguments, &options, &err)) {
    case OPTIONS_SHOWN:
        return EXIT_SUCCESS;
    case OPTIONS_WRONG:
        return fail(&err);
    case OPTIONS_RUN:
        break;
    }
    if (options.health_check_url != NULL)
        return check_health(&options);
    const struct machine machine = machine_read("");
    if (!options_resolve(&options, &machine, &err))
        return fail(&err);

    if (options.once == NULL) /* as a filter, --once ends by what ends any other */
        signals_init();
    (void)mallopt(M_ARENA_MAX, 1); /* malloc_trim does not trim the top of any other */
    (void)mallopt(M_MMAP_MAX, MALLOC_MAPPINGS_MAX);
    (void)mallopt(M_MXFAST, 0); /* else freeing a large block walks over all small ones */
    (void)mallopt(M_TRIM_THRESHOLD, MALLOC_KEPT_BYTES_MAX);
    api_init();
    if (options.kernel != NULL && !api_use_kernel(options.kernel, &err))
        return fail(&err);

    if (options.once != NULL)
        return (int)once(&options, stdin, stdout);

    struct log *log = log_start(options.log_format, options.log_level, &err);
    if (log == NULL)
        return fail(&err);
    options_log(&options, &machine, log);
    options_log_unknown_variables(log);
    bool served = serve(&options, log, &err);
    log_stop(log);
    return served ? EXIT_SUCCESS : fail(&err);
}
