/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/undo/internal.h"
#include "host/own.h"
#include "host/state-cache.h"

/* The start of the machine: what was written before a crash of it may not be on disk. */
static void keep_boot(char out[40])
{
	auto_buffer text = { 0 };

	out[0] = '\0';
	if (file_read("/proc/sys/kernel/random/boot_id", 64, &text) < 0 || text.len < 36)
		return;
	memcpy(out, text.data, 36);
	out[36] = '\0';
}

/* A folder that holds Corral's state, or most of the machine, is no project. */
static int keep_check_folder(const char *folder, struct error *e)
{
	const char *home = secure_getenv("HOME");
	char own[PATH_BYTES];
	const char *why = NULL;

	if (strcmp(folder, "/") == 0)
		why = "it is the whole system";
	else if (home && path_is_normal(home, strlen(home)) && path_is_below(home, folder))
		why = "it holds your home";
	else if (own_has(folder, true) ||
		 (state_cache_path("undo", own) &&
			 (path_is_below(own, folder) || path_is_below(folder, own))))
		why = "it holds Corral's own state";
	if (!why)
		return 0;
	(void)error_set(e, -EPERM, NULL, "--undo cannot keep %s: %s", folder, why);
	error_hint(e, "change to a project folder, or name one with --work-dir DIR");
	return -EPERM;
}

static int keep_open(struct undo *u, struct error *e)
{
	const struct open_how how = { .flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS };
	struct stat st;

	u->root = (int)syscall(SYS_openat2, AT_FDCWD, u->folder, &how, sizeof(how));
	if (u->root < 0 || fstat(u->root, &st) < 0)
		return error_set(
			e, -errno, NULL, "--undo: cannot open %s: %s", u->folder, strerror(errno));
	u->root_ino = st.st_ino;
	return 0;
}

static int keep_write(struct undo *u, struct error *e)
{
	auto_buffer text = { 0 };
	int r;

	undo_print_before(u, &text);
	r = undo_store_put(u, "before", &text);
	if (r < 0)
		return error_set(e, r, NULL,
			"--undo: cannot keep what is in %s: %s; nothing was run", u->folder,
			strerror(-r));
	u->is_kept = true;
	return 0;
}

int undo_keep(struct undo *u, const struct undo_options *o, struct error *e)
{
	int r = keep_check_folder(o->folder, e);

	if (r < 0)
		return r;
	u->limit = o->limit;
	u->started = undo_now();
	keep_boot(u->boot);
	u->folder = arena_strdup(&u->arena, o->folder);
	u->command = arena_strdup(&u->arena, o->command);
	if (!u->folder || !u->command)
		return error_no_memory(e);
	r = keep_open(u, e);
	if (r == 0)
		r = undo_store_begin(u, e);
	if (r < 0)
		return r;
	r = undo_walk(u, o, e);
	if (r == 0)
		r = undo_pack(u, e);
	if (r == 0)
		r = keep_write(u, e);
	if (r < 0)
		undo_store_drop(u);
	return r;
}

int undo_finish(struct undo *u, struct error *e)
{
	auto_buffer text = { 0 };
	int r;

	if (!u->is_kept)
		return 0;
	r = undo_find_changes(u, e);
	if (r < 0)
		return r;
	if (!undo_has_changes(u)) {
		undo_store_drop(u);
		return 0;
	}
	undo_print_changes(u, &text);
	r = undo_store_put(u, "changes", &text);
	if (r < 0)
		return error_set(e, r, NULL, "--undo: cannot record what changed in %s: %s",
			u->folder, strerror(-r));
	(void)unlinkat(u->record, "before", 0);
	u->is_kept = false;
	undo_pack_trim(u);
	return 0;
}
