/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/input.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/file.h"
#include "codec/json-writer.h"
#include "wasm/guest.h"

static const struct node_bounds bounds = { GUEST_TEXT_MAX, GUEST_TEXT_MAX };

int input_check(const char *text, size_t len, const char *what, struct error *e)
{
	struct error why = { 0 };
	auto_document d = { 0 };
	int r = json_read_within(&d, NULL, text, len, &bounds, &why);

	return r < 0 ? error_set(e, r, NULL, "%s is not JSON: %u:%u: %s", what, why.line,
			       why.column, why.text)
		     : 0;
}

/* NAME=TEXT or NAME:=JSON, as a member of the map; what is no JSON is found when all is read. */
static int input_add_word(struct json_writer *w, const char *word, struct error *e)
{
	const char *equals = strchr(word, '=');
	const bool is_json = equals && equals > word && equals[-1] == ':';
	const size_t len = equals ? (size_t)(equals - word) - is_json : 0;
	auto_buffer name = { 0 };

	if (len == 0) {
		(void)error_set(e, -EINVAL, NULL,
			"the argument `%.100s` is neither JSON in braces nor NAME=VALUE", word);
		error_hint(e, "such as: corral run --skill DIR -- name=text size:=3");
		return -EINVAL;
	}
	buffer_add(&name, word, len);
	if (name.failed)
		return error_no_memory(e);
	if (is_json)
		json_put_raw(w, name.data, equals + 1);
	else
		json_put_text(w, name.data, equals + 1);
	return 0;
}

static int input_of_words(const char *const *words, size_t n, struct buffer *out, struct error *e)
{
	struct json_writer w = { .out = out, .style = JSON_SPACED };
	int r = 0;

	if (n == 1 && words[0][0] == '{') {
		buffer_adds(out, words[0]);
		return input_check(words[0], strlen(words[0]), "the argument", e);
	}
	json_open_map(&w, NULL);
	json_open_map(&w, "params");
	for (size_t i = 0; r == 0 && i < n; i++)
		r = input_add_word(&w, words[i], e);
	json_close(&w);
	json_close(&w);
	return r < 0 ? r : input_check(buffer_text(out), out->len, "what the arguments say", e);
}

int input_read(const struct worker_options *o, struct buffer *out, struct error *e)
{
	int r = 0;

	if (o->n_args > 1 && o->has_input)
		return error_set(e, -EINVAL, NULL,
			"the skill has two inputs: arguments, and that of --input");
	if (o->n_args > 1)
		return input_of_words(o->args + 1, o->n_args - 1, out, e);
	if (!isatty(STDIN_FILENO))
		r = file_read_fd(STDIN_FILENO, GUEST_TEXT_MAX, out);
	if (r < 0)
		return error_set(e, r, NULL, "the input cannot be read: %s",
			r == -EFBIG ? "it is longer than 16 MiB" : strerror(-r));
	if (out->len == 0)
		buffer_adds(out, "{}");
	return out->failed ? error_no_memory(e)
			   : input_check(buffer_text(out), out->len, "the input", e);
}
