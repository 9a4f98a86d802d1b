/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What corral-fetch answers, on its stdout: one HEAD, pieces of the BODY, and END or ERROR; ERROR
 * may come at any time, and nothing comes behind it or END.
 *
 * corral-fetch reads what servers send, and may be taken over by one. So the monitor reads records
 * as it reads the front's frames: lengths are bounded before anything is kept, values are checked
 * by their rows, and what breaks a rule is -EPROTO.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "broker/value.h"

enum fetch_record_kind { RECORD_HEAD = 1, RECORD_BODY, RECORD_END, RECORD_ERROR };

enum {
	RECORD_PIECE_MAX = 64 << 10,   /* of a body */
	RECORD_VALUES_MAX = 192 << 10, /* of the others */
};

/* Places of the values of a HEAD. */
enum record_head_field {
	RECORD_STATUS,
	RECORD_STATUS_TEXT,
	RECORD_HEADERS,  /* names in small letters, each once */
	RECORD_LOCATION, /* where a redirect leads: an absolute URL, whatever its scheme */
	RECORD_LENGTH,   /* of the body, if the server said so */
};

/* Of an ERROR: why, and in words. */
enum record_cause {
	RECORD_CAUSE_NETWORK,
	RECORD_CAUSE_TIMEOUT,
	RECORD_CAUSE_SIZE,
	RECORD_CAUSE_TLS,
	RECORD_CAUSE_REQUEST, /* it was none that can be made */
	RECORD_CAUSE_INTERNAL,
};
enum record_error_field { RECORD_CAUSE, RECORD_MESSAGE };

extern const struct schema_field record_head_fields[], record_error_fields[];

/* Appends one. A BODY is bytes, the others have values (an END none). -EINVAL, -ENOMEM. */
int record_add_values(struct buffer *out, enum fetch_record_kind kind, const struct values *v);
int record_add_body(struct buffer *out, const void *data, size_t len);

/* One record that was read. Texts live until the next call. */
struct fetch_record {
	enum fetch_record_kind kind;
	struct values values;
	const char *data; /* of a BODY */
	size_t len;
};

/* Not 0: reading ends with it. */
typedef int record_visit(void *context, const struct fetch_record *r);

struct record_reader {
	struct buffer part; /* a record that is not complete */
	bool has_head, has_ended;
};

/* -EPROTO, -ENOMEM, or what the visitor returned; then it is over. */
int record_reader_feed(
	struct record_reader *r, const void *data, size_t len, record_visit *visit, void *context);
void record_reader_deinit(struct record_reader *r);
