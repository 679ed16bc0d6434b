/* cgroup.h: the limits that control groups set on this process, version 1 and 2, also inside of a container.
 *
 * A group's limit holds for all groups below it, so each is read from this process's group up to the top one that is
 * mounted here, and the least counts. */
#ifndef ATTND_SERVER_SETUP_CGROUP_H
#define ATTND_SERVER_SETUP_CGROUP_H

#include <stddef.h>

#define CGROUP_UNLIMITED SIZE_MAX

struct cgroup_limits {
    double cores;        /* quota / period; HUGE_VAL where there is none */
    size_t memory_bytes; /* CGROUP_UNLIMITED where there is none */
};

/* `root` stands before every path that is read: "" but in tests. */
struct cgroup_limits cgroup_read(const char *root);

#endif
