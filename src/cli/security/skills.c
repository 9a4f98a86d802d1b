/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Skills that are not what was approved. Each is read by a confined process (cli/skill/reading.h),
 * but only if something about it is new: skills.json of the state folder has a hash of the times
 * and inode numbers of all its files, and of the approval, with what was found then and when. A
 * write changes a file's ctime, so mostly the same hash means the same skill; a change of the last
 * moments may share its time with the next one, so then no hash is recorded. A process that has a
 * file mapped can write to a page that is dirty already without a new time, so a skill is read
 * again after SKILLS_AGAIN_S in any case.
 *
 * A skill that is gone is no finding. One that cannot be read any more is not what was approved; so
 * is one that is new, and then takes all the time there is, or the process that reads it: who
 * changed it may have seen to that.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/security/findings.h"
#include "cli/skill/reading.h"
#include "codec/json-writer.h"
#include "launch/skill.h"
#include "skill/walk.h"

enum {
	SKILLS_FILE_MAX = 1 << 20,
	SKILLS_LOOK_MS = 8 * 1000,
	SKILLS_SETTLED_MS = 2 * 1000,
	SKILLS_AGAIN_S = 600,
	SKILLS_AGAIN_MS = 1000, /* of a look, for those of which nothing is new */
};

struct skills {
	struct security *s;
	struct document before; /* skills.json: {"ID": "STAMP SECONDS STATE"} */
	struct buffer after;
	struct json_writer w;
	uint64_t began, until; /* later ones are not read in this look */
	bool is_late;          /* one was read in this look: others do not have all of its time */
};

/* What is known of one. */
struct skills_known {
	char stamp[SKILL_DIGEST_HEX]; /* "-": none that holds */
	uint64_t read_s;              /* when it was read, by the time of day */
	char state[16];               /* "approved", "changed", "unreadable"; "": none */
};

/* The stamp of a skill as it lies there */

struct skills_stamp {
	crypto_hash_sha256_state hash;
	struct timespec newest;
};

static void skills_stamp_add(struct skills_stamp *s, const struct stat *st)
{
	const uint64_t numbers[] = { st->st_dev, st->st_ino, (uint64_t)st->st_size, st->st_mode,
		(uint64_t)st->st_mtim.tv_sec, (uint64_t)st->st_mtim.tv_nsec,
		(uint64_t)st->st_ctim.tv_sec, (uint64_t)st->st_ctim.tv_nsec };

	crypto_hash_sha256_update(&s->hash, (const unsigned char *)numbers, sizeof(numbers));
	if (st->st_ctim.tv_sec > s->newest.tv_sec)
		s->newest = st->st_ctim;
}

static void skills_stamp_text(struct skills_stamp *s, const char *text)
{
	crypto_hash_sha256_update(&s->hash, (const unsigned char *)text, strlen(text) + 1);
}

static int skills_visit(void *data, const struct skill_entry *entry, struct error *e)
{
	struct skills_stamp *s = data;

	(void)e;
	skills_stamp_text(s, entry->path);
	skills_stamp_text(s, entry->target ? entry->target : "");
	skills_stamp_add(s, entry->st);
	return 0;
}

/* False: it must be read. */
static bool skills_stamp_take(const struct catalog_item *item, char out[SKILL_DIGEST_HEX])
{
	auto_fd fd = open(item->path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct skills_stamp s = { 0 };
	struct skill_digest digest;
	struct error e = { 0 };
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0)
		return false;
	crypto_hash_sha256_init(&s.hash);
	skills_stamp_text(&s, item->record->digest);
	skills_stamp_text(&s, item->record->approved_at);
	skills_stamp_text(&s, item->record->permissions);
	skills_stamp_add(&s, &st);
	if (skill_walk(fd, NULL, skills_visit, &s, &e) < 0)
		return false;
	crypto_hash_sha256_final(&s.hash, digest.bytes);
	skill_digest_hex(&digest, out);
	return (uint64_t)s.newest.tv_sec * 1000 + SKILLS_SETTLED_MS < clock_ms(CLOCK_REALTIME);
}

/* What was found, now or before */

static bool skills_name(const struct security *s, char path[PATH_BYTES])
{
	return s->state && snprintf(path, PATH_BYTES, "%s/skills.json", s->state) < PATH_BYTES;
}

/* One that cannot be read is as good as none: all skills are read. */
static void skills_open(struct skills *k)
{
	char path[PATH_BYTES];
	auto_buffer text = { 0 };
	struct error e = { 0 };

	if (skills_name(k->s, path) && file_read_regular(path, SKILLS_FILE_MAX, &text) == 0)
		(void)json_read(&k->before, path, buffer_text(&text), text.len, &e);
	k->w = (struct json_writer){ .out = &k->after };
	json_open_map(&k->w, NULL);
}

static void skills_close(struct skills *k)
{
	char path[PATH_BYTES];
	auto_buffer before = { 0 };

	json_line(&k->w);
	json_close(&k->w);
	buffer_addc(&k->after, '\n');
	if (k->s->records && !k->after.failed && skills_name(k->s, path) &&
		(file_read(path, SKILLS_FILE_MAX, &before) < 0 || before.len != k->after.len ||
			memcmp(before.data, k->after.data, before.len) != 0))
		/* Without it the next look takes longer. */
		(void)file_replace(path, k->after.data, k->after.len, 0600);
	document_deinit(&k->before);
	buffer_deinit(&k->after);
}

static void skills_record(
	struct skills *k, const struct catalog_item *item, const struct skills_known *known)
{
	json_line(&k->w);
	json_put_format(
		&k->w, item->id, "%s %" PRIu64 " %s", known->stamp, known->read_s, known->state);
}

static struct skills_known skills_recall(const struct skills *k, const struct catalog_item *item)
{
	struct skills_known known = { 0 };
	const char *text = k->before.root && k->before.root->type == NODE_MAP
				   ? node_get_text(k->before.root, item->id)
				   : "";
	const char *seconds = strchr(text, ' '), *state = seconds ? strchr(seconds + 1, ' ') : NULL;

	if (!state || (size_t)(seconds - text) >= sizeof(known.stamp) ||
		strlen(state) > sizeof(known.state))
		return known;
	(void)snprintf(known.stamp, sizeof(known.stamp), "%.*s", (int)(seconds - text), text);
	(void)snprintf(known.state, sizeof(known.state), "%s", state + 1);
	known.read_s = strtoull(seconds + 1, NULL, 10);
	return known;
}

/* What it is; NULL: that is not known. *ret_sure: another look would find the same. */
static const char *skills_read(struct skills *k, const struct catalog *all,
	const struct catalog_item *item, uint64_t now, bool *ret_sure)
{
	const struct reading reading = {
		.kind = READING_APPROVE, .catalog = all, .item = item, .ms = k->until - now
	};
	const bool is_late = k->is_late;
	struct call quiet = *k->s->call;
	auto_document d = { 0 };
	struct error e = { 0 };
	int r;

	quiet.error = &e;
	k->is_late = true;
	r = reading_run(&quiet, &reading, &d, NULL);
	*ret_sure = r != -ETIME && r != -EIO;
	if (r == -ENOMEM || r == -ENOTSUP || (r == -ETIME && is_late))
		return NULL;
	return reading_state(item, r < 0 ? NULL : &d);
}

/* Whether one that has the same stamp is to be read once more. */
static bool skills_is_due(const struct skills *k, const struct skills_known *known, uint64_t now)
{
	const uint64_t now_s = clock_ms(CLOCK_REALTIME) / 1000;

	return (known->read_s > now_s || now_s - known->read_s >= SKILLS_AGAIN_S) &&
	       now - k->began < SKILLS_AGAIN_MS;
}

static struct skills_known skills_look(
	struct skills *k, const struct catalog *all, const struct catalog_item *item)
{
	struct skills_known before = skills_recall(k, item);
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	struct skills_known known = { .read_s = clock_ms(CLOCK_REALTIME) / 1000 };
	bool is_settled = false, is_same = false, is_sure = false, is_tried = false;
	const char *state = NULL;

	if (now < k->until) {
		is_settled = skills_stamp_take(item, known.stamp);
		is_same = is_settled && before.state[0] && strcmp(before.stamp, known.stamp) == 0;
		is_tried = !is_same || skills_is_due(k, &before, now);
		if (is_tried)
			state = skills_read(k, all, item, now, &is_sure);
	}
	/* What is not known now is as it was; but not for what is there now. One that takes all the
	 * time by itself leaves the next looks to others. */
	if (is_same && (!state || !is_sure)) {
		before.read_s = is_tried ? known.read_s : before.read_s;
		return before;
	}
	if (!is_settled || !is_sure || !state)
		(void)strcpy(known.stamp, "-");
	(void)snprintf(known.state, sizeof(known.state), "%s", state ? state : before.state);
	return known;
}

static void skills_tell(struct security *s, const char *path, bool is_readable)
{
	auto_buffer text = { 0 }, remedy = { 0 };

	buffer_adds(&text, "the skill ");
	buffer_add_visible(&text, path, strlen(path));
	buffer_adds(&text, is_readable ? " is not what was approved"
				       : " was approved, and cannot be read any more");
	buffer_adds(&remedy, "see what changed: corral skills changes ");
	output_shell_word(&remedy, path);
	buffer_adds(&remedy, "; if it is right: corral approve ");
	output_shell_word(&remedy, path);
	security_add(s, "skill_changed", SECURITY_MEDIUM, path, buffer_text(&text),
		buffer_text(&remedy));
}

void security_check_skills(struct security *s)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	struct skills k = { .s = s, .began = now, .until = now + SKILLS_LOOK_MS };
	struct arena *a = s->call->arena;
	struct approval_records records = { 0 };
	struct catalog all = { 0 };
	struct error e = { 0 };

	if (launch_skill_approvals(&all.approvals, a, &e) < 0 ||
		approval_list(all.approvals, a, &records, &e) < 0 || records.n == 0)
		return;
	skills_open(&k);
	for (size_t i = 0; i < records.n; i++) {
		struct catalog_item item = { .path = records.items[i].path,
			.record = &records.items[i] };
		struct skills_known known;
		char real[PATH_BYTES];

		if (!realpath(item.path, real) || strcmp(real, item.path) != 0)
			continue;
		approval_id(item.path, item.id);
		known = skills_look(&k, &all, &item);
		if (known.state[0])
			skills_record(&k, &item, &known);
		if (known.state[0] && strcmp(known.state, "approved") != 0)
			skills_tell(s, item.path, strcmp(known.state, "changed") == 0);
	}
	skills_close(&k);
}
