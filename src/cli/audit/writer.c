/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/writer.h"

#include <errno.h>

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

	if (w->format != AUDIT_WRITER_LINES) {
		audit_export_row((enum audit_format)w->format, row, &w->pending);
	} else {
		buffer_clear(&w->row.text);
		audit_line_add(&w->line, &w->row, row);
		buffer_adds(&w->pending, buffer_text(&w->row.text));
		w->pending.failed |= w->row.text.failed;
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
		/* What came before something that cannot be read is told. */
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
