#include "server/http/listen_unix.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int open_socket(void)
{
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
}

/* What keeps the path from being bound: 0 if it is free, or was left by a process that has ended, and is then removed. Another value
 * is for errno, EADDRINUSE where somebody listens there. */
static int clear_path(const struct sockaddr_un *address)
{
    struct stat there;
    if (lstat(address->sun_path, &there) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISSOCK(there.st_mode))
        return EEXIST;
    int fd = open_socket();
    if (fd < 0)
        return errno;
    int failure = connect(fd, (const struct sockaddr *)address, sizeof *address) == 0 ? EADDRINUSE : errno;
    (void)close(fd);
    if (failure == ECONNREFUSED)
        failure = unlink(address->sun_path) == 0 || errno == ENOENT ? 0 : errno;
    return failure == EAGAIN ? EADDRINUSE : failure; /* its queue is full */
}

/* The file gets the socket's mode, less the umask; only then are bits added. Returns 0 or what is for errno. */
static int bind_with_mode(int fd, const struct sockaddr_un *address, mode_t mode, struct stat *ret_bound)
{
    if (fchmod(fd, mode) != 0 || bind(fd, (const struct sockaddr *)address, sizeof *address) != 0)
        return errno;
    if (lstat(address->sun_path, ret_bound) == 0 && chmod(address->sun_path, mode) == 0 && listen(fd, SOMAXCONN) == 0)
        return 0;
    int failure = errno;
    (void)unlink(address->sun_path);
    return failure;
}

bool listen_unix_open(const char *path, mode_t mode, int *ret_fd, struct stat *ret_bound, struct error *err)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(path);
    if (length == 0 || length >= sizeof address.sun_path)
        return error_set(err, ERROR_INVALID, "--listen: the path of a socket has 1 to %zu bytes, \"%.120s\" has %zu",
                         sizeof address.sun_path - 1, path, length);
    memcpy(address.sun_path, path, length);
    int failure = clear_path(&address);
    if (failure == EEXIST)
        return error_set(err, ERROR_INTERNAL, "cannot listen on %s: there is a file that is no socket", path);
    int fd = failure == 0 ? open_socket() : -1;
    if (failure == 0)
        failure = fd >= 0 ? bind_with_mode(fd, &address, mode, ret_bound) : errno;
    if (failure == 0) {
        *ret_fd = fd;
        return true;
    }
    if (fd >= 0)
        (void)close(fd);
    return error_set(err, ERROR_INTERNAL, "cannot listen on %s: %s", path, strerrordesc_np(failure));
}

void listen_unix_remove(const char *path, const struct stat *bound)
{
    struct stat there;
    if (lstat(path, &there) == 0 && there.st_dev == bound->st_dev && there.st_ino == bound->st_ino)
        (void)unlink(path);
}
