/* safetensors_file.h: bodies that are safetensors files, whatever their tensors are called.
 *
 * Reading  safetensors_file_open -> safetensors_file_text, safetensors_file_tensors -> safetensors_file_done
 * Writing  safetensors_writer_init -> safetensors_writer_metadata -> safetensors_writer_tensor -> safetensors_writer_done
 *
 * Fails   malformed: bounds, offsets, overlaps, gaps; invalid: dtypes, a tensor given twice; with a pointer into the header. */
#ifndef ATTND_API_PROTOCOL_SAFETENSORS_FILE_H
#define ATTND_API_PROTOCOL_SAFETENSORS_FILE_H

#include <jansson.h>

#include "api/json/writer.h"
#include "api/protocol/media_type.h"
#include "api/protocol/protocol.h"
#include "api/request/tensor_input.h"

/* A header holds two arrays for each tensor, its shape and its data_offsets. */
#define SAFETENSORS_TENSORS_MAX (EXTRACT_ARRAYS_MAX / 2)

/* Where a tensor of the file goes. */
struct safetensors_slot {
    const char *name; /* for errors */
    enum tensor_input_content content;
    struct tensor_input *input; /* TENSOR_INPUT_ABSENT until the tensor is read */
};

struct safetensors_file {
    struct extract extract; /* of the header */
    json_t *header;         /* owned */
    const char *data;       /* borrowed: the tensors' bytes, in the body */
    size_t data_bytes;
    size_t span_count;
    struct {
        size_t begin, end;
    } spans[SAFETENSORS_TENSORS_MAX]; /* what the tensors take, sorted by begin */
};

/* Parses the header. `ret` borrows the body and the arena, and needs safetensors_file_done, also where it fails. */
bool safetensors_file_open(const struct api_request *sent, struct arena *arena, struct safetensors_file *ret, struct error *err)
    __attribute__((warn_unused_result));

/* __metadata__, an object; NULL where there is none. */
const json_t *safetensors_file_metadata(const struct safetensors_file *file);

/* A copy of a text in the metadata, which outlives the header; "{}" where there is none. */
bool safetensors_file_text(const struct safetensors_file *file, const char *name, struct arena *arena, const char **ret,
                           size_t *ret_bytes, struct error *err) __attribute__((warn_unused_result));

/* Says where the tensor `name` goes, or refuses the name; `ret` takes numbers unless it says otherwise. */
typedef bool safetensors_find(void *context, const char *name, const char *pointer, struct safetensors_slot *ret,
                              struct error *err);

/* Reads every tensor's place in the body. */
bool safetensors_file_tensors(struct safetensors_file *file, safetensors_find *find, void *context, struct error *err)
    __attribute__((warn_unused_result));

/* Frees the header. An error that a broken array of it may have caused is replaced by that array's. */
void safetensors_file_done(struct safetensors_file *file, struct error *err);

/* A file being written: its header, to a buffer whose size was computed beforehand, then the tensors' own memory. */
struct safetensors_writer {
    struct writer header;
    struct api_chunk *chunks; /* one for each tensor at most */
    size_t chunk_count, data_bytes;
};

/* What the header takes besides its metadata, which take WRITER_STRING_GROWTH bytes a byte. */
#define SAFETENSORS_ENTRY_BYTES_MAX 320 /* for each tensor, and its chunk */
#define SAFETENSORS_FRAME_BYTES_MAX 160

void safetensors_writer_init(struct safetensors_writer *writer, char *buffer, size_t buffer_bytes, struct api_chunk *chunks);

/* JSON texts, NUL-terminated; `tokens` may be empty: then there are none. Called once, before the first tensor. */
void safetensors_writer_metadata(struct safetensors_writer *writer, const char *applied, const char *warnings,
                                 const char *tokens);

/* The tensor NAME, or NAME.MEMBER. Readers want each at a multiple of its element's size, and no holes: so the widest go first. */
void safetensors_writer_tensor(struct safetensors_writer *writer, const char *name, const char *member, const struct tensor *t);

void safetensors_writer_done(struct safetensors_writer *writer, struct api_reply *ret);

/* Whether a body that was sent as JSON is probably a safetensors file. */
bool safetensors_resembles(const char *body, size_t body_bytes);

#endif
