/* executor.h: how core runs independent tasks in parallel without owning a thread.
 *
 * A caller may pass an executor; without one (NULL) the tasks run one after the other on the caller's thread.
 * Tasks have fixed sizes and write to places of their own, so results never depend on how many threads took part. */
#ifndef ATTND_CORE_EXECUTOR_H
#define ATTND_CORE_EXECUTOR_H

#include <stdbool.h>
#include <stddef.h>

#include "core/error.h"

/* One task of a run. `worker` < worker_count; two tasks with one worker number never run at the same time, so it may
 * select a scratch buffer. */
typedef void executor_task(void *argument, size_t task, size_t worker);

struct executor {
    size_t worker_count; /* at least 1 */

    /* Runs tasks 0 .. task_count-1, returns when all have returned. NULL: one after the other, on the caller. */
    void (*run)(void *context, size_t task_count, executor_task *task, void *argument);

    /* True once the work is no longer wanted (deadline passed, client disconnected). Asked between tiles from any thread, so
     * it must be cheap and reentrant. NULL: never. */
    bool (*stopped)(void *context);

    void *context; /* borrowed, passed to both */
};

size_t executor_worker_count(const struct executor *executor);
bool executor_stopped(const struct executor *executor);

/* Sets deadline: work that was stopped fails so. Returns false. */
bool executor_set_stopped(struct error *err);

void executor_run(const struct executor *executor, size_t task_count, executor_task *task, void *argument);

#endif
