/* kserve_metadata.h: what the GET requests of the Open Inference Protocol answer. */
#ifndef ATTND_API_PROTOCOL_KSERVE_METADATA_H
#define ATTND_API_PROTOCOL_KSERVE_METADATA_H

/* JSON, static. */
extern const char kserve_metadata_server[];      /* GET /v2 */
extern const char kserve_metadata_model[];       /* GET /v2/models/attention */
extern const char kserve_metadata_config[];      /* GET /v2/models/attention/config, as Triton answers it */
extern const char kserve_metadata_model_ready[]; /* GET /v2/models/attention/ready */

#endif
