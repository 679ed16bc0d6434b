/* jansson's trees fit into the memory that is reserved for them, whatever the text; what is allocated elsewhere is freed. */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "api/json/document_memory.h"
#include "api/json/extract.h"
#include "tests/support/check.h"
#include "tests/support/view.h"

#define ARENA_BYTES ((size_t)64 << 20)

/* What jansson is given while a tree is read: where it begins, and how far it reaches. */
static json_malloc_t allocate;
static json_free_t release;
static bool watching;
static const char *lowest, *highest;

static void *allocate_watched(size_t bytes)
{
    char *memory = allocate(bytes);
    if (watching && (lowest == NULL || memory < lowest))
        lowest = memory;
    if (watching && memory + bytes > highest)
        highest = memory + bytes;
    return memory;
}

static json_t *read_in_reserve(const char *text, size_t text_bytes, struct arena *arena)
{
    struct error err;
    error_init(&err);
    arena_init(arena, ARENA_BYTES);
    assert_true(document_memory_open(text_bytes, arena, &err));
    lowest = highest = NULL;
    watching = true;
    json_t *json = json_loadb(text, text_bytes, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    watching = false;
    document_memory_filled();
    return json;
}

static void check_fits(const char *text, size_t text_bytes)
{
    struct arena arena;
    json_t *json = read_in_reserve(text, text_bytes, &arena);
    if ((size_t)(highest - lowest) > document_memory_bytes(text_bytes))
        fail_msg("%.40s, %zu bytes: the tree takes %zu bytes, %zu are reserved", text, text_bytes, (size_t)(highest - lowest),
                 document_memory_bytes(text_bytes));
    json_decref(json);
    document_memory_close();
    arena_done(&arena);
}

/* Appends `part`, with `number` for each # in it. Returns the end of the text. */
static char *put_part(char *to, const char *part, int number)
{
    for (; *part != '\0'; part++) {
        if (*part == '#')
            to += snprintf(to, 12, "%d", number);
        else
            *to++ = *part;
    }
    return to;
}

/* `prefix`, then `part` again and again, then `suffix`, some `bytes` long. */
static void check_parts(const char *prefix, const char *part, const char *suffix, size_t bytes)
{
    char *text = test_alloc(bytes + 256, 1);
    char *to = put_part(text, prefix, 0);
    for (int i = 0; (size_t)(to - text) < bytes; i++)
        to = put_part(to, part, i);
    to -= to > text && to[-1] == ',';
    to = put_part(to, suffix, 0);
    check_fits(text, (size_t)(to - text));
    free(text);
}

static void test_any_text_fits(void **state)
{
    (void)state;
    static const size_t sizes[] = {0, 10, 20, 40, 100, 1000, 10000, 65000};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        check_parts("[", "{},", "]", sizes[i]);
        check_parts("[", "[],", "]", sizes[i]);
        check_parts("[", "[0],", "]", sizes[i]);
        check_parts("[", "{\"\":{}},", "]", sizes[i]);
        check_parts("[", "{\"\":[]},", "]", sizes[i]);
        check_parts("[", "{\"\":0},", "]", sizes[i]);
        check_parts("[", "\"\",", "]", sizes[i]);
        check_parts("[", "1,", "]", sizes[i]);
        check_parts("[", "1.5,", "]", sizes[i]);
        check_parts("[", "null,", "]", sizes[i]);
        check_parts("{", "\"#\":1,", "}", sizes[i]);
        check_parts("{", "\"#\":{},", "}", sizes[i]);
        check_parts("{", "\"#\":[],", "}", sizes[i]);
        check_parts("{", "\"#\":\"\",", "}", sizes[i]);
        check_parts("\"", "a", "\"", sizes[i]);
        check_parts("\"", "\\u1234", "\"", sizes[i]);
        check_parts("{\"", "a", "\":1}", sizes[i]);
        check_parts("", "1", "", sizes[i] / 100 + 1);
        check_parts("1.", "1", "", sizes[i]);
        check_parts("[\"", "a", "\",1", sizes[i]);
    }
    check_parts("", "{\"a\":", "", 5 * DOCUMENT_DEPTH_MAX); /* deeper, or not closed, is refused before jansson parses */
    check_parts("", "[", "", DOCUMENT_DEPTH_MAX);
}

/* A tree in the reserved memory, one outside, one in memory reserved later: each is freed as it was allocated. */
static void test_rooms_nest(void **state)
{
    (void)state;
    static const char text[] = "{\"a\":[1,2.5,\"b\",{}]}";
    struct arena outer, inner;
    json_t *before = json_loads(text, 0, NULL);
    json_t *first = read_in_reserve(text, sizeof text - 1, &outer);
    json_t *between = json_loads(text, 0, NULL);
    json_t *second = read_in_reserve(text, sizeof text - 1, &inner);
    char *dump = json_dumps(second, JSON_COMPACT);
    assert_string_equal(dump, text);
    free(dump);
    assert_true(json_equal(first, second) && json_equal(before, between) && json_equal(first, before));
    json_decref(second);
    document_memory_close();
    json_decref(before);
    json_decref(first);
    document_memory_close();
    json_decref(between);
    arena_done(&inner);
    arena_done(&outer);
}

/* Past the end of the reserved memory, malloc steps in. */
static void test_room_runs_out(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    error_init(&err);
    arena_init(&arena, ARENA_BYTES);
    assert_true(document_memory_open(0, &arena, &err));
    json_t *json = json_array();
    for (int i = 0; i < 10000; i++)
        assert_int_equal(json_array_append_new(json, json_integer(i)), 0);
    document_memory_filled();
    json_decref(json);
    document_memory_close();
    arena_done(&arena);
}

static void test_no_room(void **state)
{
    (void)state;
    struct arena arena;
    struct error err;
    error_init(&err);
    arena_init(&arena, document_memory_bytes(100) - 1);
    assert_false(document_memory_open(100, &arena, &err));
    assert_int_equal(err.code, ERROR_NO_MEMORY);
    arena_done(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_any_text_fits),
        cmocka_unit_test(test_rooms_nest),
        cmocka_unit_test(test_room_runs_out),
        cmocka_unit_test(test_no_room),
    };
    document_memory_init();
    json_get_alloc_funcs(&allocate, &release);
    json_set_alloc_funcs(allocate_watched, release);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
