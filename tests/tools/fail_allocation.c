/* fail_allocation.c: a library to be preloaded, in whose process one allocation fails: the one to which the file that
 * ATTND_FAIL_ALLOCATION names counts down. That file holds two ints: how many allocations are left until then (0: none is to fail),
 * and how many have failed. */
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);

struct control {
    atomic_int left, failed;
};

static struct control *control;

__attribute__((constructor)) static void map_control(void)
{
    const char *path = getenv("ATTND_FAIL_ALLOCATION");
    int fd = path != NULL ? open(path, O_RDWR | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    void *mapped = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    control = mapped != MAP_FAILED ? mapped : NULL;
    (void)close(fd);
    /* cppcheck-suppress memleak ; mapped for as long as the process lives */
}

static bool fails(void)
{
    if (control == NULL || atomic_load(&control->left) <= 0 || atomic_fetch_sub(&control->left, 1) != 1)
        return false;
    (void)atomic_fetch_add(&control->failed, 1);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t bytes)
{
    return fails() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t count, size_t bytes)
{
    return fails() ? NULL : __libc_calloc(count, bytes);
}

void *realloc(void *old, size_t bytes)
{
    return fails() ? NULL : __libc_realloc(old, bytes);
}
