/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line as a broker that lies could send it. What is taken for an answer is one to this call: it
 * prints as JSON and is read again as the same kind; of an error there is a status.
 */
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/client/answer.h"
#include "codec/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	auto_answer a = { 0 }, again = { 0 };
	auto_buffer out = { 0 };
	struct error e = { 0 };

	if (answer_read(&a, (const char *)data, size, "1", &e) < 0) {
		require(e.text[0]);
		return 0;
	}
	json_print(&out, a.doc.root, JSON_COMPACT);
	require(answer_read(&again, out.data, out.len, "1", &e) == 0);
	require(again.kind == a.kind && a.body && a.body->type == NODE_MAP);
	require(!memchr(out.data, '\n', out.len));
	if (a.kind == ANSWER_ERROR)
		require(answer_status(answer_class(&a)) > 0);
	if (a.kind == ANSWER_NOTE)
		require(a.note);
	return 0;
}
