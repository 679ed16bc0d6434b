#include "server/http/gzip.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "core/size.h"

#define WINDOW_BITS 15
#define GZIP_FRAME 16          /* added to WINDOW_BITS: with gzip's header and trailer */
#define MEMORY_LEVEL 8         /* zlib's default, which compressBound speaks of */
#define STATE_BYTES_MAX 300000 /* that deflate takes with these two */
#define INFLATE_STEP_BYTES 65536
#define PIECE_BYTES ((size_t)256 * 1024)
#define HEADER_BYTES 10
#define TRAILER_BYTES 8

/* ---- requests ---- */

/* One step: as much output as the buffer takes. *ret_status is zlib's. */
static bool inflate_step(z_stream *stream, struct body *ret, int *ret_status, struct error *err)
{
    char step[INFLATE_STEP_BYTES];
    stream->next_out = (Bytef *)step;
    stream->avail_out = sizeof step;
    *ret_status = inflate(stream, Z_NO_FLUSH);
    size_t bytes = sizeof step - stream->avail_out;
    if (bytes > ret->bytes_max - ret->bytes)
        return error_set_limit(err, "max-body", ret->bytes_max,
                               "the body inflates to more than the %zu bytes that are read at most", ret->bytes_max);
    return bytes == 0 || body_append(ret, step, bytes, err);
}

static bool inflate_all(z_stream *stream, size_t bytes, struct work_item *work_item, struct body *ret, struct error *err)
{
    for (;;) {
        size_t fed = size_min(bytes, INFLATE_STEP_BYTES);
        stream->avail_in = (uInt)fed;
        int status;
        if (!inflate_step(stream, ret, &status, err))
            return false;
        bytes -= fed - stream->avail_in;
        if (status == Z_STREAM_END && bytes == 0)
            return true;
        if (work_item_stopped(work_item))
            return error_set(err, ERROR_DEADLINE, "the request's time passed while its body was inflated");
        if (status == Z_STREAM_END && inflateReset(stream) == Z_OK) /* another member follows */
            continue;
        if (status == Z_MEM_ERROR)
            return error_set(err, ERROR_NO_MEMORY, "the machine has no memory left to inflate the body");
        if (status == Z_BUF_ERROR || (status == Z_OK && bytes == 0 && stream->avail_out > 0))
            return error_set(err, ERROR_MALFORMED, "the body ends before its gzip stream does");
        if (status != Z_OK)
            return error_set(err, ERROR_MALFORMED, "the body is not what Content-Encoding says, gzip: %s",
                             stream->msg != NULL ? stream->msg : "a dictionary is asked for");
    }
}

bool gzip_inflate(const char *data, size_t bytes, struct work_item *work_item, struct body *ret, struct error *err)
{
    z_stream stream = {.next_in = (Bytef *)(uintptr_t)data}; /* only ever read */
    if (inflateInit2(&stream, WINDOW_BITS + GZIP_FRAME) != Z_OK)
        return error_set(err, ERROR_NO_MEMORY, "the machine has no memory left to inflate the body");
    bool done = inflate_all(&stream, bytes, work_item, ret, err);
    (void)inflateEnd(&stream);
    return done;
}

/* ---- replies ---- */

struct piece {
    const char *data;
    size_t bytes;
    char *buffer;
    size_t buffer_bytes, written_bytes;
    uLong crc;
};

struct pieces {
    const struct executor *executor;
    size_t count;
    struct piece *pieces;
    atomic_bool failed;
};

static struct api_chunk part_of(const struct api_reply *reply, size_t i)
{
    return i == 0 ? (struct api_chunk){reply->body, reply->body_bytes} : reply->chunks[i - 1];
}

static size_t piece_buffer_bytes(size_t bytes)
{
    return compressBound((uLong)bytes) + 16; /* and the empty block at its end */
}

/* Bytes of all buffers; `*ret_count` pieces. */
static size_t measure(const struct api_reply *reply, size_t *ret_count)
{
    size_t bytes = 0;
    *ret_count = 0;
    for (size_t i = 0; i <= reply->chunk_count; i++) {
        size_t left = part_of(reply, i).bytes;
        for (size_t piece; left > 0; left -= piece) {
            piece = size_min(left, PIECE_BYTES);
            bytes += piece_buffer_bytes(piece);
            (*ret_count)++;
        }
    }
    return bytes;
}

/* The memory: header and trailer, the parts of the new reply, the pieces, their buffers. */
static size_t lists_bytes(size_t piece_count)
{
    return 32 + (piece_count + 1) * sizeof(struct api_chunk) + piece_count * sizeof(struct piece);
}

size_t gzip_cost(const struct api_reply *reply, const struct executor *executor)
{
    size_t count, buffers = measure(reply, &count);
    return buffers + lists_bytes(count) + executor_worker_count(executor) * STATE_BYTES_MAX;
}

static void cut(const struct api_reply *reply, struct pieces *pieces, char *buffer)
{
    size_t at = 0;
    for (size_t i = 0; i <= reply->chunk_count; i++) {
        struct api_chunk part = part_of(reply, i);
        for (size_t begin = 0; begin < part.bytes; begin += PIECE_BYTES) {
            struct piece *piece = &pieces->pieces[at++];
            piece->data = (const char *)part.data + begin;
            piece->bytes = size_min(PIECE_BYTES, part.bytes - begin);
            piece->buffer = buffer;
            piece->buffer_bytes = piece_buffer_bytes(piece->bytes);
            buffer += piece->buffer_bytes;
        }
    }
    assert(at == pieces->count);
}

static bool deflate_piece(struct piece *piece, bool last)
{
    z_stream stream = {0};
    if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, -WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    stream.next_in = (Bytef *)(uintptr_t)piece->data; /* only ever read */
    stream.avail_in = (uInt)piece->bytes;
    stream.next_out = (Bytef *)piece->buffer;
    stream.avail_out = (uInt)piece->buffer_bytes;
    int status = deflate(&stream, last ? Z_FINISH : Z_SYNC_FLUSH);
    bool done = stream.avail_in == 0 && (last ? status == Z_STREAM_END : status == Z_OK && stream.avail_out > 0);
    piece->written_bytes = piece->buffer_bytes - stream.avail_out;
    piece->crc = crc32(0, (const Bytef *)piece->data, (uInt)piece->bytes);
    (void)deflateEnd(&stream);
    return done;
}

static void run_piece(void *argument, size_t i, size_t worker)
{
    struct pieces *pieces = argument;
    (void)worker;
    if (atomic_load_explicit(&pieces->failed, memory_order_relaxed))
        return;
    if (executor_stopped(pieces->executor) || !deflate_piece(&pieces->pieces[i], i + 1 == pieces->count))
        atomic_store_explicit(&pieces->failed, true, memory_order_relaxed);
}

/* Header and trailer to `frame`; the pieces between them to the reply. */
static void assemble(const struct pieces *pieces, unsigned char *frame, struct api_chunk *parts, struct api_reply *reply)
{
    static const unsigned char header[HEADER_BYTES] = {0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255}; /* fastest, any system */
    uLong crc = 0;
    uint32_t bytes = 0; /* modulo 2^32, as the format has it */
    for (size_t i = 0; i < pieces->count; i++) {
        const struct piece *piece = &pieces->pieces[i];
        parts[i] = (struct api_chunk){piece->buffer, piece->written_bytes};
        crc = crc32_combine(crc, piece->crc, (z_off_t)piece->bytes);
        bytes += (uint32_t)piece->bytes;
    }
    memcpy(frame, header, sizeof header);
    for (size_t i = 0; i < 4; i++) {
        frame[HEADER_BYTES + i] = (unsigned char)(crc >> 8 * i & 0xff);
        frame[HEADER_BYTES + 4 + i] = (unsigned char)(bytes >> 8 * i & 0xff);
    }
    parts[pieces->count] = (struct api_chunk){frame + HEADER_BYTES, TRAILER_BYTES};
    reply->body = (const char *)frame;
    reply->body_bytes = HEADER_BYTES;
    reply->chunks = parts;
    reply->chunk_count = pieces->count + 1;
}

bool gzip_deflate(struct api_reply *reply, const struct executor *executor, struct gzip *ret)
{
    struct pieces pieces = {.executor = executor};
    size_t buffer_bytes = measure(reply, &pieces.count);
    char *memory = malloc(lists_bytes(pieces.count) + buffer_bytes);
    if (memory == NULL)
        return false;
    struct api_chunk *parts = (struct api_chunk *)(void *)(memory + 32);
    pieces.pieces = (struct piece *)(void *)(parts + pieces.count + 1);
    cut(reply, &pieces, (char *)(pieces.pieces + pieces.count));
    executor_run(executor, pieces.count, run_piece, &pieces);
    if (atomic_load_explicit(&pieces.failed, memory_order_relaxed)) {
        free(memory);
        return false;
    }
    assemble(&pieces, (unsigned char *)memory, parts, reply);
    ret->memory = memory;
    return true;
}

void gzip_done(struct gzip *gzip)
{
    free(gzip->memory);
    gzip->memory = NULL;
}
