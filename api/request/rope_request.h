/* rope_request.h: rotary positions as the client asked for them, each member decoded and checked by itself (rope_read.h); that
 * they fit each other and the shapes is checked by plan_rope.h. */
#ifndef ATTND_API_REQUEST_ROPE_REQUEST_H
#define ATTND_API_REQUEST_ROPE_REQUEST_H

#include "api/request/tensor_input.h"
#include "core/rope_scaling.h"

enum rope_style { ROPE_INTERLEAVED, ROPE_HALF, ROPE_STYLES };

#define ROPE_AXES 3 /* of mrope: time, height, width */

#define ROPE_ANGLE_MAX 0x1p31 /* radians: up to here doubles hold an angle to 2.2e-7; at 2^40 to 9e-5, at 2^53 not at all */
#define ROPE_BASE_MIN 1e-200  /* far below it a position times a frequency may overflow, and its sine would be NaN */

/* Tensors by name, in the order in which they are decoded. */
enum rope_tensor {
    ROPE_FREQUENCIES, /* [dims/2] */
    ROPE_COS,         /* [positions, dims/2] or [B,T,dims/2] */
    ROPE_SIN,
    ROPE_QUERY_POSITIONS, /* [3,Tq] or [3,B,Tq] */
    ROPE_KEY_POSITIONS,   /* [3,Tnew] or [3,B,Tnew] */
    ROPE_SHORT_FACTOR,    /* [dims/2] */
    ROPE_LONG_FACTOR,
    ROPE_TENSORS,
};

/* The names by value, as a path below "rope" with a dot between; NULL-terminated. */
extern const char *const rope_tensor_names[ROPE_TENSORS + 1];
extern const char *const rope_style_names[ROPE_STYLES + 1];
extern const char *const rope_type_names[ROPE_TYPES + 2]; /* the last is "mrope", which scales nothing */

struct rope_request {
    bool given;
    enum rope_style style;
    bool has_base, has_dims, has_length, has_section;
    double base;
    int64_t dims;
    int64_t length;
    double attention_factor;     /* beside inverse_frequencies; 0: absent */
    int64_t section[ROPE_AXES];  /* pairs an axis */
    const char *section_pointer; /* to what gave it. Static */
    bool has_interleaved, interleaved_axes;
    struct tensor_input tensors[ROPE_TENSORS];

    bool has_scaling, is_mrope;
    struct rope_scaling scaling;     /* numbers that are absent are 0, but for those with a default */
    double theta, share, max_length; /* rope_theta, partial_rotary_factor, max_position_embeddings; 0: absent */
    bool has_share;
};

#endif
