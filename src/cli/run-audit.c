/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --audit FILE: what happened, as JSON Lines: one object when the command starts, one when it ends
 * or is refused, and between them one for each connection, and for each that was denied. The file
 * is opened before anything runs, and must lie where the command can't write. How many connections
 * there are is the command's choice; AUDITED_MAX keeps it from filling the disk with them.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/path.h"
#include "cli/run.h"
#include "cli/tree.h"
#include "codec/json.h"
#include "jail/links.h"

enum { AUDITED_MAX = 100000 };

/* The command could write the file, or put another in its place. */
static bool is_reachable(const struct run *r, const char *path)
{
	struct request request = { .op = OPERATION_FS_WRITE, .target = path };
	struct decision decision;
	char folder[PATH_BYTES];
	size_t len = (size_t)(strrchr(path, '/') - path);

	if (policy_decide(r->policy, &request, &decision) == 0 && decision.verdict == VERDICT_ALLOW)
		return true;
	memcpy(folder, path, len);
	folder[len] = '\0';
	request.target = len ? folder : "/";
	return policy_decide(r->policy, &request, &decision) == 0 &&
	       decision.verdict == VERDICT_ALLOW;
}

int run_audit_open(struct run *r)
{
	const char *path = r->options.audit;
	struct location where = { .file = path };
	struct stat st;
	char real[PATH_BYTES];
	int ret;

	if (!path)
		return 0;
	ret = links_follow(path, NULL, NULL, real);
	if (ret < 0)
		return error_set(r->call->error, ret, &where, "%s", strerror(-ret));
	if (is_reachable(r, path) || is_reachable(r, real)) {
		(void)error_set(r->call->error, -EPERM, &where,
			"the command may write there, so it would be no record of it");
		error_hint(r->call->error, "choose a file outside of what may be written");
		return -EPERM;
	}
	r->audit = open(real,
		O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK,
		0600);
	if (r->audit < 0 || fstat(r->audit, &st) < 0)
		return error_set(
			r->call->error, -errno, &where, "cannot be written: %s", strerror(errno));
	if (S_ISDIR(st.st_mode) || S_ISBLK(st.st_mode))
		return error_set(r->call->error, -EINVAL, &where, "is no file to write to");
	return 0;
}

static void put_time(struct tree *t, struct node *root)
{
	struct timespec now;
	struct tm parts;
	char text[64];
	size_t len;

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	len = strftime(text, sizeof(text) - 8, "%Y-%m-%dT%H:%M:%S", &parts);
	(void)snprintf(text + len, sizeof(text) - len, ".%03ldZ", now.tv_nsec / 1000000);
	tree_put_text(t, root, "time", text);
}

static struct node *begin(struct tree *t, const char *event)
{
	struct node *root = tree_map(t);

	put_time(t, root);
	tree_put_text(t, root, "event", event);
	tree_put_number(t, root, "pid", getpid());
	return root;
}

/* One line at once, so that several runs may share a file. The command goes on without a record,
 * but somebody is told. */
static void append(struct run *r, struct tree *t, const struct node *root)
{
	struct location where = { .file = r->options.audit };
	auto_output o = { 0 };
	int ret = t->failed ? -ENOMEM : 0;

	if (ret == 0) {
		json_print(&o.text, root, JSON_COMPACT);
		buffer_addc(&o.text, '\n');
		ret = output_write(&o, r->audit, NULL);
	}
	if (ret < 0 && !r->call->error->text[0])
		(void)error_set(r->call->error, ret, &where,
			"the record of this run is not complete: %s", strerror(-ret));
}

/* Words of any bytes: JSON has none but UTF-8. */
static struct node *words(struct tree *t, const char *const *items, size_t n)
{
	struct node *list = tree_list(t);

	for (size_t i = 0; i < n; i++) {
		auto_buffer text = { 0 };

		buffer_add_visible(&text, items[i], strlen(items[i]));
		tree_append_text(t, list, buffer_text(&text));
	}
	return list;
}

/* Text that a command may have chosen. */
static void put_foreign(struct tree *t, struct node *map, const char *key, const char *text)
{
	auto_buffer visible = { 0 };

	buffer_add_visible(&visible, text, strlen(text));
	tree_put_text(t, map, key, buffer_text(&visible));
	t->failed = t->failed || visible.failed;
}

static struct node *origins(struct tree *t, const struct run *r)
{
	struct node *list = tree_list(t);

	for (size_t i = 0; i < policy_layers(r->policy); i++) {
		const char *origin = policy_layer(r->policy, i)->origin;

		tree_append_text(t, list, origin ? origin : "");
	}
	return list;
}

void run_audit_started(struct run *r)
{
	struct tree t = { .arena = r->call->arena };
	struct node *root;

	if (r->audit < 0)
		return;
	root = begin(&t, "start");
	tree_put(&t, root, "argv", words(&t, r->argv, r->n_argv));
	tree_put_text(&t, root, "cwd", r->cwd);
	tree_put(&t, root, "layers", origins(&t, r));
	append(r, &t, root);
}

void run_audit_refused(struct run *r, int status, const char *why)
{
	struct tree t = { .arena = r->call->arena };
	struct node *root;

	if (r->audit < 0)
		return;
	root = begin(&t, "refused");
	tree_put(&t, root, "argv", words(&t, r->argv, r->n_argv));
	tree_put_number(&t, root, "status", status);
	tree_put_text(&t, root, "why", why);
	append(r, &t, root);
}

static void put_record(struct tree *t, struct node *root, const struct record *record)
{
	tree_put_text(t, root, "op", "net.connect");
	put_foreign(t, root, "target", record->target);
	tree_put_flag(t, root, "dns", record->dns);
	put_foreign(t, root, "name", record->name);
	put_foreign(t, root, "address", record->address);
	tree_put_number(t, root, "port", record->port);
	if (record->kind == RECORD_CLOSED) {
		tree_put_number(t, root, "sent", (int64_t)record->sent);
		tree_put_number(t, root, "received", (int64_t)record->received);
	} else {
		put_foreign(t, root, "rule", record->rule);
		put_foreign(t, root, "reason", record->reason);
		put_foreign(t, root, "remedy", record->remedy);
	}
	tree_put_number(t, root, "count", record->count ? (int64_t)record->count : 1);
	if (record->pid)
		tree_put_number(t, root, "process", record->pid);
	if (*record->program)
		put_foreign(t, root, "program", record->program);
}

void run_audit_network(struct run *r, const struct record *record)
{
	/* Of its own: there may be many of them. */
	auto_arena arena = { 0 };
	struct tree t = { .arena = &arena };
	struct node *root;

	if (r->audit < 0 || r->audited > AUDITED_MAX)
		return;
	root = begin(&t, r->audited < AUDITED_MAX ? run_network_kind(record->kind) : "dropped");
	if (r->audited++ < AUDITED_MAX)
		put_record(&t, root, record);
	append(r, &t, root);
}

void run_audit_ended(struct run *r, const struct report *report, int status)
{
	struct tree t = { .arena = r->call->arena };
	struct node *root;

	if (r->audit < 0)
		return;
	root = begin(&t, "end");
	tree_put_number(&t, root, "status", status);
	if (report->signal)
		tree_put_number(&t, root, "signal", report->signal);
	else
		tree_put_number(&t, root, "exit_code", report->exit_code);
	tree_put_flag(&t, root, "timed_out", report->flags & REPORT_TIMED_OUT);
	tree_put_number(&t, root, "duration_ms", (int64_t)(report->wall_us / 1000));
	append(r, &t, root);
}
