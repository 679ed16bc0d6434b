/* Content types and Accept headers (RFC 9110, sections 8.3 and 12.5.1). */
#include "api/protocol/media_type.h"
#include "api/protocol/safetensors.h"
#include "tests/support/check.h"

static void content_types(void **state)
{
    (void)state;
    static const char *const same[] = {SAFETENSORS_TYPE, "Application/X-SafeTensors", SAFETENSORS_TYPE "; v=1",
                                       SAFETENSORS_TYPE ";"};
    static const char *const other[] = {"application/x-safetensorsx", "application/x-safetensor", "", "application/json"};
    for (size_t i = 0; i < sizeof same / sizeof same[0]; i++)
        assert_true(media_type_is(same[i], SAFETENSORS_TYPE));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_false(media_type_is(other[i], SAFETENSORS_TYPE));
    assert_false(media_type_is(NULL, SAFETENSORS_TYPE));
}

static void what_may_be_json(void **state)
{
    (void)state;
    static const char *const json[] = {NULL,
                                       "",
                                       "application/json",
                                       "application/json; charset=utf-8",
                                       "APPLICATION/JSON",
                                       "text/json",
                                       "text/plain",
                                       "application/x-www-form-urlencoded",
                                       "application/octet-stream",
                                       "application/vnd.api+json",
                                       "application/ld+JSON;profile=x"};
    static const char *const other[] = {
        "text/html",       "+json",         "application/jsonp", "image/png", "multipart/form-data; boundary=x",
        "application/xml", SAFETENSORS_TYPE};
    for (size_t i = 0; i < sizeof json / sizeof json[0]; i++)
        assert_true(media_type_may_be_json(json[i]));
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        assert_false(media_type_may_be_json(other[i]));
}

static void accept_chooses(void **state)
{
    (void)state;
    static const char *const yes[] = {
        SAFETENSORS_TYPE,
        "Application/X-Safetensors",
        SAFETENSORS_TYPE ", application/json",
        "application/json, " SAFETENSORS_TYPE,
        "application/json;q=0.5, " SAFETENSORS_TYPE ";q=0.8",
        "application/json; q=0.5 ," SAFETENSORS_TYPE " ; q=0.5",
        SAFETENSORS_TYPE ";q=0.001",
        SAFETENSORS_TYPE ";v=1;q=1.000",
        "text/html,,*/*;q=0.8, " SAFETENSORS_TYPE ";Q=0.9",
        "application/json;q=0," SAFETENSORS_TYPE ";q=0.1",
        SAFETENSORS_TYPE ";q=", /* no weight */
    };
    static const char *const no[] = {
        NULL,
        "",
        "*/*",
        "application/*",
        "application/json",
        SAFETENSORS_TYPE ";q=0",
        SAFETENSORS_TYPE ";q=0.000",
        SAFETENSORS_TYPE ";q=0.5, application/json",
        SAFETENSORS_TYPE ";q=0.4, application/json;q=0.5",
        "application/x-safetensorsx",
        ",;=",
    };
    for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++)
        if (!media_type_accepts(yes[i], SAFETENSORS_TYPE, "application/json"))
            fail_msg("%s", yes[i]);
    for (size_t i = 0; i < sizeof no / sizeof no[0]; i++)
        if (media_type_accepts(no[i], SAFETENSORS_TYPE, "application/json"))
            fail_msg("%s", no[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(content_types),
        cmocka_unit_test(what_may_be_json),
        cmocka_unit_test(accept_chooses),
    };
    return cmocka_run_group_tests_name("media_type", tests, NULL, NULL);
}
