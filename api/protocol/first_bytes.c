#include "api/protocol/first_bytes.h"

#include <ctype.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "api/json/token.h"
#include "api/protocol/media_type.h"
#include "core/size.h"

#define LOOKED_AT_BYTES 512 /* of a text, to tell what it is */
#define BASE64_BYTES_MIN 24
#define TEXT_LOOKED_AT_BYTES 32 /* to tell whether it is one */
#define FILE_NAME_BYTES_MAX 255

#define AS_TENSORS "send its arrays as JSON, or as a safetensors file with Content-Type: " SAFETENSORS_TYPE
#define AS_JSON "send JSON"
#define NO_ENCODING "send JSON as it is, or compressed with gzip and Content-Encoding: gzip"
#define AS_UTF8 "send JSON in UTF-8 (PowerShell: -Encoding utf8NoBOM; Python: open(.., encoding=\"utf-8\"))"

/* A kind of file by the bytes that it begins with. */
struct signature {
    const char *bytes;
    size_t count;
    const char *what, *instead;
};

#define SIGNATURE(bytes, what, instead)                                                                                        \
    {                                                                                                                          \
        bytes, sizeof(bytes) - 1, what, instead                                                                                \
    }

static const struct signature signatures[] = {
    SIGNATURE("\x1f\x8b", "gzip data, and no header says so", "add Content-Encoding: gzip"),
    SIGNATURE("\x78\x01", "zlib (deflate) data", NO_ENCODING),
    SIGNATURE("\x78\x5e", "zlib (deflate) data", NO_ENCODING),
    SIGNATURE("\x78\x9c", "zlib (deflate) data", NO_ENCODING),
    SIGNATURE("\x78\xda", "zlib (deflate) data", NO_ENCODING),
    SIGNATURE("\x28\xb5\x2f\xfd", "Zstandard data", NO_ENCODING),
    SIGNATURE("\xfd\x37\x7a\x58\x5a", "xz data", NO_ENCODING),
    SIGNATURE("\x04\x22\x4d\x18", "LZ4 data", NO_ENCODING),
    SIGNATURE("\xff\x06\x00\x00sNaPpY", "Snappy data", NO_ENCODING),
    SIGNATURE("BZh", "bzip2 data", NO_ENCODING),
    SIGNATURE("\x93NUMPY", "a NumPy file (.npy)", AS_TENSORS ": in Python safetensors.numpy.save({\"query\": q, ..})"),
    SIGNATURE("PK\x03\x04", "a zip file, as .npz, torch's .pt and .keras are",
              AS_TENSORS ": in Python safetensors.numpy.save or safetensors.torch.save({\"query\": q, ..})"),
    SIGNATURE("PK\x05\x06", "an empty zip file", AS_TENSORS),
    SIGNATURE("\x80\x02\x8a\x0a\x6c\xfc\x9c", "a file of torch.save",
              AS_TENSORS ": in Python safetensors.torch.save({\"query\": q, ..})"),
    SIGNATURE("\x80\x02", "a Python pickle, which is never read here", AS_TENSORS),
    SIGNATURE("\x80\x03", "a Python pickle, which is never read here", AS_TENSORS),
    SIGNATURE("\x80\x04\x95", "a Python pickle, which is never read here", AS_TENSORS),
    SIGNATURE("\x80\x05\x95", "a Python pickle, which is never read here", AS_TENSORS),
    SIGNATURE("\x89HDF\r\n", "an HDF5 file", AS_TENSORS),
    SIGNATURE("CDF\x01", "a NetCDF file", AS_TENSORS),
    SIGNATURE("CDF\x02", "a NetCDF file", AS_TENSORS),
    SIGNATURE("MATLAB ", "a MATLAB file (.mat)", AS_TENSORS),
    SIGNATURE("PAR1", "a Parquet file", AS_TENSORS),
    SIGNATURE("ARROW1", "an Arrow file", AS_TENSORS),
    SIGNATURE("FEA1", "a Feather file", AS_TENSORS),
    SIGNATURE("Obj\x01", "an Avro file", AS_TENSORS),
    SIGNATURE("ORC", "an ORC file", AS_TENSORS),
    SIGNATURE("GGUF", "a GGUF file", AS_TENSORS),
    SIGNATURE("ggml", "a GGML file", AS_TENSORS),
    SIGNATURE("RDX", "a file of R's save", AS_TENSORS),
    SIGNATURE("SQLite format 3", "an SQLite database", AS_TENSORS),
    SIGNATURE("\x89PNG", "a PNG image", AS_JSON ", with the numbers that it shows"),
    SIGNATURE("\xff\xd8\xff", "a JPEG image", AS_JSON ", with the numbers that it shows"),
    SIGNATURE("GIF8", "a GIF image", AS_JSON ", with the numbers that it shows"),
    SIGNATURE("RIFF", "a RIFF file, as WebP and WAV are", AS_JSON),
    SIGNATURE("II*\x00", "a TIFF image", AS_JSON ", with the numbers that it shows"),
    SIGNATURE("MM\x00*", "a TIFF image", AS_JSON ", with the numbers that it shows"),
    SIGNATURE("%PDF", "a PDF file", AS_JSON),
    SIGNATURE("\xd0\xcf\x11\xe0", "an Office file", AS_JSON),
    SIGNATURE("\x7f"
              "ELF",
              "a program (ELF)", AS_JSON),
    SIGNATURE("MZ\x90", "a program of Windows", AS_JSON),
    SIGNATURE("\xca\xfe\xba\xbe", "a compiled program", AS_JSON),
    SIGNATURE("\xac\xed\x00\x05", "an object that Java serialised", AS_JSON),
    SIGNATURE("\xd9\xd9\xf7", "CBOR", AS_JSON),
    SIGNATURE("\x16\x03", "the beginning of TLS", "send the request to https://, where the daemon has a certificate"),
};

/* Texts in other encodings; UTF-32 first, whose mark begins as that of UTF-16. */
static const struct signature encodings[] = {
    SIGNATURE("\xef\xbb\xbf", "a text with a byte order mark (EF BB BF) before it, which JSON does not have",
              "leave out the mark (PowerShell: -Encoding utf8NoBOM; Python: encoding=\"utf-8\", not \"utf-8-sig\")"),
    SIGNATURE("\xff\xfe\x00\x00", "a text in UTF-32", AS_UTF8),
    SIGNATURE("\x00\x00\xfe\xff", "a text in UTF-32", AS_UTF8),
    SIGNATURE("{\x00\x00\x00", "a text in UTF-32", AS_UTF8),
    SIGNATURE("\x00\x00\x00{", "a text in UTF-32", AS_UTF8),
    SIGNATURE("\xff\xfe", "a text in UTF-16", AS_UTF8),
    SIGNATURE("\xfe\xff", "a text in UTF-16", AS_UTF8),
    SIGNATURE("{\x00\"\x00", "a text in UTF-16", AS_UTF8),
    SIGNATURE("{\x00\r\x00", "a text in UTF-16", AS_UTF8),
    SIGNATURE("{\x00\n\x00", "a text in UTF-16", AS_UTF8),
    SIGNATURE("{\x00 \x00", "a text in UTF-16", AS_UTF8),
    SIGNATURE("\x00{\x00", "a text in UTF-16", AS_UTF8),
    SIGNATURE("\x1e{", "a JSON text sequence (RFC 7464)", "send one object, without the record separator before it"),
};

/* Texts by how they begin, whatever the case. */
static const struct signature beginnings[] = {
    SIGNATURE("<!doctype html", "HTML", AS_JSON " (a page, perhaps of an error, was saved in place of data)"),
    SIGNATURE("<html", "HTML", AS_JSON " (a page, perhaps of an error, was saved in place of data)"),
    SIGNATURE("<", "XML", AS_JSON),
    SIGNATURE("%YAML", "YAML", AS_JSON),
    SIGNATURE("---\n", "YAML", AS_JSON),
    SIGNATURE("---\r", "YAML", AS_JSON),
    SIGNATURE("--- ", "YAML", AS_JSON),
    SIGNATURE("```", "a code block of Markdown", "send only the object in it"),
    SIGNATURE("%7B", "percent-encoded JSON, as curl's --data-urlencode and URLs have it",
              "send the JSON as it is: curl --data-binary"),
    SIGNATURE("'{", "JSON between single quotes, which cmd.exe passes on",
              "there write -d \"{\\\"seed\\\": 1}\", or put the JSON in a file and send -d @file"),
    SIGNATURE("b'", "bytes as Python prints them", "send the bytes themselves, not str(..) or repr(..) of them"),
    SIGNATURE("b\"", "bytes as Python prints them", "send the bytes themselves, not str(..) or repr(..) of them"),
    SIGNATURE("[object ", "an object that JavaScript turned into text", "send JSON.stringify(request)"),
    SIGNATURE("undefined", "JavaScript's undefined", "send JSON.stringify(request), of an object that exists"),
    SIGNATURE("data:", "a data: URL", "send what it holds"),
    SIGNATURE("http://", "an address", "send what it leads to"),
    SIGNATURE("https://", "an address", "send what it leads to"),
    SIGNATURE("post /", "an HTTP request's headers", "send only the JSON after them as the body"),
    SIGNATURE("get /", "an HTTP request's headers", "send only the JSON after them as the body"),
    SIGNATURE("content-type:", "an HTTP request's headers", "send only the JSON after them as the body"),
};

static bool begins(const char *text, size_t text_bytes, const struct signature *signature, bool any_case)
{
    if (text_bytes < signature->count)
        return false;
    return any_case ? strncasecmp(text, signature->bytes, signature->count) == 0
                    : memcmp(text, signature->bytes, signature->count) == 0;
}

#define FIND(list, text, bytes, any_case) find_in(list, sizeof(list) / sizeof(list)[0], text, bytes, any_case)
static const struct signature *find_in(const struct signature *list, size_t count, const char *text, size_t text_bytes,
                                       bool any_case)
{
    for (size_t i = 0; i < count; i++)
        if (begins(text, text_bytes, &list[i], any_case))
            return &list[i];
    return NULL;
}

/* Whether bytes may be UTF-8: no control characters, and none that no character begins with. */
static bool is_text(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        bool continues = (c & 0xC0) == 0x80, follows = i > 0 && (unsigned char)text[i - 1] >= 0x80;
        if ((c < ' ' && !token_is_space(text[i])) || c == 0x7f || c > 0xf4 || (continues && !follows))
            return false;
    }
    return true;
}

/* Formats that have no signature, by how their first object begins. */
static const struct signature *find_packed(const char *body, size_t body_bytes)
{
    static const struct signature message_pack = {NULL, 0, "MessagePack", AS_JSON};
    static const struct signature cbor = {NULL, 0, "CBOR", AS_JSON};
    static const struct signature bson = {NULL, 0, "BSON", AS_JSON};
    static const struct signature grpc = {NULL, 0, "a gRPC message", AS_JSON " over HTTP: there is no gRPC here"};
    static const struct signature protobuf = {NULL, 0, "Protocol Buffers, as ONNX's files and tensors are", AS_TENSORS};
    const unsigned char *b = (const unsigned char *)body;
    if (body_bytes < 6)
        return NULL;
    uint32_t little = (uint32_t)b[0] | (uint32_t)b[1] << 8 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 24;
    uint32_t big = (uint32_t)b[1] << 24 | (uint32_t)b[2] << 16 | (uint32_t)b[3] << 8 | (uint32_t)b[4];
    bool pack_name = b[1] >= 0xa1 && b[1] <= 0xbf, cbor_name = b[1] >= 0x61 && b[1] <= 0x77;
    if ((b[0] >= 0x81 && b[0] <= 0x8f && (pack_name || b[1] == 0xd9)) || (b[0] == 0xde && b[3] >= 0xa1 && b[3] <= 0xbf))
        return &message_pack;
    if ((b[0] >= 0xa1 && b[0] <= 0xb7 && cbor_name) || (b[0] == 0xbf && cbor_name))
        return &cbor;
    if (little == body_bytes && b[body_bytes - 1] == 0)
        return &bson;
    if (b[0] <= 1 && (size_t)big + 5 == body_bytes)
        return &grpc;
    if ((b[0] == 0x08 && b[1] < 0x80) || (b[0] == 0x0a && b[1] < body_bytes && memchr(b, 0, size_min(body_bytes, 64)) != NULL))
        return &protobuf;
    return NULL;
}

static bool contains(const char *text, size_t bytes, const char *word)
{
    return memmem(text, size_min(bytes, LOOKED_AT_BYTES), word, strlen(word)) != NULL;
}

static bool is_base64(const char *text, size_t bytes)
{
    size_t looked = size_min(bytes, 64), digits = 0, capitals = 0;
    for (size_t i = 0; i < looked; i++) {
        if (!isalnum((unsigned char)text[i]) && text[i] != '+' && text[i] != '/' && text[i] != '=' && text[i] != '-' &&
            text[i] != '_')
            return false;
        digits += isdigit((unsigned char)text[i]) != 0;
        capitals += isupper((unsigned char)text[i]) != 0;
    }
    return bytes >= BASE64_BYTES_MIN && digits > 0 && capitals > 0;
}

/* A single word that is the name of a file. */
static bool is_file_name(const char *text, size_t bytes)
{
    static const char *const endings[] = {".json", ".safetensors", ".npy", ".npz",  ".pt",
                                          ".pth",  ".txt",         ".bin", ".yaml", ".onnx"};
    while (bytes > 0 && token_is_space(text[bytes - 1]))
        bytes--;
    if (bytes > FILE_NAME_BYTES_MAX || memchr(text, '{', bytes) != NULL || memchr(text, '\n', bytes) != NULL)
        return false;
    for (size_t i = 0; i < sizeof endings / sizeof endings[0]; i++) {
        size_t ending = strlen(endings[i]);
        if (bytes > ending && strncasecmp(text + bytes - ending, endings[i], ending) == 0)
            return true;
    }
    return (bytes > 1 && text[0] == '/' && isalnum((unsigned char)text[1])) ||
           (bytes > 5 && strncasecmp(text, "file:", 5) == 0);
}

/* The bytes of the word in front, of letters, digits, '_', '.' and '-'. */
static size_t name_bytes(const char *text, size_t bytes)
{
    size_t count = 0;
    while (count < bytes &&
           (isalnum((unsigned char)text[count]) || text[count] == '_' || text[count] == '.' || text[count] == '-'))
        count++;
    return isdigit((unsigned char)text[0]) ? 0 : count;
}

/* A size in hexadecimal, alone in its line, as a chunk of HTTP begins. */
static bool is_chunked(const char *text, size_t bytes)
{
    size_t digits = 0;
    while (digits < bytes && isxdigit((unsigned char)text[digits]))
        digits++;
    size_t after = digits + (digits < bytes && text[digits] == '\r');
    return digits > 0 && after + 1 < bytes && text[after] == '\n' && text[after + 1] == '{';
}

/* Texts that begin with a name, by what follows it. */
static const struct signature *find_named(const char *text, size_t bytes)
{
    static const struct signature form = {
        NULL, 0, "a form (name=value)",
        "send JSON: curl -d '{\"query\": [[1]], ..}', in Python requests.post(url, json=request)"};
    static const struct signature assignment = {NULL, 0, "an assignment (name = value)", "send one object of JSON"};
    static const struct signature yaml = {NULL, 0, "YAML, or members without the braces around them",
                                          "send one object of JSON: {\"name\": value, ..}"};
    static const struct signature call = {NULL, 0, "code, or an array as Python prints it",
                                          "send JSON: json.dumps(request), in which arrays are .tolist()"};
    static const struct signature wrapped = {NULL, 0, "an object inside a call, as JSONP has it",
                                             "send the object alone, without the name and the parentheses around it"};
    static const struct signature csv = {NULL, 0, "CSV", "send one object of JSON, its tensors as nested arrays"};
    size_t name = name_bytes(text, bytes);
    if (name == 0 || name == bytes)
        return NULL;
    size_t after = name;
    while (after < bytes && text[after] == ' ')
        after++;
    switch (after < bytes ? text[after] : '\0') {
    case '=':
    case '&':
        return after == name ? &form : &assignment;
    case '%':
    case '[':
        return contains(text, bytes, "=") ? &form : NULL;
    case ':':
        return &yaml;
    case '(':
        return after + 1 < bytes && text[after + 1] == '{' ? &wrapped : &call;
    case ',':
        return &csv;
    default:
        return NULL;
    }
}

static const struct signature *find_text(const char *text, size_t bytes)
{
    static const struct signature multipart = {
        NULL, 0, "a form with files (multipart)",
        "send the JSON alone: curl -d @file, not -F; in Python requests.post(url, data=file), not files="};
    static const struct signature twice = {
        NULL, 0, "JSON that was encoded twice: a string that holds an object",
        "send the object: requests.post(url, json=request) without json.dumps, one JSON.stringify"};
    static const struct signature at = {NULL, 0, "a file's name behind @",
                                        "curl reads the file for -d and --data-binary; elsewhere send what the file holds"};
    static const struct signature file = {
        NULL, 0, "a file's name", "send what the file holds: curl -d @name for JSON, --data-binary @name for safetensors"};
    static const struct signature chunked = {NULL, 0, "a body in chunks",
                                             "add Transfer-Encoding: chunked, or leave out the chunks' sizes"};
    static const struct signature none = {NULL, 0, "Python's None", "send json.dumps(request), of a dictionary"};
    static const struct signature base64 = {NULL, 0, "base64", "send what it encodes"};
    const struct signature *found = FIND(beginnings, text, bytes, true);
    if (bytes > 1 && text[0] == '-' && text[1] == '-' && contains(text, bytes, "Content-Disposition"))
        return &multipart;
    if (text[0] == '"' && (contains(text, size_min(bytes, 8), "{")))
        return &twice;
    if (text[0] == '@')
        return &at;
    if (found != NULL)
        return found;
    if (is_chunked(text, bytes))
        return &chunked;
    if (is_file_name(text, bytes))
        return &file;
    if (strncmp(text, "None", size_min(bytes, 4)) == 0 && bytes >= 4 && bytes <= 5)
        return &none;
    if (is_base64(text, bytes))
        return &base64;
    return find_named(text, bytes);
}

bool first_bytes_are_json(const char *body, size_t body_bytes)
{
    const char *end = body + body_bytes, *first = token_space_end(body, end);
    return first < end && *first == '{' && !(first + 1 < end && first[1] == '\0');
}

static bool refuse(const char *wanted, const struct signature *found, struct error *err)
{
    return error_set(err, ERROR_MALFORMED, "not %s: line 1, column 1: the body looks like %s; %s", wanted, found->what,
                     found->instead);
}

/* How a text begins that is no request. */
static bool check_text(const char *body, size_t body_bytes, const char *wanted, struct error *err)
{
    const char *end = body + body_bytes, *text = token_space_end(body, end);
    const struct signature *found = text < end ? find_text(text, (size_t)(end - text)) : NULL;
    return found == NULL || refuse(wanted, found, err);
}

bool first_bytes_check_json(const char *body, size_t body_bytes, struct error *err)
{
    static const struct signature binary = {NULL, 0, "binary data, not text",
                                            AS_TENSORS "; compressed JSON is read as gzip only, with Content-Encoding: gzip"};
    if (body_bytes == 0 || first_bytes_are_json(body, body_bytes))
        return true;
    const struct signature *found = FIND(encodings, body, body_bytes, false);
    if (found == NULL)
        found = FIND(signatures, body, body_bytes, false);
    if (found == NULL)
        found = find_packed(body, body_bytes);
    if (found != NULL)
        return refuse("JSON", found, err);
    if (!is_text(body, size_min(body_bytes, TEXT_LOOKED_AT_BYTES)))
        return refuse("JSON", &binary, err);
    return check_text(body, body_bytes, "JSON", err);
}

bool first_bytes_check_safetensors(const char *body, size_t body_bytes, struct error *err)
{
    if (body_bytes > 8 && body[8] == '{') /* only the length is wrong */
        return true;
    if (first_bytes_are_json(body, body_bytes))
        return error_set(err, ERROR_UNSUPPORTED_MEDIA,
                         "the body looks like JSON, and is to be read as a safetensors file: send it with Content-Type: "
                         "application/json");
    const char *brace = memchr(body, '{', size_min(body_bytes, 8));
    if (brace != NULL && brace + 1 < body + body_bytes && brace[1] == '"')
        return error_set(
            err, ERROR_MALFORMED,
            "the header's length, 8 bytes, was cut: curl's -d leaves out NUL bytes and line ends, --data-binary @file "
            "sends a file as it is");
    const struct signature *found = FIND(signatures, body, body_bytes, false);
    if (found != NULL)
        return refuse("a safetensors file", found, err);
    return !is_text(body, size_min(body_bytes, TEXT_LOOKED_AT_BYTES)) ||
           check_text(body, body_bytes, "a safetensors file", err);
}

const char *first_bytes_of_type(const char *content_type)
{
    static const struct {
        const char *type, *advice;
    } types[] = {
        {"multipart/form-data",
         "; curl's -F and requests' files= make forms: send the JSON alone, curl -d @file, or json=request"},
        {"application/x-ndjson", "; send one object a request"},
        {"application/jsonl", "; send one object a request"},
        {"application/x-npy", "; in Python safetensors.numpy.save({\"query\": q, ..}) makes a safetensors file of arrays"},
        {"application/x-npz", "; in Python safetensors.numpy.save({\"query\": q, ..}) makes a safetensors file of arrays"},
        {"application/zip", "; in Python safetensors.numpy.save({\"query\": q, ..}) makes a safetensors file of arrays"},
        {"application/gzip", "; send gzip with Content-Encoding: gzip, and the type of what is compressed"},
        {"application/x-gzip", "; send gzip with Content-Encoding: gzip, and the type of what is compressed"},
        {"application/safetensors", "; that is " SAFETENSORS_TYPE " here"},
        {"application/vnd.safetensors", "; that is " SAFETENSORS_TYPE " here"},
        {"application/grpc", "; there is no gRPC here: send JSON over HTTP"},
    };
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++)
        if (media_type_is(content_type, types[i].type))
            return types[i].advice;
    return "";
}
