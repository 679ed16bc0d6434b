/* request_id.h: the X-Request-Id of a request: the client's own, or a drawn one. */
#ifndef ATTND_SERVER_HTTP_REQUEST_ID_H
#define ATTND_SERVER_HTTP_REQUEST_ID_H

#define REQUEST_ID_BYTES_MAX 128

/* 32 random hexadecimal digits. */
void request_id_draw(char ret_id[REQUEST_ID_BYTES_MAX + 1]);

/* Takes the client's own id instead, unless it could be read as two words or break a log line. `sent` may be NULL. */
void request_id_take(const char *sent, char id[REQUEST_ID_BYTES_MAX + 1]);

#endif
