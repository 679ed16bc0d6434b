/* The nearest known name: aliases first, then few letters apart, else none. */
#include <string.h>

#include "api/json/suggest.h"
#include "tests/support/check.h"

static const char *const fields[] = {"query",          "key",       "value",        "x",      "mask",
                                     "mask_semantics", "num_heads", "num_kv_heads", "scale",  "softcap",
                                     "seed",           "return",    "rope",         "causal", NULL};

static void check_nearest(const char *name, const char *expected)
{
    const char *nearest = suggest_nearest(name, fields);
    if (nearest == NULL ? expected != NULL : expected == NULL || strcmp(nearest, expected) != 0)
        fail_msg("\"%s\" is near to %s, should be to %s", name, nearest ? nearest : "none", expected ? expected : "none");
}

static void test_aliases(void **state)
{
    (void)state;
    check_nearest("is_causal", "causal");
    check_nearest("IS_CAUSAL", "causal");
    check_nearest("attn_mask", "mask");
    check_nearest("n_heads", "num_heads");
    check_nearest("hidden_states", "x");
    check_nearest("q", "query");
    check_nearest("K", "key");
}

/* A known name that is not among the candidates is not suggested. */
static void test_aliases_of_other_places(void **state)
{
    (void)state;
    static const char *const members[] = {"style", "base", "dims", NULL};
    assert_null(suggest_nearest("is_causal", members));
    assert_string_equal(suggest_nearest("theta", members), "base");
    check_nearest("theta", NULL);
    assert_null(suggest_nearest("causal", (const char *const[]){NULL}));
}

static void test_letters(void **state)
{
    (void)state;
    check_nearest("quer", "query");
    check_nearest("querry", "query");
    check_nearest("qeury", "query");
    check_nearest("Query", "query");
    check_nearest("QUERY", "query");
    check_nearest("keys", "key");
    check_nearest("sofcap", "softcap");
    check_nearest("num-heads", "num_heads");
    check_nearest("num_kv_head", "num_kv_heads");
    check_nearest("masksemantics", "mask_semantics");
}

static void test_none(void **state)
{
    (void)state;
    check_nearest("", NULL);
    check_nearest("temperature", NULL);
    check_nearest("zzzzzzzzz", NULL);
    check_nearest("dropout", NULL);
    check_nearest("\xd0\xba\xd0\xbb\xd1\x8e\xd1\x87", NULL);
}

/* Long names are not compared letter by letter: near to none, but quickly. */
static void test_long_names(void **state)
{
    (void)state;
    char name[100] = "";
    for (size_t length = 20; length + 1 < sizeof name; length++) {
        memset(name, 'q', length);
        name[length] = '\0';
        check_nearest(name, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_aliases),    cmocka_unit_test(test_aliases_of_other_places),
        cmocka_unit_test(test_letters),    cmocka_unit_test(test_none),
        cmocka_unit_test(test_long_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
