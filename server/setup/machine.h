/* machine.h: what this process may use of the machine.
 *
 * Cores    the affinity mask, and the CPU quota of the cgroup and of every cgroup above it (v1 and v2).
 * Memory   the least of the machine's and the limits of those cgroups. */
#ifndef ATTND_SERVER_SETUP_MACHINE_H
#define ATTND_SERVER_SETUP_MACHINE_H

#include <stdbool.h>
#include <stddef.h>

struct machine {
    size_t cores;           /* at least 1; a quota of 1.5 cores counts as 2 */
    const char *cores_from; /* static: "affinity mask" or "cgroup quota" */
    size_t memory_bytes;
    const char *memory_from; /* static: "machine" or "cgroup limit" */
    bool memory_is_shared;   /* the machine's, which others need, too */
};

/* `root` stands before every path that is read: "" but in tests. */
struct machine machine_read(const char *root);

#endif
