#include "api/compare/compare_case.h"

#include <string.h>

#include "api/compare/compare_write.h"
#include "api/json/token.h"
#include "api/json/writer.h"
#include "api/protocol/safetensors.h"
#include "core/size.h"

#define PREFIX_BYTES 8 /* of a safetensors file: its header's length */
#define CASE_CHUNKS 6
#define CASE_TEXT_BYTES_MAX (PREFIX_BYTES + WRITER_STRING_GROWTH * COMPARE_REPLY_BYTES_MAX + 256)

size_t compare_case_cost(void)
{
    return arena_cost(CASE_CHUNKS * sizeof(struct api_chunk)) + arena_cost(CASE_TEXT_BYTES_MAX);
}

static const char *closing_brace(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    while (end[-1] != '}')
        end--;
    return end - 1;
}

bool compare_case_text(const struct api_request *sent, const struct api_chunk *comparison, struct arena *arena,
                       struct api_reply *ret, struct error *err)
{
    static const char before[] = ",\n\"comparison\": ", after[] = "}\n";
    struct api_chunk *chunks = arena_alloc(arena, CASE_CHUNKS * sizeof *chunks, err);
    if (chunks == NULL)
        return false;
    chunks[0] = (struct api_chunk){sent->body, (size_t)(closing_brace(sent->body, sent->body_bytes) - sent->body)};
    chunks[1] = (struct api_chunk){before, sizeof before - 1};
    chunks[2] = *comparison;
    chunks[3] = (struct api_chunk){after, sizeof after - 1};
    api_reply_set_chunks(ret, chunks, 4);
    return true;
}

/* Just behind the brace that opens the metadata of a valid header; NULL where it has none. */
static const char *metadata_inside(const char *header, const char *end)
{
    size_t depth = 0;
    for (const char *at = header; at < end;) {
        if (*at == '"') {
            const char *after = token_string_end(at, end), *value = token_space_end(after, end);
            bool is_key = depth == 1 && *value == ':' && (size_t)(after - at) == sizeof "\"__metadata__\"" - 1 &&
                          memcmp(at, "\"__metadata__\"", sizeof "\"__metadata__\"" - 1) == 0;
            if (is_key)
                return token_space_end(value + 1, end) + 1;
            at = after;
            continue;
        }
        depth += *at == '{' || *at == '[';
        depth -= *at == '}' || *at == ']';
        at++;
    }
    return NULL;
}

/* The text to insert, and the header's new length before it. */
static const char *write_insertion(const struct api_chunk *comparison, bool has_metadata, bool more, size_t header_bytes,
                                   char *buffer, char ret_prefix[PREFIX_BYTES], size_t *ret_bytes)
{
    struct writer writer;
    writer_init(&writer, buffer, CASE_TEXT_BYTES_MAX - PREFIX_BYTES);
    writer_add(&writer, has_metadata ? "\"comparison\":" : "\"__metadata__\":{\"comparison\":");
    writer_string(&writer, comparison->data);
    writer_add(&writer, has_metadata ? "" : "}");
    writer_add(&writer, more ? "," : "");
    while ((header_bytes + (size_t)(writer.at - writer.start)) % PREFIX_BYTES != 0)
        writer_add(&writer, " ");
    *ret_bytes = (size_t)(writer.at - writer.start);
    for (size_t i = 0; i < PREFIX_BYTES; i++)
        ret_prefix[i] = (char)((header_bytes + *ret_bytes) >> 8 * i & 0xff);
    return buffer;
}

bool compare_case_binary(const struct api_request *sent, const struct api_chunk *comparison, struct arena *arena,
                         struct api_reply *ret, struct error *err)
{
    struct api_chunk *chunks = arena_alloc(arena, CASE_CHUNKS * sizeof *chunks, err);
    char *buffer = arena_alloc(arena, CASE_TEXT_BYTES_MAX, err);
    if (chunks == NULL || buffer == NULL)
        return false;
    size_t header_bytes = 0, insertion_bytes;
    for (size_t i = PREFIX_BYTES; i-- > 0;)
        header_bytes = header_bytes << 8 | (unsigned char)sent->body[i];
    const char *header = sent->body + PREFIX_BYTES, *header_end = header + header_bytes;
    const char *inside = metadata_inside(header, header_end);
    bool has_metadata = inside != NULL;
    if (!has_metadata)
        inside = (const char *)memchr(header, '{', header_bytes) + 1;
    bool more = *token_space_end(inside, header_end) != '}';
    char *prefix = buffer;
    const char *insertion =
        write_insertion(comparison, has_metadata, more, header_bytes, buffer + PREFIX_BYTES, prefix, &insertion_bytes);
    chunks[0] = (struct api_chunk){prefix, PREFIX_BYTES};
    chunks[1] = (struct api_chunk){header, (size_t)(inside - header)};
    chunks[2] = (struct api_chunk){insertion, insertion_bytes};
    chunks[3] = (struct api_chunk){inside, (size_t)(sent->body + sent->body_bytes - inside)};
    api_reply_set_chunks(ret, chunks, 4);
    ret->content_type = SAFETENSORS_TYPE;
    return true;
}
