/* SPDX-License-Identifier: Apache-2.0 */
/*
 * make-log FILE [kill]: writes an audit log from what it reads, for the tests of who reads logs. A
 * line is an event as JSON, with the names of its fields (what is left out is 0 or ""; time is in
 * nanoseconds); or one of the words
 *
 *     commit    all that came before is in the log
 *     sign      and under a signed head
 *
 * and both are answered by a line when it is so.
 *
 * At the end the log is closed, or, with `kill`, left as a process leaves it that is killed.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "audit/store/store.h"
#include "codec/json.h"

static void die(const char *what, const struct error *e)
{
	(void)fprintf(stderr, "make-log: %s %s\n", what, e ? e->text : "");
	exit(1);
}

static const char *text_of(const struct node *map, const char *key)
{
	const char *text = node_text(node_get(map, key));

	return text ? text : "";
}

static int64_t number_of(const struct node *map, const char *key)
{
	const struct node *n = node_get(map, key);
	int64_t value = 0;

	if (n && node_integer(n, &value) < 0)
		die(key, NULL);
	return value;
}

static int word_of(const struct node *map, const char *key, int (*parse)(const char *), int none)
{
	const char *word = text_of(map, key);
	int value = *word ? parse(word) : none;

	if (value < 0)
		die(word, NULL);
	return value;
}

static struct audit_event event_of(const struct node *map)
{
	bool exact = true;

	if (node_get(map, "exact") && node_boolean(node_get(map, "exact"), &exact) < 0)
		die("exact", NULL);
	return (struct audit_event){
		.time_ns = (uint64_t)number_of(map, "time"),
		.sequence = (uint64_t)number_of(map, "sequence"),
		.session = text_of(map, "session"),
		.user = text_of(map, "user"),
		.sandbox = text_of(map, "sandbox"),
		.pid = (uint32_t)number_of(map, "pid"),
		.program = text_of(map, "program"),
		.action = (enum audit_action)word_of(map, "action", audit_action_parse, 0),
		.target = text_of(map, "target"),
		.decision = (enum audit_decision)word_of(map, "decision", audit_decision_parse, 0),
		.rule = text_of(map, "rule"),
		.reason = text_of(map, "reason"),
		.exact = exact,
		.cost_ns = (uint64_t)number_of(map, "cost_ns"),
		.sent = (uint64_t)number_of(map, "sent"),
		.received = (uint64_t)number_of(map, "received"),
		.status = number_of(map, "status"),
		.count = node_get(map, "count") ? (uint64_t)number_of(map, "count") : 1,
	};
}

static void add(struct audit_store *s, const char *line, size_t len)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	struct audit_event event;

	if (json_read(&d, NULL, line, len, &e) < 0)
		die("no event:", &e);
	event = event_of(d.root);
	if (audit_store_add(s, &event) < 0)
		die("the event was not taken:", NULL);
}

static void obey(struct audit_store *s, char *line)
{
	struct error e = { 0 };
	int r;

	line[strcspn(line, "\n")] = '\0';
	if (!strcmp(line, "commit")) {
		r = audit_store_commit(s, &e);
	} else if (!strcmp(line, "sign")) {
		r = audit_store_sign(s, &e);
	} else {
		add(s, line, strlen(line));
		return;
	}
	if (r < 0)
		die(line, &e);
	(void)printf("%s\n", line);
	(void)fflush(stdout);
}

int main(int argc, char **argv)
{
	struct audit_store_options options = { .path = argc > 1 ? argv[1] : NULL };
	struct audit_store *s = NULL;
	struct error e = { 0 };
	char *line = NULL;
	size_t cap = 0;

	if (!options.path)
		die("which file?", NULL);
	/* Only the words of the script decide when a head is signed. */
	options.sign_seconds = 3600;
	options.batch = 4096;
	if (audit_store_open(&s, &options, &e) < 0)
		die("", &e);
	while (getline(&line, &cap, stdin) > 0)
		obey(s, line);
	if (argc > 2) {
		if (audit_store_commit(s, &e) < 0)
			die("", &e);
		(void)raise(SIGKILL);
	}
	free(line);
	if (audit_store_close(s, &e) < 0)
		die("", &e);
	return 0;
}
