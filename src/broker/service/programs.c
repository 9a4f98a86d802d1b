/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/programs.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/path.h"
#include "broker/service/table.h"
#include "host/links.h"

/* Entries of a folder that are asked about; the policy's patterns for more are asked by one name.
 */
enum { PROGRAMS_ENTRIES_MAX = 4096 };

/* One that must be asked for counts: the answer may be yes. */
static bool programs_may_write(const struct policy *p, const char *path)
{
	const struct request request = { .op = OPERATION_FS_WRITE, .target = path };
	struct decision d;

	return policy_decide(p, &request, &d) < 0 || d.verdict != VERDICT_DENY;
}

struct programs_walk {
	const struct policy *policy;
	bool may_write;
};

static int programs_on_link(void *data, const char *link, const char *target)
{
	struct programs_walk *w = data;

	(void)target;
	w->may_write = w->may_write || programs_may_write(w->policy, link);
	return 0;
}

/* Something in the folder, or something new. */
static bool programs_may_write_in(const struct policy *p, const char *folder)
{
	DIR *dir = opendir(folder);
	bool may_write = false;
	char path[PATH_BYTES];
	const struct dirent *d;

	if (dir)
		may_write = snprintf(path, sizeof(path), "%s/program", folder) >= PATH_BYTES ||
			    programs_may_write(p, path);
	for (unsigned n = 0; dir && !may_write && (d = readdir(dir));) {
		if (n++ == PROGRAMS_ENTRIES_MAX ||
			snprintf(path, sizeof(path), "%s/%s", folder, d->d_name) >= PATH_BYTES)
			may_write = true;
		else if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
			may_write = programs_may_write(p, path);
	}
	if (dir)
		(void)closedir(dir);
	return may_write;
}

static int programs_check_one(
	const struct policy *p, const struct value_item *item, const char *section, struct error *e)
{
	struct programs_walk w = { .policy = p };
	char real[PATH_BYTES];
	int r = links_walk(item->text, programs_on_link, &w, real);

	if (r < 0)
		return error_set(e, r, NULL, "%s: %s: %s", section, item->text, strerror(-r));
	if (!w.may_write && !programs_may_write(p, item->text) && !programs_may_write(p, real) &&
		!programs_may_write_in(p, real))
		return 0;
	(void)error_set(e, -EACCES, NULL,
		"%s: the sandbox may write %s, which would run outside of it", section, item->text);
	error_hint(e, "set `%s` of `%s` in services.yaml to what no sandbox may write", item->key,
		section);
	return -EACCES;
}

int service_programs_check(
	const struct policy *p, const struct service_section *section, struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && section && i < section->n; i++) {
		const struct schema_field *k =
			service_key_find(section->name, section->items[i].key);

		if (k->is_program)
			r = programs_check_one(p, &section->items[i], section->name, e);
	}
	return r;
}

void service_programs_filter(const struct policy *p, const char *list, struct buffer *out)
{
	char path[PATH_BYTES];

	while (*list) {
		const int len = (int)strcspn(list, ":");
		const int n = snprintf(path, sizeof(path), "%.*s/program", len, list);
		bool may_write = n >= PATH_BYTES || programs_may_write(p, path);

		path[len < PATH_BYTES ? len : 0] = '\0';
		may_write = may_write || programs_may_write(p, path);
		if (!may_write)
			buffer_printf(out, "%s%s", out->len ? ":" : "", path);
		list += len + (list[len] == ':');
	}
}
