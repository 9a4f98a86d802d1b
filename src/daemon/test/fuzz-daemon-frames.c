/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies of the frames between the parts; the first byte says of which. What is read is written
 * again as it was. */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "daemon/message.h"
#include "daemon/route.h"
#include "wire/join.h"
#include "wire/question.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct buffer *b, const uint8_t *data, size_t size)
{
	if (b->len != size || (size > 0 && memcmp(b->data, data, size) != 0))
		abort();
}

static void fuzz_questions(uint8_t kind, const uint8_t *data, size_t size)
{
	static struct live_grant grants[QUESTION_GRANTS_MAX];
	static struct join_details details;
	struct question question;
	struct answer given;
	struct live_grant grant;
	struct join_reply reply;
	enum question_end end;
	auto_buffer out = { 0 };
	int taken = -1, n;

	if (kind == 0 && question_decode(&question, data, size) == 0)
		taken = question_encode(&question, &out);
	if (kind == 1 && answer_decode(&given, data, size) == 0)
		taken = answer_encode(&given, &out);
	if (kind == 2 && live_grant_decode(&grant, data, size) == 0)
		taken = live_grant_encode(&grant, &out);
	if (kind == 3 && join_reply_decode(&reply, data, size) == 0)
		taken = join_reply_encode(&reply, &out);
	if (kind == 4 && join_details_decode(&details, data, size) == 0)
		taken = join_details_encode(&details, &out);
	if (kind == 5) {
		n = live_grants_decode(grants, data, size);
		taken = n < 0 ? n : live_grants_encode(grants, (size_t)n, &out);
	}
	if (kind == 6 && question_over_decode(&end, data, size) == 0 && end >= QUESTION_END_COUNT)
		abort();
	if (taken == 0)
		same(&out, data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct route_call call;
	struct message_setup setup;
	struct message_answer answer;
	struct message_event event;
	struct message_note note;
	struct message_tab tab;
	struct join join;
	auto_buffer out = { 0 };
	const uint8_t kind = size > 0 ? data[0] % 14 : 0;
	bool taken = false;

	if (size == 0)
		return 0;
	data++;
	size--;
	if (kind == 0 && route_call_decode(&call, data, size) == 0)
		taken = route_call_encode(&call, &out) == 0;
	if (kind == 1 && message_setup_decode(&setup, data, size) == 0)
		taken = message_setup_encode(&setup, &out) == 0;
	if (kind == 2 && message_answer_decode(&answer, data, size) == 0)
		taken = message_answer_encode(&answer, &out) == 0;
	if (kind == 3 && message_event_decode(&event, data, size) == 0)
		taken = message_event_encode(&event, &out) == 0;
	if (kind == 4 && message_note_decode(&note, data, size) == 0)
		taken = message_note_encode(&note, &out) == 0;
	if (kind == 5 && join_decode(&join, data, size) == 0)
		taken = join_encode(&join, &out) == 0;
	if (kind > 5 && kind < 13)
		fuzz_questions(kind - 6, data, size);
	if (kind == 13 && message_tab_decode(&tab, data, size) == 0)
		taken = message_tab_encode(&tab, &out) == 0;
	if (taken)
		same(&out, data, size);
	return 0;
}
