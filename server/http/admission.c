#include "server/http/admission.h"

static bool refuse_if(bool shutting_down, struct error *err)
{
    return !shutting_down || error_set(err, ERROR_BUSY, "the daemon is shutting down");
}

bool admission_while_ready(const struct service *service, struct error *err)
{
    return refuse_if(atomic_load(&service->unready), err);
}

bool admission_while_serving(const struct service *service, struct error *err)
{
    return refuse_if(atomic_load(&service->draining), err);
}

bool admission_refuse_overflow(const struct service *service, struct error *err)
{
    return error_set(err, ERROR_BUSY, "%zu connections are open already, as many as --max-connections allows",
                     service->options->connections_max);
}

bool admission_enqueue(struct service *service, struct work_item *work_item, struct error *err)
{
    if (!queue_push(&service->queue, work_item))
        return error_set(err, ERROR_BUSY, "the queue is full: %zu requests wait already", service->options->queue_items_max);
    return true;
}

bool admission_refuse_body(size_t bytes, struct error *err)
{
    return error_set(err, ERROR_NO_MEMORY, "no room for %zu bytes of request body: other requests' bodies fill the memory",
                     bytes);
}

bool admission_refuse_allocation(size_t bytes, struct error *err)
{
    return error_set(err, ERROR_NO_MEMORY, "the machine has no %zu bytes of memory left", bytes);
}

bool admission_in_time(const struct service *service, struct work_item *work_item, struct error *err)
{
    if (work_item_stopped(work_item) && work_item->wanted_bytes > 0)
        return error_set(err, ERROR_DEADLINE, "the request waited for %zu bytes of memory until its time, %zu s, had passed",
                         work_item->wanted_bytes, service->options->request_timeout_s);
    if (work_item_stopped(work_item))
        return error_set(err, ERROR_DEADLINE, "the request waited in the queue until its time, %zu s, had passed",
                         service->options->request_timeout_s);
    return true;
}
