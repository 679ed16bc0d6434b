#include "server/setup/machine.h"

#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/size.h"
#include "server/setup/cgroup.h"

/* More processors than any kernel is built for. */
#define MACHINE_CPUS_MAX 65536

static size_t affinity_cores(void)
{
    size_t bytes = CPU_ALLOC_SIZE(MACHINE_CPUS_MAX);
    cpu_set_t *mask = CPU_ALLOC(MACHINE_CPUS_MAX);
    int count = 0;
    if (mask != NULL && sched_getaffinity(0, bytes, mask) == 0)
        count = CPU_COUNT_S(bytes, mask);
    CPU_FREE(mask);
    return count > 0 ? (size_t)count : 1;
}

static size_t physical_bytes(void)
{
    long pages = sysconf(_SC_PHYS_PAGES);
    long page_bytes = sysconf(_SC_PAGESIZE);
    return pages > 0 && page_bytes > 0 ? size_multiply((size_t)pages, (size_t)page_bytes) : SIZE_MAX;
}

struct machine machine_read(const char *root)
{
    struct cgroup_limits limits = cgroup_read(root);
    struct machine machine = {
        .cores = affinity_cores(),
        .cores_from = "affinity mask",
        .memory_bytes = physical_bytes(),
        .memory_from = "machine",
        .memory_is_shared = true,
    };
    double quota_cores = fmax(1, ceil(limits.cores));
    if (quota_cores < (double)machine.cores) {
        machine.cores = (size_t)quota_cores;
        machine.cores_from = "cgroup quota";
    }
    if (limits.memory_bytes < machine.memory_bytes) {
        machine.memory_bytes = limits.memory_bytes;
        machine.memory_from = "cgroup limit";
        machine.memory_is_shared = false;
    }
    return machine;
}
