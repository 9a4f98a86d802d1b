/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/run/result.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/explain/explain.h"
#include "cli/tree.h"
#include "codec/json.h"
#include "policy/format/unit.h"

int run_result_status(const struct report *report)
{
	if (report->flags & REPORT_TIMED_OUT)
		return RUN_TIMED_OUT;
	return report->signal ? RUN_SIGNALLED + report->signal : report->exit_code;
}

/* For people */

static void run_result_tell_limits(struct output *o, const struct run *r, const struct run_stdio *s,
	const struct report *report)
{
	if (report->flags & REPORT_TIMED_OUT) {
		output_note(o);
		buffer_adds(&o->text, "the command was ended, its time was over: ");
		unit_print_duration(r->limits.values[LIMIT_TIMEOUT_MS], &o->text);
		buffer_addc(&o->text, '\n');
	}
	if (report->flags & REPORT_OUT_OF_MEMORY) {
		output_note(o);
		buffer_adds(&o->text, "the command was ended, it used more memory than ");
		unit_print_size(r->limits.values[LIMIT_MEMORY], &o->text);
		buffer_addc(&o->text, '\n');
	}
	if (report->flags & REPORT_TOO_MANY_PIDS) {
		output_note(o);
		buffer_printf(&o->text, "the command %s more processes and threads than %llu\n",
			report->signal ? "was ended, it had" : "was kept from having",
			(unsigned long long)r->limits.values[LIMIT_PIDS]);
	}
	if (s->budget.dropped) {
		output_note(o);
		buffer_printf(&o->text, "%llu bytes of output were dropped: no more than ",
			(unsigned long long)s->budget.dropped);
		unit_print_size(r->limits.values[LIMIT_OUTPUT], &o->text);
		buffer_adds(&o->text, " may be printed\n");
	}
}

static void tell_deferred(struct output *o, const struct run *r)
{
	struct deferred_news news[DEFERRED_MAX];
	size_t n = deferred_check(&r->profile.deferred, news);

	for (size_t i = 0; i < n; i++) {
		output_note(o);
		buffer_printf(&o->text, "the command %s ", news[i].is_new ? "created" : "changed");
		output_foreign(o, news[i].path);
		buffer_printf(&o->text, " (%s): look at it first\n", news[i].who);
	}
}

/* An option joins the profile; policies have to be changed. */
static void run_result_tell_network(struct output *o, const struct run *r)
{
	const struct permissions *profile = r->profile.permissions;

	run_network_tell(&r->network, profile ? profile->origin : NULL, o);
}

/* With --explain what was denied is in one table; hosts that could not be reached are not. */
static void run_result_tell_denied(struct output *o, const struct run *r, int status)
{
	struct run_network failed = { 0 };

	if (!r->options.explain) {
		run_result_tell_network(o, r);
		return;
	}
	for (size_t i = 0; i < r->network.n; i++) {
		if (r->network.items[i].kind == RECORD_FAILED)
			(void)run_network_add(&failed, r->call->arena, &r->network.items[i]);
	}
	run_network_tell(&failed, NULL, o);
	run_explain_tell(r, status, o);
}

/*
 * What the command printed last may hide what is printed now: colours that cannot be seen, another
 * screen, a title that was begun and not ended. Ended are: any sequence (CAN, ST), modes (a soft
 * reset), colours, the other set of characters, the other screen.
 */
static void run_result_show(struct output *o)
{
	static const char calm[] = "\x18\x1b\\\x1b[!p\x1b[0m\x0f\x1b[?47l";
	const char *name = getenv("TERM");
	bool is_plain = !name || !*name || strcmp(name, "dumb") == 0;

	if (!o->text.len)
		return;
	if (!is_plain && isatty(STDERR_FILENO))
		(void)!write(STDERR_FILENO, calm, sizeof(calm) - 1);
	(void)output_write(o, STDERR_FILENO, NULL);
}

void run_result_tell(const struct run *r, const struct run_stdio *s, const struct report *report)
{
	auto_output o = output_for(STDERR_FILENO);

	run_result_tell_limits(&o, r, s, report);
	run_result_tell_denied(&o, r, run_result_status(report));
	tell_deferred(&o, r);
	run_result_show(&o);
}

void run_result_tell_rest(const struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);

	run_result_tell_denied(&o, r, RUN_FAILED);
	tell_deferred(&o, r);
	run_result_show(&o);
}

/* For programs */

/*
 * Written by hand: output may be larger than a node's text, and hold what no tree of nodes may
 * (NUL bytes, bytes that are no UTF-8; these become U+FFFD, and the flag `lossy` says so).
 */
static void put_output(struct buffer *out, const char *key, const struct buffer *text)
{
	buffer_printf(out, "  \"%s\": ", key);
	json_print_string(out, buffer_text(text), text->len);
	buffer_adds(out, ",\n");
}

static void put_flag(struct buffer *out, const char *key, bool value)
{
	buffer_printf(out, "  \"%s\": %s,\n", key, value ? "true" : "false");
}

static void run_result_put_number(struct buffer *out, const char *key, uint64_t value)
{
	buffer_printf(out, "  \"%s\": %llu,\n", key, (unsigned long long)value);
}

static void run_result_put_end(struct buffer *out, const struct report *report, int status)
{
	run_result_put_number(out, "status", (uint64_t)status);
	if (report->signal)
		buffer_printf(out, "  \"exit_code\": null,\n  \"signal\": %d,\n", report->signal);
	else
		buffer_printf(
			out, "  \"exit_code\": %d,\n  \"signal\": null,\n", report->exit_code);
	put_flag(out, "timed_out", report->flags & REPORT_TIMED_OUT);
	put_flag(out, "out_of_memory", report->flags & REPORT_OUT_OF_MEMORY);
	put_flag(out, "too_many_pids", report->flags & REPORT_TOO_MANY_PIDS);
	run_result_put_number(out, "duration_ms", report->wall_us / 1000);
	run_result_put_number(out, "user_ms", report->user_us / 1000);
	run_result_put_number(out, "system_ms", report->system_us / 1000);
	run_result_put_number(out, "peak_memory", report->peak_bytes);
}

static const char *held_by(uint32_t by)
{
	static const char *const names[] = {
		[REPORT_BY_NOTHING] = "null",
		[REPORT_BY_CGROUP] = "\"cgroup\"",
		[REPORT_BY_RLIMIT] = "\"rlimit\"",
		[REPORT_BY_POLLING] = "\"polling\"",
	};

	return by < ROWS(names) ? names[by] : "null";
}

static void put_deferred(struct buffer *out, const struct run *r)
{
	struct deferred_news news[DEFERRED_MAX];
	size_t n = deferred_check(&r->profile.deferred, news);

	buffer_adds(out, "  \"runs_later\": [");
	for (size_t i = 0; i < n; i++) {
		buffer_adds(out, i ? ", " : "");
		json_print_string(out, news[i].path, strlen(news[i].path));
	}
	buffer_adds(out, "],\n");
}

int run_result_print(
	const struct run *r, const struct run_stdio *s, const struct report *report, int status)
{
	auto_output o = { 0 };
	struct buffer *out = &o.text;
	bool lossy = !utf8_valid(buffer_text(&s->kept[0]), s->kept[0].len, NULL) ||
		     !utf8_valid(buffer_text(&s->kept[1]), s->kept[1].len, NULL);

	buffer_adds(out, "{\n");
	run_result_put_end(out, report, status);
	buffer_printf(out, "  \"memory_by\": %s,\n  \"pids_by\": %s,\n", held_by(report->memory_by),
		held_by(report->pids_by));
	put_deferred(out, r);
	buffer_adds(out, "  \"network\": ");
	run_network_print(&r->network, out);
	buffer_adds(out, ",\n");
	if (r->options.explain) {
		buffer_adds(out, "  \"denied\": ");
		run_explain_print(r, out);
		buffer_adds(out, ",\n");
	}
	put_output(out, "stdout", &s->kept[0]);
	put_output(out, "stderr", &s->kept[1]);
	put_flag(out, "lossy", lossy);
	buffer_printf(out, "  \"truncated\": %s\n}\n", s->budget.dropped ? "true" : "false");
	out->failed = out->failed || s->kept[0].failed || s->kept[1].failed;
	return output_write(&o, STDOUT_FILENO, r->call->error);
}
