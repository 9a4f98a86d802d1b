/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What sandboxes ask, and what they were granted. */
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "wire/frame.h"

struct json_writer;
struct sandbox;
struct supervisor;

/* Frames of a sandbox; -EPROTO. */
int questions_on_frame(struct sandbox *b, const struct frame *f);
void questions_free(struct sandbox *b);
void questions_print(const struct supervisor *s, struct buffer *out);
void questions_print_all_grants(const struct supervisor *s, struct buffer *out);
void questions_print_grants(const struct sandbox *b, struct json_writer *w);
size_t questions_count(const struct sandbox *b);
/* What is known of an id, "SANDBOX.N". */
enum questions_state { QUESTIONS_UNKNOWN, QUESTIONS_OPEN, QUESTIONS_ANSWERED, QUESTIONS_EXPIRED };
enum questions_state questions_find(
	struct supervisor *s, const char *id, struct sandbox **ret, uint64_t *ret_number);
/* What was granted and ends soon, unless the same lasts longer by another grant. */
struct questions_ending {
	const struct sandbox *sandbox;
	uint64_t number, until_ms; /* of the grant */
	const char *action, *pattern;
};
typedef void questions_taker(struct supervisor *s, const struct questions_ending *e);
void questions_each_ending(struct supervisor *s, questions_taker *take);
struct sandbox *questions_find_grant(struct supervisor *s, const char *id, uint64_t *ret_number);
