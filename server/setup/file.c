#include "server/setup/file.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PIPE_WAIT_MS 1000

/* A read that does not block for ever: a pipe whose writer is silent is an error after a second, one without a writer is at its end. */
static ssize_t read_some(int file, char *ret, size_t bytes)
{
    for (;;) {
        ssize_t count = read(file, ret, bytes);
        if (count >= 0 || (errno != EAGAIN && errno != EINTR))
            return count;
        struct pollfd readable = {.fd = file, .events = POLLIN};
        if (errno == EAGAIN && poll(&readable, 1, PIPE_WAIT_MS) == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
}

static bool read_whole(int file, char *ret, size_t bytes_max, size_t *ret_bytes)
{
    ssize_t count = 1;
    for (*ret_bytes = 0; count > 0 && *ret_bytes<bytes_max; *ret_bytes += count> 0 ? (size_t)count : 0)
        count = read_some(file, ret + *ret_bytes, bytes_max - *ret_bytes);
    return count >= 0;
}

char *file_read(const char *option, const char *file_name, size_t *ret_bytes, struct error *err)
{
    size_t bytes = 0;
    char *text = malloc(FILE_BYTES_MAX + 2);
    int file = open(file_name, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (text == NULL)
        (void)error_set(err, ERROR_NO_MEMORY, "no memory for %s", option);
    else if (file < 0 || !read_whole(file, text, FILE_BYTES_MAX + 1, &bytes))
        (void)error_set(err, ERROR_INVALID, "%s %s: %s", option, file_name, strerrordesc_np(errno));
    else if (bytes > FILE_BYTES_MAX)
        (void)error_set(err, ERROR_INVALID, "%s %s: has more than %zu bytes", option, file_name, FILE_BYTES_MAX);
    else
        text[bytes] = '\0';
    if (file >= 0)
        (void)close(file);
    if (err->code == ERROR_NONE) {
        *ret_bytes = bytes;
        return text;
    }
    free(text);
    return NULL;
}
