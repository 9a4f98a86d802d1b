/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security watcher. It looks every ten seconds (`daemon.watch`), and at most once in a second
 * when folders of Corral change. The look itself is `corral security`, a process of its own
 * (decision 0070): what it reads of processes and files is not read here, and it takes the daemon
 * no time. The log is verified by `corral audit verify`, so often that it takes one fiftieth of the
 * time at most.
 *
 * A look replaces what its source found before: what is new is an event, what is not found any more
 * is cured, and an event as well. A look that fails changes nothing but is said.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/words.h"
#include "codec/json-writer.h"
#include "daemon/api/tool.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"
#include "daemon/watch/policies.h"
#include "daemon/watch/security-watch.h"

enum {
	WATCH_GAP_MS = 1000,
	WATCH_VERIFY_MS = 10 * 60 * 1000, /* a log of any reasonable length */
	WATCH_VERIFY_SHARE = 50,
	WATCH_PEER_MS = 10 * 60 * 1000,
	WATCH_FINDINGS_MAX = 512,
	WATCH_PEERS_MAX = 64, /* of them: refused peers cannot push other findings out */
	WATCH_TEXT_MAX = 2048,
};

static const char *const security_watch_severities[] = { "low", "medium", "high", NULL };
static const char *const security_watch_kinds[] = { "agent_outside", "file_mode", "drift",
	"policy_ignored", "skill_changed", "log_unverified", "log_lost", "refused_peer",
	"answer_expires", "unchecked", NULL };

static const char *security_watch_word(const char *const *words, const char *word)
{
	const int i = word ? words_find(words, word, strlen(word)) : -1;

	return i < 0 ? NULL : words[i];
}

/* Findings */

static void security_watch_print_one(
	const struct security_finding *f, struct json_writer *w, const char *key)
{
	json_open_map(w, key);
	json_put_text(w, "id", f->id);
	json_put_text(w, "severity", f->severity);
	json_put_text(w, "kind", f->kind);
	json_put_text(w, "text", f->text);
	json_put_text(w, "where", f->where);
	json_put_text(w, "remedy", f->remedy);
	json_put_count(w, "since_ms", f->since_ms);
	json_close(w);
}

size_t security_watch_count(const struct supervisor *s, const char *severity)
{
	size_t n = 0;

	for (size_t i = 0; i < s->watch.security.n; i++)
		n += !severity || strcmp(s->watch.security.findings[i].severity, severity) == 0;
	return n;
}

static bool security_watch_is_found(const struct security_watch *w, const char *kind)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->findings[i].kind, kind) == 0)
			return true;
	return false;
}

/* Peers are of the daemon's own user (origin_check()), so there is one user at most. */
static void security_watch_put_running(const struct supervisor *s, struct json_writer *w)
{
	json_open_list(w, "users");
	if (s->peers.n_sandboxes) {
		json_open_map(w, NULL);
		json_put_count(w, "uid", getuid());
		json_put_count(w, "sandboxes", s->peers.n_sandboxes);
		json_close(w);
	}
	json_close(w);
	json_open_list(w, "processes");
	sandboxes_for_each(b, s)
	{
		if (!b->who.id)
			continue;
		json_open_map(w, NULL);
		json_put_number(w, "pid", b->peer.pid);
		json_put_count(w, "uid", b->peer.uid);
		json_put_text(w, "sandbox", b->who.id);
		json_put_text(w, "name", b->who.name);
		json_close(w);
	}
	json_close(w);
}

void security_watch_print(const struct supervisor *s, struct buffer *out)
{
	const struct security_watch *watch = &s->watch.security;
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_count(&w, "checked_ms", watch->checked_ms);
	json_put_count(&w, "verified_ms", watch->verified_ms);
	json_open_list(&w, "findings");
	for (size_t i = 0; i < watch->n; i++)
		security_watch_print_one(&watch->findings[i], &w, NULL);
	json_close(&w);
	json_open_list(&w, "ok");
	for (size_t i = 0; watch->checked_ms && security_watch_kinds[i]; i++) {
		const bool is_log = strcmp(security_watch_kinds[i], "log_unverified") == 0;

		if (!security_watch_is_found(watch, security_watch_kinds[i]) &&
			(!is_log || watch->verified_ms))
			json_put_text(&w, NULL, security_watch_kinds[i]);
	}
	json_close(&w);
	security_watch_put_running(s, &w);
	json_end_line(&w);
}

static void security_watch_publish(
	struct supervisor *s, const struct security_finding *f, const char *state)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	journal_say(s, strcmp(state, "found") == 0 ? CONFIG_WARN : CONFIG_INFO, "%s: %s", state,
		f->text);
	json_open_map(&w, NULL);
	json_put_text(&w, "state", state);
	security_watch_print_one(f, &w, "finding");
	json_close(&w);
	if (!json.failed)
		bus_publish(s, "finding", json.data);
	s->watch.security.is_changed = true;
}

static void security_watch_publish_status(struct supervisor *s)
{
	auto_buffer json = { 0 };
	struct json_writer w = { .out = &json };

	if (!s->watch.security.is_changed)
		return;
	s->watch.security.is_changed = false;
	json_open_map(&w, NULL);
	json_put_count(&w, "findings", security_watch_count(s, NULL));
	json_put_count(&w, "high", security_watch_count(s, "high"));
	json_close(&w);
	if (!json.failed)
		bus_publish(s, "security_status", json.data);
}

static void security_watch_free(struct security_finding *f)
{
	free(f->text);
	free(f->where);
	free(f->remedy);
}

/* What was found: a new one, or one that is known and gets its words anew. */
struct security_words {
	enum security_source source;
	const char *severity, *kind, *text, *where, *remedy;
	uint64_t until_ms;
};

static struct security_finding *security_watch_find(struct security_watch *w, const char *id)
{
	for (size_t i = 0; i < w->n; i++)
		if (strcmp(w->findings[i].id, id) == 0)
			return &w->findings[i];
	return NULL;
}

/* Takes the words of *f, and leaves the old ones there. Without memory the old ones stay. */
static void security_watch_renew(
	struct security_watch *w, struct security_finding *known, struct security_finding *f)
{
	const struct security_finding old = *known;

	known->is_seen = true;
	known->until_ms = f->until_ms;
	if (!f->text || !f->where || !f->remedy ||
		(f->severity == old.severity && strcmp(f->text, old.text) == 0 &&
			strcmp(f->remedy, old.remedy) == 0))
		return;
	known->severity = f->severity;
	known->text = f->text;
	known->where = f->where;
	known->remedy = f->remedy;
	*f = old;
	w->is_changed = true;
}

static void security_watch_add(struct supervisor *s, const struct security_words *o)
{
	struct security_watch *w = &s->watch.security;
	struct security_finding f = { .source = o->source,
		.severity = security_watch_word(security_watch_severities, o->severity),
		.kind = security_watch_word(security_watch_kinds, o->kind),
		.since_ms = clock_ms(CLOCK_REALTIME),
		.until_ms = o->until_ms,
		.is_seen = true };
	struct security_finding *known;

	if (!f.severity || !f.kind || !o->text || !o->where || !o->remedy)
		return;
	(void)snprintf(f.id, sizeof(f.id), "%s-%016" PRIx64, f.kind,
		hash_bytes(HASH_START, o->where, strlen(o->where)));
	known = security_watch_find(w, f.id);
	f.text = strndup(o->text, WATCH_TEXT_MAX);
	f.where = strndup(o->where, WATCH_TEXT_MAX);
	f.remedy = strndup(o->remedy, WATCH_TEXT_MAX);
	if (known) {
		security_watch_renew(w, known, &f);
		security_watch_free(&f);
		return;
	}
	if (!f.text || !f.where || !f.remedy || w->n >= WATCH_FINDINGS_MAX ||
		ARRAY_PUSH(w->findings, w->n, w->cap, f) < 0) {
		security_watch_free(&f);
		return;
	}
	security_watch_publish(s, &f, "found");
}

/* A look of a source begins; and it is over: what it did not find is cured. */
static void security_watch_begin(struct security_watch *w, enum security_source source)
{
	for (size_t i = 0; i < w->n; i++)
		if (w->findings[i].source == source)
			w->findings[i].is_seen = false;
}

static void security_watch_end(struct supervisor *s, enum security_source source)
{
	struct security_watch *w = &s->watch.security;
	const uint64_t now = clock_ms(CLOCK_REALTIME);

	for (size_t i = 0; i < w->n;) {
		struct security_finding f = w->findings[i];
		const bool is_over =
			f.until_ms ? f.until_ms <= now : f.source == source && !f.is_seen;

		if (!is_over) {
			i++;
			continue;
		}
		memmove(&w->findings[i], &w->findings[i + 1],
			(--w->n - i) * sizeof(w->findings[0]));
		security_watch_publish(s, &f, "cleared");
		security_watch_free(&f);
	}
	security_watch_publish_status(s);
}

void security_watch_tell_peer(struct supervisor *s, const char *socket, pid_t pid, const char *why)
{
	auto_buffer text = { 0 }, where = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < s->watch.security.n; i++)
		n += s->watch.security.findings[i].source == WATCH_PEER;
	if (n >= WATCH_PEERS_MAX)
		return;
	buffer_printf(&where, "%s, pid %d", socket, (int)pid);
	buffer_printf(
		&text, "pid %d tried the daemon's %s and was refused: %s", (int)pid, socket, why);
	security_watch_add(
		s, &(struct security_words){ .source = WATCH_PEER,
			   .severity = "high",
			   .kind = "refused_peer",
			   .text = buffer_text(&text),
			   .where = buffer_text(&where),
			   .remedy = "see what this sandbox does, and end it if that is not "
				     "wanted: `corral ps`",
			   .until_ms = clock_ms(CLOCK_REALTIME) + WATCH_PEER_MS });
	security_watch_publish_status(s);
}

/* What the daemon knows by itself */

/* The command that grants it anew; a pattern with control characters is none to be pasted. */
static void security_watch_print_renewal(struct buffer *out, const struct questions_ending *e)
{
	for (const char *c = e->pattern; *c; c++)
		if ((unsigned char)*c < ' ' || *c == 0x7f) {
			buffer_adds(out, "grant it again if it is still needed: `corral grants`");
			return;
		}
	buffer_printf(out, "corral grants add %s %s '", e->sandbox->who.id, e->action);
	for (const char *c = e->pattern; *c; c++)
		if (*c == '\'')
			buffer_adds(out, "'\\''");
		else
			buffer_addc(out, *c);
	buffer_adds(out, "' --for 1h");
}

static void security_watch_tell_ending(struct supervisor *s, const struct questions_ending *e)
{
	const time_t at = (time_t)(e->until_ms / 1000);
	auto_buffer text = { 0 }, where = { 0 }, remedy = { 0 };
	char when[16] = "?";
	struct tm tm;

	if (localtime_r(&at, &tm))
		(void)strftime(when, sizeof(when), "%H:%M:%S", &tm);
	buffer_printf(&where, "%s.%" PRIu64, e->sandbox->who.id, e->number);
	buffer_printf(&text, "what sandbox %s was granted ends at %s: %s ", e->sandbox->who.id,
		when, e->action);
	buffer_add_visible(&text, e->pattern, strlen(e->pattern));
	security_watch_print_renewal(&remedy, e);
	security_watch_add(s, &(struct security_words){ .source = WATCH_OWN,
				      .severity = "low",
				      .kind = "answer_expires",
				      .text = buffer_text(&text),
				      .where = buffer_text(&where),
				      .remedy = buffer_text(&remedy) });
}

/* Files that runs left, it seems, and that are not what runs leave. */
static void security_watch_tell_missed(struct supervisor *s)
{
	for (size_t i = 0; i < s->peers.missed.n_strange; i++) {
		auto_buffer where = { 0 };

		buffer_printf(&where, "%s/", buffer_text(&s->peers.missed.folder));
		buffer_add_visible(
			&where, s->peers.missed.strange[i], strlen(s->peers.missed.strange[i]));
		security_watch_add(s, &(struct security_words){ .source = WATCH_OWN,
					      .severity = "medium",
					      .kind = "log_lost",
					      .text = "a file among the events that runs left for "
						      "the daemon is not theirs, or damaged; it "
						      "is not in the log",
					      .where = buffer_text(&where),
					      .remedy = "see what put it there, then remove it" });
	}
}

void security_watch_tell_unwatched(struct supervisor *s)
{
	const char *limit = changes_limit(s);
	auto_buffer text = { 0 }, remedy = { 0 };

	if (!s->watch.unwatched)
		return;
	buffer_printf(&text,
		"changes of policies and of Corral's folders are seen after up to %u seconds, not "
		"at once: ",
		s->config.watch_ms / 1000);
	changes_why(s, &text);
	if (limit && s->watch.is_files_limit && s->watch.unwatched == EMFILE) {
		buffer_adds(&text, "; raise it");
		buffer_adds(&remedy, "start corrald with more open files: LimitNOFILE= of its "
				     "service, or `ulimit -n`");
	} else if (limit) {
		buffer_adds(&text, "; raise it, or end programs that watch files");
		buffer_printf(&remedy, "sudo sysctl %s=%s", limit,
			s->watch.unwatched == ENOSPC ? "524288" : "1024");
	} else {
		buffer_adds(&remedy, "corrald tries again with each scan");
	}
	security_watch_add(s, &(struct security_words){ .source = WATCH_OWN,
				      .severity = "low",
				      .kind = "unchecked",
				      .text = buffer_text(&text),
				      .where = limit ? limit : "inotify",
				      .remedy = buffer_text(&remedy) });
}

static void security_watch_look_own(struct supervisor *s)
{
	const int failure = audit_trail_failure(s->journal.trail);

	security_watch_begin(&s->watch.security, WATCH_OWN);
	if (failure < 0 || audit_trail_lost(s->journal.trail) > 0)
		security_watch_add(
			s, &(struct security_words){ .source = WATCH_OWN,
				   .severity = "high",
				   .kind = "log_lost",
				   .text = "records could not be written to the audit log",
				   .where = buffer_text(&s->journal.path),
				   .remedy = "see whether the disk is full, then start corrald "
					     "again" });
	security_watch_tell_missed(s);
	security_watch_tell_unwatched(s);
	questions_each_ending(s, security_watch_tell_ending);
	security_watch_end(s, WATCH_OWN);
}

/* A look could not be made: that is known, and not taken for health. */
static void security_watch_tell_unchecked(
	struct supervisor *s, enum security_source source, const char *what, const char *remedy)
{
	security_watch_add(s, &(struct security_words){ .source = source,
				      .severity = "medium",
				      .kind = "unchecked",
				      .text = "a check of the security watcher did not work",
				      .where = what,
				      .remedy = remedy });
	security_watch_publish_status(s);
}

/* `corral security` */

static void security_watch_on_scan(struct supervisor *s, int status, struct buffer *text)
{
	struct security_watch *w = &s->watch.security;
	auto_document d = { 0 };
	struct error e;
	const struct node *list;

	w->is_scanning = false;
	if (status < 0 || status > 1 || json_read(&d, NULL, buffer_text(text), text->len, &e) < 0 ||
		!(list = node_get(d.root, "findings")) || list->type != NODE_LIST) {
		security_watch_tell_unchecked(
			s, WATCH_SCAN, "corral security", "run `corral security`: it says why");
		return;
	}
	security_watch_begin(w, WATCH_SCAN);
	node_for_each(n, list)
		security_watch_add(s, &(struct security_words){ .source = WATCH_SCAN,
					      .severity = node_text(node_get(n, "severity")),
					      .kind = node_text(node_get(n, "kind")),
					      .text = node_text(node_get(n, "text")),
					      .where = node_text(node_get(n, "where")),
					      .remedy = node_text(node_get(n, "remedy")) });
	w->is_changed |= w->checked_ms == 0;
	w->checked_ms = clock_ms(CLOCK_REALTIME);
	security_watch_end(s, WATCH_SCAN);
}

static void security_watch_scan(struct supervisor *s)
{
	const char *argv[] = { "security", "--json", "--record", s->is_system ? "--system" : NULL,
		NULL };
	struct security_watch *w = &s->watch.security;

	if (w->is_scanning)
		return;
	w->scanned_at = loop_now(s->loop);
	w->is_scanning = true;
	if (tool_start_own(
		    s, &(struct tool_request){ .argv = argv, .take = security_watch_on_scan }) < 0)
		security_watch_on_scan(s, -EIO, &(struct buffer){ 0 });
}

/* `corral audit verify` */

static void security_watch_on_verified(struct supervisor *s, int status, struct buffer *text)
{
	struct security_watch *w = &s->watch.security;
	const uint64_t took = loop_now(s->loop) - w->verify_began;
	auto_document d = { 0 };
	struct error e;
	const struct node *error;
	const char *what, *remedy;
	bool is_fine = false;

	w->is_verifying = false;
	w->verify_at = loop_now(s->loop) + took * WATCH_VERIFY_SHARE;
	if (status < 0 || json_read(&d, NULL, buffer_text(text), text->len, &e) < 0) {
		security_watch_tell_unchecked(s, WATCH_LOG, "corral audit verify",
			"run `corral audit verify`: it says why");
		return;
	}
	security_watch_begin(w, WATCH_LOG);
	(void)node_boolean(node_get(d.root, "fine"), &is_fine);
	error = node_get(d.root, "error");
	what = node_text(node_get(error ? error : d.root, "text"));
	remedy = node_text(node_get(error ? error : d.root, error ? "hint" : "advice"));
	if (!is_fine)
		security_watch_add(
			s, &(struct security_words){ .source = WATCH_LOG,
				   .severity = "high",
				   .kind = "log_unverified",
				   .text = what ? what : "the audit log does not verify",
				   .where = buffer_text(&s->journal.path),
				   .remedy = remedy ? remedy : "run `corral audit verify`" });
	w->is_changed |= w->verified_ms == 0;
	w->verified_ms = clock_ms(CLOCK_REALTIME);
	security_watch_end(s, WATCH_LOG);
}

static void security_watch_verify(struct supervisor *s)
{
	const char *argv[] = { "audit", "verify", "--json", "--", buffer_text(&s->journal.path),
		NULL };
	struct security_watch *w = &s->watch.security;
	struct error e;

	if (w->is_verifying || loop_now(s->loop) < w->verify_at)
		return;
	w->is_verifying = true;
	w->verify_began = loop_now(s->loop);
	/* Its own records are there, unless others have the log. */
	(void)audit_trail_try_flush(s->journal.trail, &e);
	if (tool_start_own(s, &(struct tool_request){ .argv = argv,
				      .take = security_watch_on_verified,
				      .ms = WATCH_VERIFY_MS }) < 0)
		security_watch_on_verified(s, -EIO, &(struct buffer){ 0 });
}

/* Time and changes */

/* A daemon that cannot look ends, and its service manager starts another. */
static void security_watch_give_up(struct supervisor *s, int error)
{
	if (!s->is_over)
		journal_say(s, CONFIG_ERROR, "the daemon ends: it cannot watch any more: %s",
			strerror(-error));
	s->is_over = true;
}

/* Those that appear later are watched from the next look on; of the log's folder only modes count,
 * since the log itself is written all the time. */
static void security_watch_add_folders(struct supervisor *s)
{
	static const char *const below[] = { "", "/profiles", "/policy.d", "/policy.d/custom" };
	const uint32_t any = IN_ATTRIB | IN_CREATE | IN_DELETE | IN_MOVE | IN_CLOSE_WRITE;
	const struct watcher *w = &s->watch.security.changes;
	char path[PATH_BYTES + 32];

	(void)changes_add(s, w, buffer_text(&s->folder.path), any);
	for (size_t i = 0; s->config_folder.len && i < ROWS(below); i++) {
		(void)snprintf(
			path, sizeof(path), "%s%s", buffer_text(&s->config_folder), below[i]);
		(void)changes_add(s, w, path, any);
	}
	(void)snprintf(path, sizeof(path), "%s", buffer_text(&s->journal.path));
	if (strrchr(path, '/') > path) {
		*strrchr(path, '/') = '\0';
		(void)changes_add(s, w, path, IN_ATTRIB);
	}
}

static void security_watch_on_changes(struct watcher *watcher, uint32_t events)
{
	struct supervisor *s = container_of(container_of(watcher, struct security_watch, changes),
		struct supervisor, watch.security);
	const uint64_t since = loop_now(s->loop) - s->watch.security.scanned_at;
	char room[4096];

	(void)events;
	while (read(watcher->fd, room, sizeof(room)) > 0)
		;
	if (s->watch.security.soon.place == 0 &&
		loop_start(s->loop, &s->watch.security.soon,
			since >= WATCH_GAP_MS ? 50 : WATCH_GAP_MS - since) < 0)
		security_watch_give_up(s, -ENOMEM);
}

static void security_watch_on_soon(struct timer *t)
{
	struct supervisor *s = container_of(
		container_of(t, struct security_watch, soon), struct supervisor, watch.security);

	/* What changed while one looked may not be in it. */
	if (s->watch.security.is_scanning && loop_start(s->loop, t, WATCH_GAP_MS) < 0)
		security_watch_give_up(s, -ENOMEM);
	security_watch_scan(s);
}

/* All that watches folders tries to; without a watch, it looks at them. */
static void security_watch_watch(struct supervisor *s)
{
	int r;

	s->watch.unwatched = 0;
	r = changes_open(s, &s->watch.security.changes);
	if (r == 0)
		r = policies_look(s);
	if (r == 0)
		r = missed_watch(s);
	if (r < 0)
		security_watch_give_up(s, r);
	security_watch_add_folders(s);
}

static void security_watch_on_timer(struct timer *t)
{
	struct supervisor *s = container_of(
		container_of(t, struct security_watch, timer), struct supervisor, watch.security);

	security_watch_watch(s);
	security_watch_look_own(s);
	security_watch_scan(s);
	security_watch_verify(s);
	if (loop_start(s->loop, t, s->config.watch_ms) < 0)
		security_watch_give_up(s, -ENOMEM);
}

int security_watch_open(struct supervisor *s)
{
	struct security_watch *w = &s->watch.security;
	int r;

	*w = (struct security_watch){ .timer = { .expired = security_watch_on_timer },
		.soon = { .expired = security_watch_on_soon },
		.changes = { .ready = security_watch_on_changes, .fd = -1 } };
	r = changes_open(s, &w->changes);
	return r < 0 ? r : loop_start(s->loop, &w->timer, 0);
}

void security_watch_close(struct supervisor *s)
{
	struct security_watch *w = &s->watch.security;
	int fd = w->changes.fd;

	loop_stop(s->loop, &w->timer);
	loop_stop(s->loop, &w->soon);
	loop_remove(s->loop, &w->changes);
	fd_close(&fd);
	for (size_t i = 0; i < w->n; i++)
		security_watch_free(&w->findings[i]);
	free(w->findings);
	w->findings = NULL;
	w->n = w->cap = 0;
}

/* A process inside a sandbox, or one that cannot be told from that. */
void security_watch_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why)
{
	s->api.metrics.refused_peers++;
	journal_record(s, &(struct audit_event){ .action = AUDIT_SERVICE,
				  .program = "corrald",
				  .pid = (uint32_t)peer->pid,
				  .target = name,
				  .decision = AUDIT_DENIED,
				  .reason = why,
				  .exact = true });
	journal_say(s, CONFIG_WARN, "refused pid %d on %s: %s", (int)peer->pid, name, why);
	security_watch_tell_peer(s, name, peer->pid, why);
}
