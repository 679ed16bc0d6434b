/* attention_bench: one shape of attention, ours and a plain one over OpenBLAS in turns, and the machine's two limits in the same run.
 *
 *   attention_bench B H Hkv Tq Tk D full|causal|weights THREADS SECONDS
 *
 *   attention_bench --kernels        the kernels that this processor runs, fastest first; ATTND_KERNEL names the one to measure
 *
 * Prints one line of JSON: medians in ms, and the bytes that ours takes beside its inputs and results; the limit of fused
 * multiply-adds in GFLOP/s and of reading memory in GB/s, both on THREADS threads, medians of runs between the turns of attention, so
 * that all meet the same clock and the same neighbours. The multiply-adds are those of the kernel's instructions; fma_units is how
 * many vectors of them a clock cycle does at best, 2 on most processors: less shows a clock that they slow down. Compare
 * within one run only: the machine is rarely alone. The plain one is left out (null) where its scores would take more than
 * PLAIN_BYTES_MAX. */
#include <cblas.h>
#include <malloc.h>
#include <math.h>
#include <pthreadpool.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/attention/attention.h"
#include "core/blas.h"
#include "core/kernels/kernels.h"
#include "core/random.h"

#define TIMES_MAX 400000
#define TURN_MS 30 /* each runs so long, over and over, as in a program of its own, before it is the other's turn */
#define LANES 16   /* of reading */
#define CHAINS 12  /* sums: enough to hide the latency of a multiply-add on two units, and few enough for 16 registers */
#define CHAIN_LENGTH 100000
#define TICKS 1000000 /* of the clock, measured by additions of which each waits for the one before */
#define READ_BYTES ((size_t)256 << 20)
#define READ_SLICES 4 /* read one a run, in turn */
#define PLAIN_BYTES_MAX ((size_t)1 << 30)

typedef float lanes __attribute__((vector_size(LANES * sizeof(float))));

struct shape {
    size_t B, H, Hkv, Tq, Tk, D;
    bool causal, weights;
};

struct buffers {
    float *query, *key, *value, *output, *weights, *scores;
};

static double now_ms(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

static void *allocate(size_t bytes)
{
    void *memory = aligned_alloc(64, (bytes + 63) / 64 * 64);
    if (memory == NULL)
        abort();
    memset(memory, 0, bytes);
    return memory;
}

static int compare(const void *a, const void *b)
{
    double difference = *(const double *)a - *(const double *)b;
    return difference < 0 ? -1 : difference > 0;
}

/* ---- threads: pthreadpool behind core's executor; each lane takes tasks from a shared counter ---- */

struct team {
    pthreadpool_t pool;
    size_t threads, task_count;
    executor_task *task;
    void *argument;
    atomic_size_t next;
};

static void team_lane(void *context, size_t lane)
{
    struct team *team = context;
    size_t task;
    while ((task = atomic_fetch_add(&team->next, 1)) < team->task_count)
        team->task(team->argument, task, lane);
}

static void team_run(void *context, size_t task_count, executor_task *task, void *argument)
{
    struct team *team = context;
    team->task = task;
    team->argument = argument;
    team->task_count = task_count;
    atomic_store(&team->next, 0);
    pthreadpool_parallelize_1d(team->pool, team_lane, team, team->threads, 0);
}

/* ---- ours ---- */

static size_t ours(const struct shape *s, const struct buffers *b, const struct executor *executor)
{
    const size_t q[4] = {s->B, s->H, s->Tq, s->D}, k[4] = {s->B, s->Hkv, s->Tk, s->D}, w[4] = {s->B, s->H, s->Tq, s->Tk};
    int64_t *offsets = allocate(s->B * sizeof *offsets);
    for (size_t i = 0; i < s->B; i++)
        offsets[i] = (int64_t)s->Tk - (int64_t)s->Tq;
    const struct attention_params params = {
        .query = tensor_contiguous(b->query, DTYPE_F32, 4, q),
        .key = tensor_contiguous(b->key, DTYPE_F32, 4, k),
        .value = tensor_contiguous(b->value, DTYPE_F32, 4, k),
        .scale = 1 / sqrt((double)s->D),
        .causal = s->causal,
        .window_left = -1,
        .window_right = -1,
        .query_positions = {.first = offsets},
    };
    struct attention_results results = {
        .output = tensor_contiguous(b->output, DTYPE_F32, 4, q),
        .weights = tensor_contiguous(s->weights ? b->weights : NULL, DTYPE_F32, 4, w),
    };
    struct arena arena;
    struct error err;
    error_init(&err);
    arena_init(&arena, SIZE_MAX / 2);
    if (!attention_compute(&params, &results, &arena, executor, &err))
        abort();
    size_t bytes = arena.used_bytes;
    arena_done(&arena);
    free(offsets);
    return bytes;
}

/* ---- plain: two products of OpenBLAS and a softmax between them, a head at a time ---- */

struct plain {
    const struct shape *shape;
    const struct buffers *buffers;
};

static void plain_softmax(const struct shape *s, float *scores)
{
    for (size_t i = 0; i < s->Tq; i++) {
        float *row = scores + i * s->Tk, max = -INFINITY, sum = 0;
        size_t end = s->causal ? i + 1 + s->Tk - s->Tq : s->Tk;
        for (size_t j = 0; j < end; j++)
            max = row[j] > max ? row[j] : max;
        for (size_t j = 0; j < end; j++)
            sum += row[j] = expf(row[j] - max);
        for (size_t j = 0; j < s->Tk; j++)
            row[j] = j < end ? row[j] / sum : 0;
    }
}

static void plain_head(void *context, size_t task, size_t worker)
{
    const struct plain *p = context;
    const struct shape *s = p->shape;
    size_t kv = task / s->H * s->Hkv + task % s->H / (s->H / s->Hkv);
    const float *query = p->buffers->query + task * s->Tq * s->D, *key = p->buffers->key + kv * s->Tk * s->D;
    const float *value = p->buffers->value + kv * s->Tk * s->D;
    float *scores = s->weights ? p->buffers->weights + task * s->Tq * s->Tk : p->buffers->scores + worker * s->Tq * s->Tk;
    int Tq = (int)s->Tq, Tk = (int)s->Tk, D = (int)s->D;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, Tq, Tk, D, 1 / sqrtf((float)D), query, D, key, D, 0, scores, Tk);
    plain_softmax(s, scores);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, Tq, D, Tk, 1, scores, Tk, value, D, 0,
                p->buffers->output + task * s->Tq * s->D, D);
}

static void plain(const struct shape *s, const struct buffers *b, struct team *team)
{
    struct plain p = {s, b};
    team_run(team, s->B * s->H, plain_head, &p);
}

/* ---- the limits ---- */

struct limits {
    float *memory;
    size_t threads, slice;
    volatile float sink;
};

/* Multiply-adds on vectors of `lanes_count` floats, as one target's kernels do them. */
#define FMA_LOOP(name, lanes_count, attribute)                                                                                 \
    attribute static void fma_loop_##name(void *context, size_t task, size_t worker)                                           \
    {                                                                                                                          \
        typedef float vector __attribute__((vector_size((lanes_count) * sizeof(float))));                                      \
        struct limits *limits = context;                                                                                       \
        vector sums[CHAINS], factor = (vector){0} + 0.999F, total = {0};                                                       \
        (void)worker;                                                                                                          \
        for (size_t i = 0; i < CHAINS; i++)                                                                                    \
            sums[i] = (vector){0} + (float)(task + i);                                                                         \
        for (size_t k = 0; k < CHAIN_LENGTH; k++) {                                                                            \
            _Pragma("GCC unroll 12") for (size_t i = 0; i < CHAINS; i++) sums[i] = sums[i] * factor + 1.0F;                    \
        }                                                                                                                      \
        for (size_t i = 0; i < CHAINS; i++)                                                                                    \
            total += sums[i];                                                                                                  \
        limits->sink = total[0];                                                                                               \
    }

#ifdef __x86_64__
FMA_LOOP(avx512, 16, __attribute__((target("avx512f"))))
FMA_LOOP(avx2, 8, __attribute__((target("avx2,fma"))))
#else
FMA_LOOP(neon, 4, )
#endif

/* The loop of a kernel's instructions. generic leaves its products to OpenBLAS, which takes the best that the processor has. */
struct fma {
    const char *kernel;
    executor_task *loop;
    size_t lanes;
};

static const struct fma fmas[] = {
#ifdef __x86_64__
    {"avx512", fma_loop_avx512, 16},
    {"avx2", fma_loop_avx2, 8},
#else
    {"neon", fma_loop_neon, 4},
#endif
};

static const struct fma *fma_find(void)
{
    for (size_t table = 0; kernels_at(table) != NULL; table++) {
        const char *name = strcmp(kernels_in_use()->name, "generic") == 0 ? kernels_at(table)->name : kernels_in_use()->name;
        for (size_t i = 0; i < sizeof fmas / sizeof *fmas; i++)
            if (strcmp(fmas[i].kernel, name) == 0)
                return &fmas[i];
    }
    return NULL;
}

static void clock_loop(void *context, size_t task, size_t worker)
{
    struct limits *limits = context;
    size_t ticks = task, step = limits->slice | 1; /* not known beforehand: some processors add constants in no time */
    (void)worker;
    for (size_t k = 0; k < TICKS / 16; k++) {
#pragma GCC unroll 16
        for (size_t i = 0; i < 16; i++) {
            ticks += step;
            __asm__ volatile("" : "+r"(ticks)); /* or the compiler would add 16 at once */
        }
    }
    limits->sink = (float)ticks;
}

static void read_loop(void *context, size_t task, size_t worker)
{
    struct limits *limits = context;
    size_t slice = READ_BYTES / sizeof(float) / READ_SLICES, count = slice / limits->threads;
    const float *from = limits->memory + limits->slice % READ_SLICES * slice + task * count;
    lanes sums[4] = {{0}};
    (void)worker;
    for (size_t i = 0; i + 4 * LANES <= count; i += 4 * LANES) {
        for (size_t k = 0; k < 4; k++) {
            lanes x;
            memcpy(&x, from + i + k * LANES, sizeof x);
            sums[k] += x;
        }
    }
    limits->sink = (sums[0] + sums[1] + sums[2] + sums[3])[0];
}

static double limit_ms(struct limits *limits, struct team *team, executor_task *loop)
{
    double start = now_ms();
    team_run(team, limits->threads, loop, limits);
    limits->slice++;
    return now_ms() - start;
}

/* ---- times of one kind ---- */

/* The time since *start, which becomes now. */
static double lap(double *start)
{
    double now = now_ms(), time = now - *start;
    *start = now;
    return time;
}

struct times {
    double ms[TIMES_MAX];
    size_t count;
};

static void times_add(struct times *times, double ms)
{
    if (times->count < TIMES_MAX)
        times->ms[times->count++] = ms;
}

static double times_median(struct times *times)
{
    qsort(times->ms, times->count, sizeof *times->ms, compare);
    return times->count == 0 ? (double)NAN : times->ms[times->count / 2];
}

/* ---- */

static void fill(struct random *random, float *data, size_t count)
{
    struct tensor t = tensor_contiguous(data, DTYPE_F32, 1, &count);
    random_normal(random, &t, NULL);
}

static bool plain_fits(const struct shape *s, size_t threads)
{
    return threads * s->Tq * s->Tk * 4 <= PLAIN_BYTES_MAX;
}

static struct buffers buffers_new(const struct shape *s, size_t threads)
{
    struct random random;
    size_t q = s->B * s->H * s->Tq * s->D, k = s->B * s->Hkv * s->Tk * s->D;
    struct buffers b = {allocate(q * 4), allocate(k * 4), allocate(k * 4), allocate(q * 4), NULL, NULL};
    b.weights = s->weights ? allocate(s->B * s->H * s->Tq * s->Tk * 4) : NULL;
    b.scores = s->weights || !plain_fits(s, threads) ? NULL : allocate(threads * s->Tq * s->Tk * 4);
    random_init(&random, 1);
    fill(&random, b.query, q);
    fill(&random, b.key, k);
    fill(&random, b.value, k);
    return b;
}

static int list_kernels(void)
{
    for (size_t i = 0; kernels_at(i) != NULL; i++)
        (void)printf("%s\n", kernels_at(i)->name);
    return 0;
}

int main(int argument_count, char **arguments)
{
    if (argument_count == 2 && strcmp(arguments[1], "--kernels") == 0)
        return list_kernels();
    if (argument_count != 10) {
        (void)fprintf(stderr, "usage: attention_bench B H Hkv Tq Tk D full|causal|weights THREADS SECONDS\n");
        return 2;
    }
    size_t sizes[6];
    for (size_t i = 0; i < 6; i++)
        sizes[i] = strtoull(arguments[1 + i], NULL, 10);
    const struct shape shape = {sizes[0],
                                sizes[1],
                                sizes[2],
                                sizes[3],
                                sizes[4],
                                sizes[5],
                                strcmp(arguments[7], "causal") == 0,
                                strcmp(arguments[7], "weights") == 0};
    size_t threads = strtoull(arguments[8], NULL, 10);
    double seconds = strtod(arguments[9], NULL);
    const char *kernel = getenv("ATTND_KERNEL");
    blas_init();
    (void)mallopt(M_MMAP_THRESHOLD, 32 << 20); /* memory is kept from call to call */
    (void)mallopt(M_TRIM_THRESHOLD, 1 << 30);
    if (kernel != NULL && !kernels_choose(kernel))
        return 2;
    const struct fma *fma = fma_find();
    struct team team = {.pool = pthreadpool_create(threads), .threads = threads};
    const struct executor executor = {.worker_count = threads, .run = team_run, .context = &team};
    const struct buffers buffers = buffers_new(&shape, threads);
    struct limits limits = {.memory = allocate(READ_BYTES), .threads = threads};
    static struct times ours_times, plain_times, fma_times, clock_times, read_times;
    size_t bytes = 0;
    for (double end = now_ms() + seconds * 1e3; ours_times.count < 3 || now_ms() < end;) {
        for (double start = now_ms(), turn = start + TURN_MS; start < turn;) {
            bytes = ours(&shape, &buffers, threads > 1 ? &executor : NULL);
            times_add(&ours_times, lap(&start));
        }
        for (double start = now_ms(), turn = start + TURN_MS; start < turn && plain_fits(&shape, threads);) {
            plain(&shape, &buffers, &team);
            times_add(&plain_times, lap(&start));
        }
        for (size_t i = 0; i < 3 && fma != NULL; i++) { /* the clock of each loop, in turns */
            times_add(&clock_times, limit_ms(&limits, &team, clock_loop));
            times_add(&fma_times, limit_ms(&limits, &team, fma->loop));
        }
        times_add(&read_times, limit_ms(&limits, &team, read_loop));
    }
    double ours_ms = times_median(&ours_times), plain_ms = times_median(&plain_times);
    double vectors = CHAIN_LENGTH * CHAINS / 1e6;
    double gflops = fma == NULL ? 0 : (double)threads * vectors * 2 * (double)fma->lanes / times_median(&fma_times);
    qsort(clock_times.ms, clock_times.count, sizeof *clock_times.ms, compare);
    double units = fma == NULL ? 0 : vectors / fma_times.ms[0] / (TICKS / 1e6 / clock_times.ms[0]);
    double read = (double)READ_BYTES / READ_SLICES / times_median(&read_times) / 1e6;
    (void)printf("{\"kernel\": \"%s\", \"rounds\": %zu, \"ours_ms\": %.5f, \"ours_best_ms\": %.5f, \"ours_bytes\": %zu, ",
                 kernels_in_use()->name, ours_times.count, ours_ms, ours_times.ms[0], bytes);
    if (plain_times.count > 0)
        (void)printf("\"plain_ms\": %.5f, ", plain_ms);
    else
        (void)printf("\"plain_ms\": null, ");
    if (fma != NULL)
        (void)printf("\"fma_gflops\": %.1f, \"fma_units\": %.2f, ", gflops, units);
    else
        (void)printf("\"fma_gflops\": null, \"fma_units\": null, ");
    (void)printf("\"read_gbs\": %.2f}\n", read);
    return 0;
}
