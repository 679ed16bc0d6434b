/* machine_test.c: limits of control groups, read from folders that look like /proc and /sys. */
#include <ftw.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/setup/cgroup.h"
#include "server/setup/machine.h"
#include "tests/support/check.h"

static char root[] = "/tmp/attnd-test-XXXXXX";

static int make_root(void **state)
{
    (void)state;
    memcpy(root + sizeof root - 7, "XXXXXX", 6);
    return mkdtemp(root) == NULL;
}

static int remove_one(const char *path, const struct stat *about, int type, struct FTW *place)
{
    (void)about;
    (void)type;
    (void)place;
    return remove(path);
}

static int remove_root(void **state)
{
    (void)state;
    return nftw(root, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static void put(const char *path, const char *text)
{
    char full[PATH_MAX];
    (void)snprintf(full, sizeof full, "%s%s", root, path);
    for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')) != NULL; slash++) {
        *slash = '\0';
        (void)mkdir(full, 0700);
        *slash = '/';
    }
    FILE *file = fopen(full, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

#define MOUNTS_V2 "22 1 0:5 / /proc rw - proc proc rw\n30 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw\n"

static void test_none(void **state)
{
    (void)state;
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(isinf(limits.cores));
    assert_true(limits.memory_bytes == CGROUP_UNLIMITED);
}

/* The group of its own that a container sees. */
static void test_v2_container(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V2);
    put("/proc/self/cgroup", "0::/\n");
    put("/sys/fs/cgroup/cpu.max", "50000 100000\n");
    put("/sys/fs/cgroup/memory.max", "268435456\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(limits.cores == 0.5);
    assert_int_equal(limits.memory_bytes, 268435456);
    struct machine machine = machine_read(root);
    assert_int_equal(machine.cores, 1);
    assert_int_equal(machine.memory_bytes, 268435456);
    assert_string_equal(machine.memory_from, "cgroup limit");
}

static void test_v2_unlimited(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V2);
    put("/proc/self/cgroup", "0::/user.slice\n");
    put("/sys/fs/cgroup/user.slice/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/user.slice/memory.max", "max\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(isinf(limits.cores));
    assert_true(limits.memory_bytes == CGROUP_UNLIMITED);
}

/* The least of the groups on the way up counts, each for itself. */
static void test_v2_nested(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V2);
    put("/proc/self/cgroup", "0::/a/b/c\n");
    put("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
    put("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
    put("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
    put("/sys/fs/cgroup/a/memory.max", "max\n");
    put("/sys/fs/cgroup/a/b/memory.max", "1000000000\n");
    put("/sys/fs/cgroup/a/b/c/memory.max", "2000000000\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(limits.cores == 1.5);
    assert_int_equal(limits.memory_bytes, 1000000000);
}

static void test_v2_high(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V2);
    put("/proc/self/cgroup", "0::/a\n");
    put("/sys/fs/cgroup/a/memory.max", "2000000000\n");
    put("/sys/fs/cgroup/a/memory.high", "1500000000\n");
    assert_int_equal(cgroup_read(root).memory_bytes, 1500000000);
    put("/sys/fs/cgroup/a/memory.high", "max\n");
    assert_int_equal(cgroup_read(root).memory_bytes, 2000000000);
}

#define MOUNTS_V1                                                                                                              \
    "31 23 0:28 / /sys/fs/cgroup ro - tmpfs tmpfs ro,mode=755\n"                                                               \
    "32 31 0:29 /docker/abc /sys/fs/cgroup/cpu,cpuacct ro,nosuid master:11 - cgroup cgroup rw,cpu,cpuacct\n"                   \
    "33 31 0:30 /docker/abc /sys/fs/cgroup/cpuset ro master:12 - cgroup cgroup rw,cpuset\n"                                    \
    "34 31 0:31 /docker/abc /sys/fs/cgroup/memory ro master:13 - cgroup cgroup rw,memory\n"

/* A container that shares the group namespace: its groups are named from the host's top, and mounted from its own. */
static void test_v1_container(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V1);
    put("/proc/self/cgroup", "11:cpu,cpuacct:/docker/abc\n7:cpuset:/docker/abc\n4:memory:/docker/abc\n0::/system.slice\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "250000\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "134217728\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(limits.cores == 2.5);
    assert_int_equal(limits.memory_bytes, 134217728);
}

static void test_v1_unlimited(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", MOUNTS_V1);
    put("/proc/self/cgroup", "11:cpu,cpuacct:/docker/abc/deep\n4:memory:/docker/abc/deep\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
    put("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
    put("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(isinf(limits.cores));
    assert_true(limits.memory_bytes == CGROUP_UNLIMITED);
}

static void test_broken_files(void **state)
{
    (void)state;
    put("/proc/self/mountinfo", "\n - \n1 2 3\n30 23 0:26 / /sys/fs/cgroup rw - cgroup2\n");
    put("/proc/self/cgroup", "0\n::\n0::/gone\n");
    put("/sys/fs/cgroup/cpu.max", "\n");
    put("/sys/fs/cgroup/memory.max", "-5\n");
    struct cgroup_limits limits = cgroup_read(root);
    assert_true(isinf(limits.cores));
    assert_true(limits.memory_bytes == CGROUP_UNLIMITED);
}

static void test_this_machine(void **state)
{
    (void)state;
    struct machine machine = machine_read("");
    assert_true(machine.cores >= 1 && machine.cores <= (size_t)sysconf(_SC_NPROCESSORS_ONLN));
    assert_true(machine.memory_bytes >= (size_t)16 << 20);
}

#define FOLDER_TEST(function) cmocka_unit_test_setup_teardown(function, make_root, remove_root)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FOLDER_TEST(test_none),         FOLDER_TEST(test_v2_container), FOLDER_TEST(test_v2_unlimited),
        FOLDER_TEST(test_v2_nested),    FOLDER_TEST(test_v2_high),      FOLDER_TEST(test_v1_container),
        FOLDER_TEST(test_v1_unlimited), FOLDER_TEST(test_broken_files), cmocka_unit_test(test_this_machine),
    };
    return cmocka_run_group_tests_name("machine", tests, NULL, NULL);
}
