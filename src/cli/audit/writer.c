/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything in a record may have been chosen by a command that wants to look like something else:
 * all texts are made visible first, and cut afterwards, so that no escape sequence and no end of a
 * line gets out.
 */
#include "cli/audit/writer.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "audit/field.h"
#include "base/array.h"
#include "base/utf8.h"
#include "cli/audit/figures.h"
#include "cli/audit/offer.h"
#include "cli/run/terminal.h"

enum {
	CLOCK_COLUMN = 9, /* where the decision begins, without a date */
	DATED_COLUMN = 20,
	DECISION_WIDTH = 8,
	ACTION_WIDTH = 14,
	COLUMNS_MIN = 60,
	COLUMNS_WIDE = 100, /* from here there is room for the sandbox */
	TARGET_MIN = 12,
	PROGRAM_MAX = 15,
	SANDBOX_MAX = 20,
	SESSION_MAX = 8,
	NUMBER_ROOM = 5,
	REASON_LINES = 3,
	FIELD_NAME_COLUMN = 2,
	FIELD_VALUE_COLUMN = 12,
};

struct audit_line audit_line_for(int fd)
{
	struct audit_line l = { 0 };
	unsigned short rows, columns;

	if (!isatty(fd))
		return l;
	terminal_size(fd, &rows, &columns);
	l.columns = columns < COLUMNS_MIN ? COLUMNS_MIN : columns;
	return l;
}

/* "denied" in its colour. */
static void audit_line_decision(struct output *o, enum audit_decision d)
{
	static const enum output_style styles[] = {
		[AUDIT_NONE] = OUTPUT_DIM,
		[AUDIT_ALLOWED] = OUTPUT_GREEN,
		[AUDIT_DENIED] = OUTPUT_RED,
		[AUDIT_ASKED] = OUTPUT_YELLOW,
		[AUDIT_FAILED] = OUTPUT_YELLOW,
	};

	output_styled(o, styles[d], d == AUDIT_NONE ? "-" : audit_decision_name(d));
}

/*
 * The room that the character at text takes on a terminal, at most; *len: its bytes. Who believes
 * that a wide one is narrow prints lines that are too long, and the terminal puts the rest where
 * our lines begin.
 */
static size_t audit_line_cells(const char *text, size_t *len)
{
	uint32_t c = 0;
	size_t n = utf8_decode(text, strnlen(text, 4), &c);

	*len = n ? n : 1;
	return c < 0x1100 || (c >= 0x2000 && c < 0x2300) ? 1 : 2;
}

static size_t audit_line_width_of(const char *text)
{
	size_t n = 0, len;

	for (; *text; text += len)
		n += audit_line_cells(text, &len);
	return n;
}

/* After as many characters as fit into n cells. */
static const char *audit_line_within(const char *text, size_t n)
{
	for (size_t len, cells; *text && (cells = audit_line_cells(text, &len)) <= n; text += len)
		n -= cells;
	return text;
}

/* Cut in the middle: a path is known by its end, a command by its beginning. */
static void audit_line_shorten(struct buffer *out, const char *visible, size_t room)
{
	const size_t width = audit_line_width_of(visible), front = room / 2,
		     back = room - front - 1;

	if (width <= room) {
		buffer_adds(out, visible);
		return;
	}
	buffer_add(out, visible, (size_t)(audit_line_within(visible, front) - visible));
	buffer_adds(out, "…");
	for (size_t n = width - back, len; *visible && n; visible += len) {
		const size_t cells = audit_line_cells(visible, &len);

		n -= cells < n ? cells : n;
	}
	buffer_adds(out, visible);
}

/* From this column on, in lines of so many; a word that is longer than a line is broken. */
static void audit_line_wrap(struct buffer *out, const char *text, size_t column, size_t width)
{
	size_t at = column;

	while (*text) {
		const size_t blanks = strspn(text, " ");
		const char *end = text + blanks + strcspn(text + blanks, " ");
		size_t needed = blanks, len;

		for (const char *c = text + blanks; c < end; c += len)
			needed += audit_line_cells(c, &len);
		if (at > column && at + needed > width)
			at = width;
		else
			at += blanks;
		buffer_add(out, text, at < width ? blanks : 0);
		for (text += blanks; text < end; text += len) {
			const size_t cells = audit_line_cells(text, &len);

			if (at + cells > width) {
				buffer_printf(out, "\n%*s", (int)column, "");
				at = column;
			}
			buffer_add(out, text, len);
			at += cells;
		}
	}
}

/* A word of the last column; `max` characters on a terminal. */
static void audit_line_add_word(
	struct buffer *out, const struct audit_line *l, const char *text, size_t max)
{
	auto_buffer visible = { 0 };

	if (!*text)
		return;
	buffer_add_visible(&visible, text, strlen(text));
	if (out->len)
		buffer_addc(out, ' ');
	if (!l->columns || audit_line_width_of(buffer_text(&visible)) <= max) {
		buffer_adds(out, buffer_text(&visible));
		return;
	}
	buffer_add(out, visible.data,
		(size_t)(audit_line_within(visible.data, max - 1) - visible.data));
	buffer_adds(out, "…");
}

/* What stands behind the target. */
static void audit_line_add_details(struct buffer *out, const struct audit_event *v)
{
	/* There the count is not how often it happened, but how much was too much. */
	const bool is_amount = v->action == AUDIT_LIMIT || v->action == AUDIT_STORE;
	const size_t before = out->len;

	if (v->count > 1)
		buffer_printf(out, ", %" PRIu64 "%s", v->count, is_amount ? "" : " times");
	if (v->action == AUDIT_COMMAND_END && v->status < 0)
		buffer_printf(out, ", signal %" PRIu64, -(uint64_t)v->status);
	else if (v->action == AUDIT_COMMAND_END)
		buffer_printf(out, ", exit %" PRId64, v->status);
	if (v->action == AUDIT_COMMAND_END && v->cost_ns) {
		buffer_adds(out, ", ");
		audit_amount_span(out, v->cost_ns);
	}
	if (v->sent || v->received) {
		buffer_adds(out, ", ");
		audit_amount_bytes(out, v->sent);
		buffer_adds(out, " out, ");
		audit_amount_bytes(out, v->received);
		buffer_adds(out, " in");
	}
	if (!v->exact && v->decision != AUDIT_NONE)
		buffer_adds(out, ", advisory");
	if (out->len > before)
		out->data[before] = ' ';
}

/* The clock, with the day before it or above it. Returns where the decision begins. */
static size_t audit_line_add_time(struct audit_line *l, struct output *o, uint64_t time_ns)
{
	char time[AUDIT_TIME_BYTES];

	(void)audit_time_print(time_ns, time);
	if (!l->columns) {
		buffer_printf(&o->text, "%s ", time);
		return DATED_COLUMN;
	}
	time[AUDIT_TIME_DAY] = '\0';
	if (strcmp(time, l->day) != 0) {
		(void)snprintf(l->day, sizeof(l->day), "%s", time);
		output_styled(o, OUTPUT_BOLD, time);
		buffer_addc(&o->text, '\n');
	}
	output_styled(o, OUTPUT_DIM, time + AUDIT_TIME_CLOCK);
	buffer_addc(&o->text, ' ');
	return CLOCK_COLUMN;
}

/* Who it was, up to the right edge; the number of the record, if there is no room for more. */
static void audit_line_add_right(
	const struct audit_line *l, struct buffer *out, size_t taken, const struct audit_row *row)
{
	const struct audit_event *v = &row->event;
	const char *slash = strrchr(v->program, '/');

	audit_line_add_word(out, l, slash && slash[1] ? slash + 1 : v->program, PROGRAM_MAX);
	audit_line_add_word(out, l, v->session, SESSION_MAX);
	if ((!l->columns || l->columns >= COLUMNS_WIDE) && strcmp(v->sandbox, v->session) != 0)
		audit_line_add_word(out, l, v->sandbox, SANDBOX_MAX);
	if (l->columns &&
		taken + 2 + audit_line_width_of(buffer_text(out)) + NUMBER_ROOM > l->columns)
		buffer_clear(out);
	buffer_printf(out, "%s#%" PRIu64, out->len ? " " : "", row->number);
}

/* Target, details, and who did it. */
static void audit_line_add_rest(
	const struct audit_line *l, struct output *o, size_t column, const struct audit_row *row)
{
	auto_buffer target = { 0 }, visible = { 0 }, all = { 0 }, details = { 0 }, right = { 0 };
	const struct audit_event *v = &row->event;
	size_t room = SIZE_MAX, taken;

	buffer_add_visible(&visible, v->target, strlen(v->target));
	audit_line_add_details(&all, v);
	audit_line_shorten(&details, buffer_text(&all),
		l->columns ? l->columns - column - TARGET_MIN - 2 - NUMBER_ROOM : SIZE_MAX);
	taken = column + audit_line_width_of(buffer_text(&details));
	audit_line_add_right(l, &right, taken + TARGET_MIN, row);
	taken += 2 + audit_line_width_of(buffer_text(&right));
	if (l->columns)
		room = taken + TARGET_MIN < l->columns ? l->columns - taken : TARGET_MIN;
	audit_line_shorten(&target, buffer_text(&visible), room);
	buffer_adds(&o->text, buffer_text(&target));
	output_styled(o, OUTPUT_DIM, buffer_text(&details));
	for (size_t n = audit_line_width_of(buffer_text(&target)); l->columns && n < room; n++)
		buffer_addc(&o->text, ' ');
	buffer_adds(&o->text, "  ");
	output_styled(o, OUTPUT_DIM, buffer_text(&right));
	buffer_addc(&o->text, '\n');
	o->text.failed |=
		target.failed | visible.failed | all.failed | details.failed | right.failed;
}

/* The rule says what decided, the reason says it to a person. */
static void audit_line_add_why(
	const struct audit_line *l, struct output *o, size_t column, const struct audit_event *v)
{
	auto_buffer visible = { 0 }, text = { 0 };
	const bool is_told = v->decision == AUDIT_NONE, has_rule = *v->rule && !is_told;
	const size_t width = l->columns ? l->columns : OUTPUT_WIDE;

	/* What was allowed needs no reason, but where it is the whole point; of what is reported
	 * only, some have one that is worth a line here. */
	if ((v->decision == AUDIT_ALLOWED && !l->reasons) ||
		(is_told && v->action != AUDIT_CONFINEMENT && v->action != AUDIT_POLICY &&
			v->action != AUDIT_APPROVAL && v->action != AUDIT_STORE) ||
		(!has_rule && !*v->reason))
		return;
	if (has_rule)
		buffer_add_visible(&visible, v->rule, strlen(v->rule));
	buffer_adds(&visible, has_rule && *v->reason ? ": " : "");
	buffer_add_visible(&visible, v->reason, strlen(v->reason));
	audit_line_shorten(&text, buffer_text(&visible),
		l->columns ? REASON_LINES * (width - column) : SIZE_MAX);
	buffer_printf(&o->text, "%*s", (int)column, "");
	if (l->columns)
		audit_line_wrap(&o->text, buffer_text(&text), column, width);
	else
		buffer_adds(&o->text, buffer_text(&text));
	buffer_addc(&o->text, '\n');
	o->text.failed |= visible.failed | text.failed;
}

/* The option that allows it from the next start on, where nothing but a grant was missing. */
static void audit_line_add_allow(struct output *o, size_t column, const struct audit_event *v)
{
	auto_buffer value = { 0 };
	const char *option = audit_offer(v, &value);

	if (!option)
		return;
	buffer_printf(&o->text, "%*sto allow it: corral run %s ", (int)column, "", option);
	output_shell_word(&o->text, buffer_text(&value));
	buffer_addc(&o->text, '\n');
}

void audit_line_field(struct output *o, const char *name)
{
	buffer_printf(&o->text, "%*s", FIELD_NAME_COLUMN, "");
	output_styled(o, OUTPUT_DIM, name);
	output_pad(o, FIELD_VALUE_COLUMN);
}

/* Whether a field says something that a person would miss. */
static bool audit_line_has(enum audit_field_id id, const struct audit_row *row, const char *text)
{
	switch (id) {
	case AUDIT_FIELD_COUNT:
		return row->event.count > 1;
	case AUDIT_FIELD_STATUS:
		return row->event.action == AUDIT_COMMAND_END;
	case AUDIT_FIELD_DECISION:
		return row->event.decision != AUDIT_NONE;
	default:
		return *text && (audit_fields[id].is.type != SCHEMA_NUMBER ||
					audit_field_number(&audit_fields[id], row));
	}
}

void audit_line_add_record(struct output *o, const struct audit_row *row)
{
	static const enum audit_field_id order[] = { AUDIT_FIELD_NUMBER, AUDIT_FIELD_TIME,
		AUDIT_FIELD_ACTION, AUDIT_FIELD_TARGET, AUDIT_FIELD_DECISION, AUDIT_FIELD_RULE,
		AUDIT_FIELD_REASON, AUDIT_FIELD_PROGRAM, AUDIT_FIELD_PID, AUDIT_FIELD_USER,
		AUDIT_FIELD_SANDBOX, AUDIT_FIELD_SESSION, AUDIT_FIELD_SEQUENCE, AUDIT_FIELD_STATUS,
		AUDIT_FIELD_COST_NS, AUDIT_FIELD_SENT, AUDIT_FIELD_RECEIVED, AUDIT_FIELD_COUNT };

	for (size_t i = 0; i < ROWS(order); i++) {
		const struct audit_field *f = &audit_fields[order[i]];
		char room[AUDIT_FIELD_BYTES];
		const char *text = audit_field_print(f, row, room);

		if (!audit_line_has(order[i], row, text))
			continue;
		audit_line_field(o, f->title ? f->title : f->is.name);
		if (order[i] == AUDIT_FIELD_COST_NS) {
			audit_amount_span(&o->text, row->event.cost_ns);
		} else if (order[i] == AUDIT_FIELD_DECISION) {
			audit_line_decision(o, row->event.decision);
			buffer_adds(&o->text, row->event.exact ? "" : " (advisory)");
		} else {
			output_foreign(o, text);
		}
		buffer_addc(&o->text, '\n');
	}
}

enum { PIECE_BYTES = 64 << 10 };

/* Positive outcome of a visit: write what is there, then go on. */
enum { FULL = 2 };

void audit_writer_init(struct audit_writer *w, int fd, int format)
{
	*w = (struct audit_writer){ .fd = fd, .format = format };
	if (format == AUDIT_WRITER_LINES) {
		w->line = audit_line_for(fd);
		w->row = output_for(fd);
	} else {
		buffer_adds(&w->pending, audit_export_head((enum audit_format)format));
	}
}

void audit_writer_deinit(struct audit_writer *w)
{
	output_deinit(&w->row);
	buffer_deinit(&w->pending);
}

static int audit_writer_add(void *context, const struct audit_row *row)
{
	struct audit_writer *w = context;
	const struct audit_event *v = &row->event;
	struct output *o = &w->row;

	if (w->format != AUDIT_WRITER_LINES) {
		audit_export_row((enum audit_format)w->format, row, &w->pending);
	} else {
		size_t column;

		buffer_clear(&o->text);
		column = audit_line_add_time(&w->line, o, v->time_ns);
		audit_line_decision(o, v->decision);
		output_pad(o, column + DECISION_WIDTH);
		buffer_adds(&o->text, audit_action_name(v->action));
		output_pad(o, column + DECISION_WIDTH + ACTION_WIDTH);
		audit_line_add_rest(&w->line, o, column + DECISION_WIDTH + ACTION_WIDTH, row);
		audit_line_add_why(&w->line, o, column, v);
		audit_line_add_allow(o, column, v);
		buffer_adds(&w->pending, buffer_text(&o->text));
		w->pending.failed |= o->text.failed;
	}
	w->last = row->number;
	w->n++;
	return w->pending.failed ? -ENOMEM : w->pending.len >= PIECE_BYTES ? FULL : 0;
}

static int audit_writer_flush(struct audit_writer *w, struct error *e)
{
	const struct output piece = { .text = w->pending };
	int r = output_write(&piece, w->fd, e);

	buffer_clear(&w->pending);
	return r;
}

int audit_writer_copy(struct audit_writer *w, struct audit_log *l, const struct audit_filter *f,
	uint64_t from, uint64_t to, struct error *e)
{
	struct audit_filter rest = *f;
	int r = 0, ret;

	do {
		const uint64_t before = w->n;

		r = audit_filter_read(l, &rest, from, to, audit_writer_add, w, e);
		/* What came before something that cannot be read is reported. */
		ret = audit_writer_flush(w, e);
		if (ret < 0 || r != FULL)
			break;
		if (f->newest)
			to = w->last - 1;
		else
			from = w->last + 1;
		if (rest.limit)
			rest.limit -= w->n - before;
	} while ((rest.limit || !f->limit) && from <= to && to);
	if (r == FULL)
		r = 0;
	return ret < 0 ? ret : r;
}

int audit_writer_copy_all(
	struct audit_writer *w, struct audit_log *l, const struct audit_filter *f, struct error *e)
{
	uint64_t first, last;
	int r = audit_log_range(l, &first, &last, e);

	/* The head of a table is there also if the table is empty. */
	if (r == 0 && !last)
		return audit_writer_flush(w, e);
	/* From 0, not from the first: a record with a number below 0 must not hide the others. */
	return r < 0 ? r : audit_writer_copy(w, l, f, 0, last, e);
}
