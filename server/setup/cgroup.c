#include "server/setup/cgroup.h"

#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/size.h"

#define CGROUP_LINE_BYTES_MAX 4096

/* A controller's hierarchy: where it is mounted, and this process's group in it. */
struct hierarchy {
    char mount[PATH_MAX]; /* the folder, "" where there is none */
    char top[PATH_MAX];   /* the group that the folder shows */
    char group[PATH_MAX]; /* this process's group */
};

static FILE *open_below(const char *root, const char *path)
{
    char full[PATH_MAX];
    int length = snprintf(full, sizeof full, "%s%s", root, path);
    return length > 0 && (size_t)length < sizeof full ? fopen(full, "re") : NULL;
}

/* True where `name` is one of the names of a list with commas. */
static bool list_has(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; (at = strstr(at, name)) != NULL; at += length) {
        bool begins = at == list || at[-1] == ',';
        if (begins && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* Splits at the first `separator`. Returns what follows, or NULL. */
static char *cut(char *text, char separator)
{
    char *at = strchr(text, separator);
    if (at == NULL)
        return NULL;
    *at = '\0';
    return at + 1;
}

static void copy(char target[PATH_MAX], const char *text)
{
    (void)snprintf(target, PATH_MAX, "%s", text);
}

/* Lines are "36 35 0:30 /top /mount options optional... - type source options" (proc(5), mountinfo).
 * `controller` NULL: version 2's only hierarchy. */
static void find_mount(const char *root, const char *controller, struct hierarchy *hierarchy)
{
    char line[CGROUP_LINE_BYTES_MAX], top[CGROUP_LINE_BYTES_MAX], mount[CGROUP_LINE_BYTES_MAX];
    FILE *file = open_below(root, "/proc/self/mountinfo");
    while (file != NULL && hierarchy->mount[0] == '\0' && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *after = strstr(line, " - ");
        if (after == NULL || sscanf(line, "%*s %*s %*s %4095s %4095s", top, mount) != 2)
            continue;
        char *type = after + 3;
        char *source = cut(type, ' ');
        char *options = source != NULL ? cut(source, ' ') : NULL;
        bool found = controller == NULL ? strcmp(type, "cgroup2") == 0
                                        : strcmp(type, "cgroup") == 0 && options != NULL && list_has(options, controller);
        if (found) {
            copy(hierarchy->mount, mount);
            copy(hierarchy->top, top);
        }
    }
    if (file != NULL)
        (void)fclose(file);
}

/* Lines are "4:memory:/group", version 2's is "0::/group" (cgroups(7)). */
static void find_group(const char *root, const char *controller, struct hierarchy *hierarchy)
{
    char line[CGROUP_LINE_BYTES_MAX];
    FILE *file = open_below(root, "/proc/self/cgroup");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        char *controllers = cut(line, ':');
        char *group = controllers != NULL ? cut(controllers, ':') : NULL;
        if (group != NULL && (controller == NULL ? controllers[0] == '\0' : list_has(controllers, controller)))
            copy(hierarchy->group, group);
    }
    if (file != NULL)
        (void)fclose(file);
}

static bool find_hierarchy(const char *root, const char *controller, struct hierarchy *ret)
{
    *ret = (struct hierarchy){0};
    find_mount(root, controller, ret);
    if (ret->mount[0] == '\0')
        return false;
    find_group(root, controller, ret);
    /* What is mounted may begin at a group below the top; a group that is not below it is not to be seen from here. */
    size_t top_bytes = strcmp(ret->top, "/") == 0 ? 0 : strlen(ret->top);
    bool below =
        strncmp(ret->group, ret->top, top_bytes) == 0 && (ret->group[top_bytes] == '/' || ret->group[top_bytes] == '\0');
    const char *rest = below ? ret->group + top_bytes : "";
    memmove(ret->group, rest, strlen(rest) + 1);
    return true;
}

/* Reads up to two numbers; "max" and a missing file give 0 of them. */
static int read_numbers(const char *root, const struct hierarchy *hierarchy, const char *group, const char *file_name,
                        double numbers[2])
{
    char path[3 * PATH_MAX];
    char line[CGROUP_LINE_BYTES_MAX];
    int count = 0;
    (void)snprintf(path, sizeof path, "%s%s/%s", hierarchy->mount, group, file_name);
    FILE *file = open_below(root, path);
    if (file == NULL)
        return 0;
    if (fgets(line, sizeof line, file) != NULL) {
        char *at = line, *end;
        while (count < 2 && (numbers[count] = strtod(at, &end), end != at)) {
            count++;
            at = end;
        }
    }
    (void)fclose(file);
    return count;
}

static double group_cores(const char *root, const struct hierarchy *hierarchy, const char *group, bool unified)
{
    double quota[2] = {0}, period[2] = {0};
    if (unified) {
        if (read_numbers(root, hierarchy, group, "cpu.max", quota) < 2)
            return HUGE_VAL;
        period[0] = quota[1];
    } else if (read_numbers(root, hierarchy, group, "cpu.cfs_quota_us", quota) < 1 ||
               read_numbers(root, hierarchy, group, "cpu.cfs_period_us", period) < 1) {
        return HUGE_VAL;
    }
    return quota[0] > 0 && period[0] > 0 ? quota[0] / period[0] : HUGE_VAL;
}

static size_t read_memory_bytes(const char *root, const struct hierarchy *hierarchy, const char *group, const char *file_name)
{
    double bytes[2] = {0};
    if (read_numbers(root, hierarchy, group, file_name, bytes) < 1)
        return CGROUP_UNLIMITED;
    /* Version 1 says "no limit" as a number near 2^63. */
    return bytes[0] > 0 && bytes[0] < 0x1p60 ? (size_t)bytes[0] : CGROUP_UNLIMITED;
}

/* A group past "memory.high" is not ended, as past "memory.max", but slowed down until it is of no use. */
static size_t group_memory_bytes(const char *root, const struct hierarchy *hierarchy, const char *group, bool unified)
{
    if (!unified)
        return read_memory_bytes(root, hierarchy, group, "memory.limit_in_bytes");
    return size_min(read_memory_bytes(root, hierarchy, group, "memory.max"),
                    read_memory_bytes(root, hierarchy, group, "memory.high"));
}

/* Calls for this process's group and each above it. */
static void read_upwards(const char *root, struct hierarchy *hierarchy, bool unified, bool cpu, bool memory,
                         struct cgroup_limits *limits)
{
    char *group = hierarchy->group;
    for (;;) {
        if (cpu)
            limits->cores = fmin(limits->cores, group_cores(root, hierarchy, group, unified));
        if (memory)
            limits->memory_bytes = size_min(limits->memory_bytes, group_memory_bytes(root, hierarchy, group, unified));
        char *last = strrchr(group, '/');
        if (last == NULL)
            return;
        *last = '\0';
    }
}

struct cgroup_limits cgroup_read(const char *root)
{
    struct cgroup_limits limits = {.cores = HUGE_VAL, .memory_bytes = CGROUP_UNLIMITED};
    struct hierarchy hierarchy;
    if (find_hierarchy(root, NULL, &hierarchy))
        read_upwards(root, &hierarchy, true, true, true, &limits);
    if (find_hierarchy(root, "cpu", &hierarchy))
        read_upwards(root, &hierarchy, false, true, false, &limits);
    if (find_hierarchy(root, "memory", &hierarchy))
        read_upwards(root, &hierarchy, false, false, true, &limits);
    return limits;
}
