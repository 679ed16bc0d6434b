#include "server/http/request_id.h"

#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "server/work/clock.h"

#define REQUEST_ID_RANDOM_BYTES 16

void request_id_draw(char ret_id[REQUEST_ID_BYTES_MAX + 1])
{
    static const char digits[] = "0123456789abcdef";
    unsigned char random[REQUEST_ID_RANDOM_BYTES] = {0};
    int64_t now_ns = clock_ns();
    if (getrandom(random, sizeof random, 0) < 0)
        memcpy(random, &now_ns, sizeof now_ns); /* a system without a generator: an id need not be secret */
    for (size_t i = 0; i < sizeof random; i++) {
        ret_id[2 * i] = digits[random[i] >> 4];
        ret_id[2 * i + 1] = digits[random[i] & 0xf];
    }
    ret_id[2 * sizeof random] = '\0';
}

void request_id_take(const char *sent, char id[REQUEST_ID_BYTES_MAX + 1])
{
    size_t length = sent != NULL ? strlen(sent) : 0;
    if (length == 0 || length > REQUEST_ID_BYTES_MAX)
        return;
    for (size_t i = 0; i < length; i++)
        if (sent[i] <= ' ' || sent[i] >= 0x7f || sent[i] == '"' || sent[i] == '\'' || sent[i] == '`')
            return;
    memcpy(id, sent, length + 1);
}
