/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/finding.h"

#include <inttypes.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/audit/amount.h"
#include "cli/audit/record.h"
#include "cli/output.h"
#include "cli/tree.h"

enum { NAME_COLUMN = 2, VALUE_COLUMN = 12 };

/*
 * A hash only says that a record and the one before it belong together. Who changes a record and
 * makes the hashes anew, but not to the end, is noticed where that ends: only a signed head is a
 * proof.
 */
#define COMPARE                                                                                \
	"What the signed head before it covers is as it was written. Keep this log as it is, " \
	"and compare it with a copy, or with what was exported."

/* What each fault means, and what to do. */
static const struct {
	const char *meaning, *advice;
} texts[] = {
	[AUDIT_FINE] = { "", "" },
	[AUDIT_CHANGED] = { "It, or one between it and the signed head before it, is not what "
			    "Corral "
			    "wrote.",
		COMPARE },
	[AUDIT_REMOVED] = { "Somebody took it out. Retention removes only from the old end, and "
			    "signs "
			    "it.",
		COMPARE },
	[AUDIT_REORDERED] = { "Each record knows its own number, and this one stands elsewhere.",
		COMPARE },
	[AUDIT_TRUNCATED] = { "The end of the log was cut off, or an older copy was put in its "
			      "place.",
		"Look for a newer copy. `--head ''` verifies what is left." },
	[AUDIT_UNSIGNED] = { "A signature is wrong, or was made with another key: nothing that it "
			     "covers is proved.",
		"If you know the right key, name it with --key. If the key is right, do not trust "
		"this log." },
	[AUDIT_HEADLESS] = { "Without that head nobody can tell whether the end of the log is "
			     "missing.",
		"If the log was moved or copied, take its .head file with it, or name one with "
		"--head. `--head ''` verifies without it." },
	[AUDIT_UNREADABLE] = { "The file is damaged, by a disk or by somebody.",
		"Keep it as it is, and look for a copy." },
};
_Static_assert(ROWS(texts) == AUDIT_FAULT_COUNT, "each has a text");

static void paragraph(struct output *o, const char *before, const char *text)
{
	buffer_printf(&o->text, "%*s", NAME_COLUMN, "");
	if (*before)
		output_styled(o, OUTPUT_BOLD, before);
	output_wrapped(o, text, OUTPUT_PROSE);
	buffer_addc(&o->text, '\n');
}

static void audit_finding_begin(struct output *o, const char *name)
{
	buffer_printf(&o->text, "%*s", NAME_COLUMN, "");
	output_styled(o, OUTPUT_DIM, name);
	output_pad(o, VALUE_COLUMN);
}

static void put_records(struct output *o, const struct audit_verdict *v)
{
	audit_finding_begin(o, "verified");
	audit_amount_count(&o->text, v->records);
	buffer_adds(&o->text, v->records == 1 ? " record" : " records");
	/* Numbers below 0, which somebody put there, look like very large ones. */
	if (v->last && v->first <= v->last)
		buffer_printf(&o->text, "; there are %" PRIu64 " to %" PRIu64, v->first, v->last);
	if (v->removed)
		buffer_printf(&o->text, ", retention removed those up to %" PRIu64, v->removed);
	buffer_addc(&o->text, '\n');
	audit_finding_begin(o, "signed");
	buffer_printf(&o->text, "up to record %" PRIu64 "\n", v->signed_up_to);
}

static void audit_finding_put_key(struct output *o, const struct audit_verdict *v)
{
	audit_finding_begin(o, "key");
	audit_record_hex(&o->text, v->key, sizeof(v->key));
	buffer_addc(&o->text, '\n');
}

int audit_finding_print(
	struct call *c, const char *path, const char *head_path, const struct audit_verdict *v)
{
	auto_output o = output_for(STDOUT_FILENO);

	output_styled(&o, v->fault ? OUTPUT_RED : OUTPUT_GREEN, audit_fault_name(v->fault));
	buffer_adds(&o.text, ": ");
	output_foreign(&o, v->text);
	buffer_addc(&o.text, '\n');
	audit_finding_begin(&o, "log");
	output_foreign(&o, path);
	buffer_addc(&o.text, '\n');
	put_records(&o, v);
	audit_finding_put_key(&o, v);
	if (v->fault) {
		paragraph(&o, "", texts[v->fault].meaning);
		paragraph(&o, "-> ", texts[v->fault].advice);
	} else if (!*head_path) {
		paragraph(&o, "",
			"Without a second file, a log that was cut back to an earlier head is not "
			"found out.");
	}
	return output_write(&o, STDOUT_FILENO, c->error);
}

int audit_finding_print_tree(struct call *c, const char *path, const struct audit_verdict *v)
{
	struct tree t = { .arena = c->arena };
	struct node *root = tree_map(&t);
	auto_buffer key = { 0 };

	audit_record_hex(&key, v->key, sizeof(v->key));
	tree_put_text(&t, root, "file", path);
	tree_put_flag(&t, root, "fine", v->fault == AUDIT_FINE);
	tree_put_text(&t, root, "fault", v->fault ? audit_fault_name(v->fault) : NULL);
	if (v->fault)
		tree_put_number(&t, root, "number", (int64_t)v->number);
	else
		tree_put(&t, root, "number", NULL);
	tree_put_text(&t, root, "text", v->text);
	tree_put_text(&t, root, "meaning", v->fault ? texts[v->fault].meaning : NULL);
	tree_put_text(&t, root, "advice", v->fault ? texts[v->fault].advice : NULL);
	tree_put_number(&t, root, "records", (int64_t)v->records);
	tree_put_number(&t, root, "first", (int64_t)v->first);
	tree_put_number(&t, root, "last", (int64_t)v->last);
	tree_put_number(&t, root, "signed_up_to", (int64_t)v->signed_up_to);
	tree_put_number(&t, root, "removed", (int64_t)v->removed);
	tree_put_buffer(&t, root, "key", &key);
	return tree_print(&t, root, c->error);
}
