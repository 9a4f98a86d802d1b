/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/streams.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "wire/skill-call.h"

void streams_deinit(struct streams *s)
{
	buffer_deinit(&s->answer);
	buffer_deinit(&s->printed);
}

/* As much as there is room for; what is more is dropped, and a flag says so. */
static void streams_keep(struct streams *s, struct buffer *to, size_t max, unsigned flag,
	const void *bytes, size_t len)
{
	const size_t room = max - to->len;

	buffer_add(to, bytes, len < room ? len : room);
	if (len > room)
		s->flags |= flag;
}

void streams_print(struct streams *s, const void *bytes, size_t len)
{
	if (s->is_kept)
		streams_keep(s, &s->printed, SKILL_CALL_PRINTED_MAX, SKILL_ANSWER_PRINTED_CUT,
			bytes, len);
	else
		(void)file_write_all(STDERR_FILENO, bytes, len);
}

static ptrdiff_t streams_on_print(void *data, const unsigned char *bytes, size_t len)
{
	streams_print(data, bytes, len);
	return (ptrdiff_t)len;
}

static ptrdiff_t streams_on_answer(void *data, const unsigned char *bytes, size_t len)
{
	struct streams *s = data;

	streams_keep(s, &s->answer, SKILL_CALL_ANSWER_MAX, SKILL_ANSWER_CUT, bytes, len);
	return s->answer.failed ? -ENOMEM : (ptrdiff_t)len;
}

void streams_configure(struct streams *s, wasi_config_t *c, bool is_command)
{
	wasm_byte_vec_t input;

	if (s->is_kept)
		wasi_config_set_stderr_custom(c, streams_on_print, s, NULL);
	else
		wasi_config_inherit_stderr(c);
	if (!is_command) {
		wasi_config_set_stdout_custom(c, streams_on_print, s, NULL);
	} else if (s->is_kept) {
		wasm_byte_vec_new(&input, s->input_len, s->input);
		wasi_config_set_stdin_bytes(c, &input);
		wasi_config_set_stdout_custom(c, streams_on_answer, s, NULL);
	} else {
		wasi_config_inherit_stdin(c);
		wasi_config_inherit_stdout(c);
	}
}
