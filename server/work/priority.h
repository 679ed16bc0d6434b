/* priority.h: how the threads of large work give way to all others: those of small work, and the sockets'. */
#ifndef ATTND_SERVER_WORK_PRIORITY_H
#define ATTND_SERVER_WORK_PRIORITY_H

#include <sys/resource.h>

/* Others are scheduled within a fraction of a millisecond, and large work still gets a tenth of a core that it shares with one of
 * them (sched(7): each step of niceness is a factor of 1.25). */
#define PRIORITY_NICE_LARGE 10

/* Lowers the priority of the calling thread and of those that it starts. */
static inline void priority_lower(void)
{
    (void)setpriority(PRIO_PROCESS, 0, getpriority(PRIO_PROCESS, 0) + PRIORITY_NICE_LARGE); /* 0: on Linux, this thread */
}

#endif
