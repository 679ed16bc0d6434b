/* triton_metrics.h: the inferences of /v2 under the names that Triton's metrics have, for dashboards that exist.
 *
 * They count what /v2/models/attention/stats counts. Their names and units are Triton's, and not as Prometheus would have them. */
#ifndef ATTND_SERVER_TELEMETRY_TRITON_METRICS_H
#define ATTND_SERVER_TELEMETRY_TRITON_METRICS_H

#include <stddef.h>

#include "api/json/writer.h"
#include "server/telemetry/statistics.h"

void triton_metrics_write(struct writer *writer, const struct statistics *statistics, size_t pending);

#endif
