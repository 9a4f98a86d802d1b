/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One answer of HTTP/2: values in its fields, its body and its trailers are overwritten.
 *
 * The last bytes of a body wait for what follows, as in HTTP/1.1: to the end of a body of a known
 * length, and else until nothing comes for a while. Messages of gRPC say their own lengths: within
 * one the bytes wait for its end, and behind it the while is short. No value lies in two of them,
 * since the head of the second stands between. All this depends on lengths, never on what the bytes
 * are.
 */
#include <stdint.h>

#include "inject/h2/fields.h"
#include "inject/masking.h"

enum { H2_MESSAGE_HEAD = 5 /* compressed or not, and a length */ };

struct h2_messages {
	uint8_t head[H2_MESSAGE_HEAD];
	size_t n_head;
	uint32_t left;
	bool is_broken; /* they are none */
};

/* -EOPNOTSUPP: one is compressed. */
int h2_messages_pass(struct h2_messages *m, const uint8_t *data, size_t len);
/* All that began has ended. */
bool h2_messages_rest(const struct h2_messages *m);

struct h2_answer {
	struct h2_fields fields; /* that come now: the head, then trailers */
	struct masking_stream body;
	bool has_begun; /* the last head has come */
	bool has_length, is_grpc;
	struct h2_messages messages;
	uint64_t due; /* when the last bytes go; 0: not set */
};

void h2_answer_init(struct h2_answer *a, const struct masking *m);
void h2_answer_deinit(struct h2_answer *a);
/*
 * All fields of a head are here; they are masked. 0: more heads come; 1: the body does. ended:
 * there is none. -EOPNOTSUPP: it cannot be searched. -EINVAL.
 */
int h2_answer_head(struct h2_answer *a, bool to_head, bool ended);
void h2_answer_trailers(struct h2_answer *a);
/* Data of the body; what may go is added. last: it ends here. -EOPNOTSUPP; -ENOMEM. */
int h2_answer_data(
	struct h2_answer *a, const uint8_t *data, size_t len, bool last, struct buffer *out);
/* After how long the last bytes go, if nothing follows; 0: they wait for what follows. */
unsigned h2_answer_wait(const struct h2_answer *a);
void h2_answer_flush(struct h2_answer *a, struct buffer *out);
