#include "core/executor.h"

size_t executor_worker_count(const struct executor *executor)
{
    return executor == NULL || executor->run == NULL ? 1 : executor->worker_count;
}

bool executor_stopped(const struct executor *executor)
{
    return executor != NULL && executor->stopped != NULL && executor->stopped(executor->context);
}

void executor_run(const struct executor *executor, size_t task_count, executor_task *task, void *argument)
{
    /* A single task gains nothing from other threads, and handing it over costs time. */
    if (executor != NULL && executor->run != NULL && task_count > 1) {
        executor->run(executor->context, task_count, task, argument);
        return;
    }
    for (size_t i = 0; i < task_count; i++)
        task(argument, i, 0);
}

bool executor_set_stopped(struct error *err)
{
    return error_set(err, ERROR_DEADLINE, "the request's time was up before its work was done");
}
