/* signals.h: what signals mean to the daemon: SIGTERM and SIGINT end it, the first one gracefully, the second at once; SIGHUP has it
 * read its files again. All others that would end a process without a fault of its own are ignored.
 *
 * By handlers: libraries have started threads before main, which would not inherit a mask that blocks the signals. */
#ifndef ATTND_SERVER_SETUP_SIGNALS_H
#define ATTND_SERVER_SETUP_SIGNALS_H

/* From now on signals do not end the process. Once, before signals_wait. */
void signals_init(void);

/* Waits for SIGHUP, SIGTERM or SIGINT and returns its number; several SIGHUP may count as one. After SIGTERM or SIGINT another of
 * the two ends the process with status 128 + its number. */
int signals_wait(void);

#endif
