/* signals.h: SIGTERM and SIGINT: the first is waited for, the second ends the process.
 *
 * By handlers: libraries have started threads before main, which would not inherit a mask that blocks the signals. */
#ifndef ATTND_SERVER_SETUP_SIGNALS_H
#define ATTND_SERVER_SETUP_SIGNALS_H

/* From now on the signals don't end the process; SIGPIPE is ignored. Once, before signals_wait. */
void signals_init(void);

/* Waits for the first signal and returns its number. Any later one ends the process with status 128 + its number. */
int signals_wait(void);

#endif
