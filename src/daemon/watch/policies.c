/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored policies are files that people edit. inotify says that something changed; `corral policy
 * record` finds out what, notes it in the history, and prints a line for each policy that came into
 * force, broke, or went. Those lines are events; nothing of them is parsed here.
 *
 * A change is waited for a moment: an editor writes, renames and removes. While corral runs,
 * further changes wait for its end. Runs do not depend on this: each reads the files itself.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#include "base/path.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/changes.h"
#include "daemon/watch/policies.h"

enum {
	POLICIES_SETTLE_MS = 30,
	POLICIES_AGAIN_MS = 1000, /* after corral could not do it, doubled so many times */
	POLICIES_FAILURES = 6,
	POLICIES_ABOVE = POLICIES_WATCHED - 1,
};

static const uint32_t policies_changes = IN_CREATE | IN_DELETE | IN_CLOSE_WRITE | IN_MODIFY |
					 IN_MOVED_FROM | IN_MOVED_TO | IN_ATTRIB | IN_DELETE_SELF |
					 IN_MOVE_SELF;
/* Of a folder above, only what may be a folder of ours. */
static const uint32_t policies_above = IN_CREATE | IN_MOVED_TO | IN_DELETE_SELF | IN_MOVE_SELF;

static int policies_watch(struct supervisor *s, const char *path, uint32_t what)
{
	return changes_add(s, &s->watch.policies.watcher, path, what | IN_EXCL_UNLINK);
}

/* The nearest folder at or above the configuration that is there. */
static int policies_watch_above(struct supervisor *s)
{
	char path[PATH_BYTES];
	int watched;

	(void)snprintf(path, sizeof(path), "%s", buffer_text(&s->config_folder));
	while ((watched = policies_watch(s, path, policies_above)) < 0) {
		char *slash = strrchr(path, '/');

		if (!slash || slash == path)
			return policies_watch(s, "/", policies_above);
		*slash = '\0';
	}
	return watched;
}

/* Watches what is there now. True: it is something else than before. */
static bool policies_watch_all(struct supervisor *s)
{
	struct policies *p = &s->watch.policies;
	int now[POLICIES_WATCHED];
	char path[PATH_BYTES];
	bool differs;

	(void)snprintf(path, sizeof(path), "%s/policy.d", buffer_text(&s->config_folder));
	now[0] = policies_watch(s, path, policies_changes);
	(void)snprintf(path, sizeof(path), "%s/policy.d/custom", buffer_text(&s->config_folder));
	now[1] = policies_watch(s, path, policies_changes);
	now[POLICIES_ABOVE] = policies_watch_above(s);
	differs = memcmp(now, p->watched, sizeof(now)) != 0;
	for (size_t i = 0; i < POLICIES_WATCHED; i++) {
		bool stays = p->watched[i] < 0;

		for (size_t k = 0; k < POLICIES_WATCHED; k++)
			stays = stays || p->watched[i] == now[k];
		if (!stays)
			(void)inotify_rm_watch(p->watcher.fd, p->watched[i]);
	}
	memcpy(p->watched, now, sizeof(now));
	return differs;
}

static void policies_wait(struct supervisor *s, uint64_t ms)
{
	if (loop_start(s->loop, &s->watch.policies.timer, ms) < 0)
		journal_say(s, CONFIG_ERROR, "policies are not watched any more: out of memory");
}

/* A line of `corral policy record --json` each. */
static void policies_publish(struct supervisor *s, const char *text)
{
	auto_buffer line = { 0 };

	while (*text) {
		const size_t len = strcspn(text, "\n");

		buffer_clear(&line);
		buffer_add(&line, text, len);
		if (len > 0 && !line.failed) {
			journal_say(s, CONFIG_INFO, "policy: %s", buffer_text(&line));
			journal_record(s, &(struct audit_event){ .action = AUDIT_POLICY,
						  .program = "corrald",
						  .pid = (uint32_t)getpid(),
						  .target = buffer_text(&line),
						  .exact = true });
			bus_publish(s, "policy", buffer_text(&line));
		}
		text += len + (text[len] == '\n');
	}
}

static void policies_done(struct supervisor *s, int status, struct buffer *printed)
{
	const char *text = status == 0 && printed ? buffer_text(printed) : NULL;
	struct policies *p = &s->watch.policies;

	p->is_busy = false;
	if (text)
		policies_publish(s, text);
	else if (p->failures == 0)
		journal_say(s, CONFIG_WARN, "corral could not record the stored policies");
	/* A full disk may be mended, and not within a second. */
	p->failures = text ? 0 : p->failures + (p->failures < POLICIES_FAILURES);
	if (!text || p->is_due)
		policies_wait(s, text ? POLICIES_SETTLE_MS : POLICIES_AGAIN_MS << p->failures);
	p->is_due = false;
}

static void policies_on_timer(struct timer *t)
{
	struct supervisor *s = container_of(t, struct supervisor, watch.policies.timer);
	const char *argv[] = { "policy", "record", "--json", s->is_system ? "--system" : NULL,
		NULL };

	if (s->watch.policies.is_busy) {
		s->watch.policies.is_due = true;
		return;
	}
	s->watch.policies.is_busy = true;
	if (tool_start_own(s, &(struct tool_request){ .argv = argv, .take = policies_done }) < 0)
		policies_done(s, -EBUSY, NULL);
}

static void policies_on_change(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, watch.policies.watcher);
	struct policies *p = &s->watch.policies;
	char room[4096] __attribute__((aligned(__alignof__(struct inotify_event))));
	bool is_ours = false;
	ssize_t n;

	(void)events;
	while ((n = read(w->fd, room, sizeof(room))) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct inotify_event *e = (const void *)(room + at);

			is_ours = is_ours || e->wd != p->watched[POLICIES_ABOVE] ||
				  e->mask & IN_Q_OVERFLOW;
			/* Where it went is no place of ours. */
			if (e->mask & IN_MOVE_SELF)
				(void)inotify_rm_watch(w->fd, e->wd);
			at += (ssize_t)(sizeof(*e) + e->len);
		}
	}
	if (policies_watch_all(s) || is_ours)
		policies_wait(s, POLICIES_SETTLE_MS);
}

int policies_look(struct supervisor *s)
{
	int r = s->config_folder.len ? changes_open(s, &s->watch.policies.watcher) : 0;

	if (r == 0 && s->config_folder.len && (policies_watch_all(s) || s->watch.unwatched))
		policies_wait(s, POLICIES_SETTLE_MS);
	return r;
}

int policies_open(struct supervisor *s)
{
	struct policies *p = &s->watch.policies;
	int r;

	p->watcher = (struct watcher){ .ready = policies_on_change, .fd = -1 };
	p->timer = (struct timer){ .expired = policies_on_timer };
	memset(p->watched, -1, sizeof(p->watched));
	if (!s->config_folder.len)
		return 0;
	r = changes_open(s, &p->watcher);
	if (r < 0)
		return r;
	(void)policies_watch_all(s);
	/* What changed while no daemon ran. */
	policies_wait(s, 1);
	return 0;
}

void policies_close(struct supervisor *s)
{
	const int fd = s->watch.policies.watcher.fd;

	if (!s->watch.policies.watcher.ready)
		return;
	loop_stop(s->loop, &s->watch.policies.timer);
	loop_remove(s->loop, &s->watch.policies.watcher);
	if (fd >= 0)
		(void)close(fd);
}
