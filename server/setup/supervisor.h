/* supervisor.h: tells the supervisor, as systemd's Type=notify asks for it, how far the daemon is: sd_notify(3). */
#ifndef ATTND_SERVER_SETUP_SUPERVISOR_H
#define ATTND_SERVER_SETUP_SUPERVISOR_H

/* Sends one state, as "READY=1", to the datagram socket that NOTIFY_SOCKET names. Does nothing where there is none; a supervisor
 * that does not listen is no error either. */
void supervisor_notify(const char *state);

#endif
