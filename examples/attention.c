/* Attention from C, with libcurl, on a little-endian machine:
 *
 *   cc attention.c -lcurl -o attention && ./attention http://localhost:8080 */
#include <curl/curl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TYPE "application/x-safetensors"

struct tensor {
    const char *name;
    size_t rows, columns;
    const float *data;
};

struct bytes {
    char *data; /* one byte more than size, a NUL */
    size_t size;
};

static int append(struct bytes *bytes, const void *data, size_t size)
{
    char *grown = realloc(bytes->data, bytes->size + size + 1);
    if (grown == NULL)
        return 0;
    memcpy(grown + bytes->size, data, size);
    bytes->data = grown;
    bytes->size += size;
    grown[bytes->size] = '\0';
    return 1;
}

/* A safetensors file: the header's length in eight bytes, the header as JSON, the numbers. `fields` is JSON, its quotes escaped. */
static int pack(const struct tensor *tensors, size_t count, const char *fields, struct bytes *file)
{
    char header[1024];
    size_t end = 0;
    size_t used = (size_t)snprintf(header, sizeof header, "{\"__metadata__\":{\"request\":\"%s\"}", fields);
    for (size_t i = 0; i < count && used < sizeof header; i++) {
        size_t begin = end;
        end += tensors[i].rows * tensors[i].columns * sizeof(float);
        used += (size_t)snprintf(header + used, sizeof header - used,
                                 ",\"%s\":{\"dtype\":\"F32\",\"shape\":[%zu,%zu],\"data_offsets\":[%zu,%zu]}", tensors[i].name,
                                 tensors[i].rows, tensors[i].columns, begin, end);
    }
    if (used + 9 > sizeof header)
        return 0;
    header[used++] = '}';
    while (used % 8 != 0)
        header[used++] = ' ';
    uint64_t length = used;
    int done = append(file, &length, sizeof length) && append(file, header, used);
    for (size_t i = 0; i < count && done; i++)
        done = append(file, tensors[i].data, tensors[i].rows * tensors[i].columns * sizeof(float));
    return done;
}

/* Returns a tensor's numbers, in the file, and how many they are; NULL where it is not there. A program with a JSON library reads the
 * header with that. */
static const float *unpack(const struct bytes *file, const char *name, size_t *count)
{
    char wanted[64];
    uint64_t length;
    size_t begin, end;
    (void)snprintf(wanted, sizeof wanted, "\"%s\":{\"dtype\":\"F32\"", name);
    if (file->size < sizeof length)
        return NULL;
    memcpy(&length, file->data, sizeof length);
    const char *entry = strstr(file->data + sizeof length, wanted);
    const char *offsets = entry != NULL ? strstr(entry, "\"data_offsets\":[") : NULL;
    if (offsets == NULL || sscanf(offsets, "\"data_offsets\":[%zu,%zu", &begin, &end) != 2)
        return NULL;
    *count = (end - begin) / sizeof(float);
    return (const float *)(const void *)(file->data + sizeof length + length + begin);
}

static size_t take(char *data, size_t size, size_t count, void *reply)
{
    return append(reply, data, size * count) ? size * count : 0;
}

/* Returns the status of HTTP; 0: there was no reply. */
static long attention(const char *url, const struct bytes *file, struct bytes *reply)
{
    long status = 0;
    char address[512];
    CURL *curl = curl_easy_init();
    struct curl_slist *headers = curl_slist_append(curl_slist_append(NULL, "Content-Type: " TYPE), "Accept: " TYPE);
    (void)snprintf(address, sizeof address, "%s/attention", url);
    curl_easy_setopt(curl, CURLOPT_URL, address);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, file->data);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)file->size);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, reply);
    if (curl_easy_perform(curl) == CURLE_OK)
        curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &status);
    curl_slist_free_all(headers);
    curl_easy_cleanup(curl);
    return status;
}

int main(int argument_count, char **arguments)
{
    static const float identity[] = {1, 0, 0, 1}, numbers[] = {10, 20};
    const struct tensor tensors[] = {{"query", 2, 2, identity}, {"key", 2, 2, identity}, {"value", 2, 1, numbers}};
    struct bytes file = {0}, reply = {0};
    size_t count = 0;
    const char *url = argument_count > 1 ? arguments[1] : "http://localhost:8080";
    long status = pack(tensors, 3, "{\\\"causal\\\": true}", &file) ? attention(url, &file, &reply) : 0;
    const float *output = status == 200 ? unpack(&reply, "output", &count) : NULL;
    if (output != NULL && count == 2)
        printf("%.4f %.4f\n", output[0], output[1]);
    else
        fprintf(stderr, "status %ld: %s\n", status, reply.data != NULL ? reply.data : "no reply");
    free(file.data);
    free(reply.data);
    return output != NULL ? 0 : 1;
}
