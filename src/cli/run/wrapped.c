/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server of `corral mcp wrap` beside its filter (mcp/filter.h): when calls of its tools began,
 * and what was denied since. Denials have no call of their own, as what a server does for one call
 * and for another is one process: of calls at the same time, each gets all.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "mcp/filter.h"

/* Calls whose beginning is known; of older ones it is the oldest of these. */
enum { WRAPPED_CALLS = 256 };

static struct {
	struct {
		uint64_t call, moment;
	} begins[WRAPPED_CALLS];
	uint64_t asked; /* the call that is asked about; 0: none */
	bool is_noted[MCP_WRAP_NOTES];
} wrapped;

int run_wrapped_fd(const struct run *r)
{
	return r->wrapped ? r->wrapped->control : -1;
}

/* Each once: a server that prints what it likes would fill the screen. */
static void wrapped_note(const struct run_stdio *s, uint64_t note, bool is_server)
{
	static const char *const texts[MCP_WRAP_NOTES] = {
		[MCP_WRAP_LONG] = "a line that is longer than 16 MiB, the most that passes, was "
				  "dropped",
		[MCP_WRAP_NO_JSON] = "a line that is no JSON was dropped (a server writes what is "
				     "no message to its standard error)",
		[MCP_WRAP_ANSWERED] = "an answer that is longer than 16 MiB, the most that passes, "
				      "was dropped; the client got an error",
	};
	auto_output o = output_for(STDERR_FILENO);

	if (note >= MCP_WRAP_NOTES || wrapped.is_noted[note])
		return;
	wrapped.is_noted[note] = true;
	output_note(&o);
	buffer_printf(&o.text, "%s: %s; further ones are not mentioned\n",
		is_server ? "server" : "client", texts[note]);
	run_stdio_say(s, buffer_text(&o.text));
}

int run_wrapped_hear(struct run *r, const struct run_stdio *s)
{
	struct mcp_filter_word word;
	int ret;

	if (run_wrapped_fd(r) < 0)
		return 0;
	while ((ret = mcp_filter_hear(r->wrapped->control, &word)) == 1) {
		const size_t place = word.value % WRAPPED_CALLS;

		if (word.kind == MCP_FILTER_BEGINS) {
			wrapped.begins[place].call = word.value;
			wrapped.begins[place].moment = run_explain_now(r);
		} else if (word.kind == MCP_FILTER_DENIED) {
			wrapped.asked = word.value;
		} else if (word.kind == MCP_FILTER_NOTE) {
			wrapped_note(s, word.value, word.is_server);
		}
	}
	if (ret < 0)
		fd_close(&r->wrapped->control);
	return ret < 0 ? -EPIPE : 0;
}

bool run_wrapped_is_asked(const struct run *r)
{
	return run_wrapped_fd(r) >= 0 && wrapped.asked;
}

/* Beyond what is remembered, whatever was denied may be of that call. */
static uint64_t wrapped_moment(uint64_t call)
{
	uint64_t oldest = UINT64_MAX;

	if (wrapped.begins[call % WRAPPED_CALLS].call == call)
		return wrapped.begins[call % WRAPPED_CALLS].moment;
	for (size_t i = 0; i < WRAPPED_CALLS; i++)
		if (wrapped.begins[i].call && wrapped.begins[i].moment < oldest)
			oldest = wrapped.begins[i].moment;
	return oldest == UINT64_MAX ? 0 : oldest;
}

void run_wrapped_answer(struct run *r)
{
	auto_output o = { 0 };
	auto_buffer text = { 0 };

	if (!run_wrapped_is_asked(r))
		return;
	run_explain_tell_since(r, wrapped_moment(wrapped.asked), &o);
	wrapped.asked = 0;
	if (o.text.len) {
		buffer_adds(&text,
			"corral: the sandbox denied this during the call; what would allow it (an "
			"option of `corral mcp wrap`; ~ means inferred):\n");
		buffer_add(&text, o.text.data, o.text.len);
	}
	mcp_filter_answer(r->wrapped->control, &text);
}
