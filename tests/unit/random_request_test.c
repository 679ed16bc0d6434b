/* Requests drawn over all fields of POST /attention together, each reply held against request_oracle.h.
 *
 *   ATTND_RANDOM_REQUESTS  how many; REQUEST_COUNT or a part of it unless said otherwise
 *   ATTND_RANDOM_SEED      the first one's seed
 *
 * A failure names the request's seed. A count of 1 shows the request. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/check.h"
#include "tests/support/client.h"
#include "tests/support/core_setup.h"
#include "tests/support/environment.h"
#include "tests/support/random_request.h"
#include "tests/support/request_check.h"
#include "tests/support/worker_pool.h"

#define REQUEST_COUNT 10000

/* Sends it on the caller alone, or on a few threads; by the fastest kernels, or every fourth by one kernel table after the other. */
static void check_request(uint64_t seed, bool shown)
{
    struct random_request c;
    struct client client;
    struct worker_pool pool;
    char label[100];
    random_request_init(&c, seed);
    (void)snprintf(label, sizeof label, "ATTND_RANDOM_REQUESTS=1 ATTND_RANDOM_SEED=%" PRIu64, seed);
    if (shown)
        print_message("%s\n", c.text);
    worker_pool_init(&pool, 1 + seed % 3);
    kernel_in_turn(seed % 4 == 3 ? (size_t)(seed / 4) : 0);
    client_attention(&client, label, c.text, c.text_bytes, seed % 8 == 0 ? &pool.executor : NULL);
    client_check_ok(&client);
    json_t *request = random_request_parse(c.text);
    request_check(label, request, client.reply);
    json_decref(request);
    client_done(&client);
    random_request_done(&c);
}

static void random_requests(void **state)
{
    (void)state;
    size_t count = environment_size("ATTND_RANDOM_REQUESTS", environment_cases(REQUEST_COUNT, 5, 25));
    uint64_t first = environment_size("ATTND_RANDOM_SEED", 0);
    for (uint64_t k = 0; k < count; k++)
        check_request(first + k, count == 1);
    print_message("%zu requests over all fields agree with the oracle\n", count);
}

int main(void)
{
    api_init();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_requests),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
