/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Requests to AWS and what speaks like it are not sent with a key: they are signed with one (AWS
 * Signature Version 4, in the Authorization header). A client that has a placeholder in place of
 * the key signs with that, so the signature says which placeholder it was, and that this reader and
 * the client's library agree about what was signed. Then the request is signed again with the key.
 *
 *     head of the client     ->  sigv4_text()  ->  sigv4_sign() by each placeholder: which one?
 *     head that goes out     ->  sigv4_text()  ->  sigv4_sign() by the key  ->  sigv4_print()
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"

struct sigv4_text {
	const char *at;
	size_t len;
};

/* Authorization: AWS4-HMAC-SHA256 Credential=ID/DATE/REGION/SERVICE/aws4_request, SignedHeaders=…,
 * Signature=… */
struct sigv4 {
	struct sigv4_text id, scope, date, region, service, headers, signature;
};

enum { SIGV4_DIGITS = 64 };

/*
 * The value of an Authorization header; texts point into it. -ENOENT: of another scheme. -EINVAL:
 * not in that form. -EOPNOTSUPP: signed by an asymmetric key (AWS4-ECDSA-P256-SHA256).
 */
int sigv4_parse(struct sigv4 *ret, const char *value, size_t len);

/*
 * What is signed: a text made of a head, which has been parsed: "METHOD target HTTP/1.1", and
 * fields, each line with CR LF. body: the SHA-256 of the body in hexadecimal digits, which counts
 * where x-amz-content-sha256 does not say it; NULL: of an empty one. is_path_plain: as S3 has it;
 * other services encode the path twice.
 *
 * -EINVAL: a field that should be signed is not there, or x-amz-date is missing. -ENOMEM.
 */
struct sigv4_request {
	const char *head;
	size_t len;
	const char *body;
	bool is_path_plain;
};
int sigv4_text(const struct sigv4 *s, const struct sigv4_request *q, struct buffer *out);
/* The signature of that text, with a NUL behind it. -ENOMEM. */
int sigv4_sign(const struct sigv4 *s, const struct buffer *text, const char *key, size_t key_len,
	char ret[SIGV4_DIGITS + 1]);
/* What x-amz-content-sha256 says about the body. */
enum sigv4_body { SIGV4_UNSAID, SIGV4_SAID, SIGV4_IN_CHUNKS /* each is signed, too */ };
enum sigv4_body sigv4_body(const char *head, size_t len);
/* Whether its URL has parameters of a signature. */
bool sigv4_is_in_url(const char *head, size_t len);
/* How many fields of the head have this name; *ret: the value of the last. */
size_t sigv4_field(const char *head, size_t len, struct sigv4_text name, struct sigv4_text *ret);
/* The value of an Authorization header: s with another id and signature. */
void sigv4_print(
	const struct sigv4 *s, struct sigv4_text id, const char *signature, struct buffer *out);
