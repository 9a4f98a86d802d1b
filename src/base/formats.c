/* SPDX-License-Identifier: Apache-2.0 */
#include "base/formats.h"

#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"

#define MOVE_AWAY "move the file to another folder"

const struct format_row formats_rows[FORMAT_COUNT] = {
	[FORMAT_AUDIT_LOG] = { "audit log",
		"`audit.db` in the user's state folder, or --audit FILE",
		"`PRAGMA user_version`; the signed heads beside it belong to it", "", 1, 1,
		"move it with the files that begin with its name to another folder" },
	[FORMAT_MISSED] = { "file of events that the daemon missed",
		"`missed/ID`, `missed/ID.N` beside "
		"the daemon's log",
		"first line, `corral missed N`", "", 1, 1, MOVE_AWAY },
	[FORMAT_PROOF] = { "proof", "what `corral audit prove` printed",
		"key `format`, `corral-audit-proof-N`", "", 1, 1,
		"check it with the Corral that made it" },
	[FORMAT_APPROVAL] = { "approval",
		"`approvals/DIGEST.json`, of projects `projects/DIGEST.json`, in the user's state "
		"folder",
		"key `version`; none is 0",
		"read as it is; replaced by the next approval, and the old file stays as `NAME.v0`",
		0, 1, MOVE_AWAY " and approve it again" },
	[FORMAT_HISTORY] = { "history of stored policies",
		"folder `policies` in the user's state folder", "file `version`; none is 0",
		"`version` is added; nothing else changed", 0, 1,
		"move the folder away; policies themselves are not in it" },
	[FORMAT_SERVICES] = { "configuration of services", "`services.yaml`, written by users, too",
		"key `version`; none is 1", "", 1, 1, MOVE_AWAY },
	[FORMAT_DAEMON] = { "configuration of the daemon",
		"`daemon.json`, `daemon.yaml`, written by "
		"users, too",
		"key `version`, up to the first dot; none is 1", "read as it is", 0, 1, MOVE_AWAY },
	[FORMAT_POLICY_CACHE] = { "cache of policies", "`policy-cache` in the user's state folder",
		"the program that made an entry", "made again, as every entry that does not fit", 1,
		1, "nothing" },
	[FORMAT_MODULE_CACHE] = { "cache of compiled modules",
		"`wasm-cache` in the user's state folder", "in the hash that names an entry",
		"made again, as every entry that does not fit", 1, 1, "nothing" },
	[FORMAT_VAULT] = { "vault", "`vault/vault` in the user's state folder",
		"first line, `corral vault N`", "", 1, 1,
		"move the folder `vault` to another place" },
	[FORMAT_PROJECT] = { "file of a project", "`corral.yaml`, written by users, too",
		"key `version`; none is 1", "", 1, 1, "use `corral run --no-project`" },
	[FORMAT_UNDO] = { "record of a run with --undo",
		"folder `undo/RUN` in the user's state folder",
		"first line of the file `run`, `corral undo N`", "", 1, 1,
		"move the folder to another place" },
	[FORMAT_FAILED] = { "record of a command that failed",
		"`failed/HASH` in the user's state folder", "first words, `corral failed N`",
		"made again, as every entry that does not fit", 1, 1, "nothing" },
	[FORMAT_MCP_PINS] = { "approval of an MCP server",
		"`mcp-pins/HASH` in the user's state folder",
		"key `version` in its second line; the first is a mark", "", 1, 1,
		MOVE_AWAY " and approve it again" },
};

int formats_check(enum format f, uint64_t version, const char *path, struct error *e)
{
	const struct format_row *row = &formats_rows[f];

	if (version >= row->oldest && version <= row->version)
		return version < row->version;
	(void)error_set(e, -ENOTSUP, NULL,
		"%s: the %s has version %" PRIu64 ", and this build of Corral reads %s%" PRIu32,
		path, row->name, version, row->oldest < row->version ? "up to " : "", row->version);
	if (version > row->version)
		error_hint(e, "a newer Corral wrote it: upgrade Corral, or %s", row->instead);
	else
		error_hint(e, "%s", row->instead);
	return -ENOTSUP;
}

/* The old file under a second name: nothing is copied that could be cut off. */
static int formats_keep(const char *path, const char *kept)
{
	auto_buffer old = { 0 };
	enum { COPY_MAX = 64 << 20 };
	int r;

	if (link(path, kept) == 0 || errno == EEXIST)
		return 0;
	/* A file system without links. */
	if (errno != EPERM && errno != EOPNOTSUPP && errno != EMLINK && errno != ENOSYS)
		return -errno;
	r = file_read(path, COPY_MAX, &old);
	return r < 0 ? r : file_replace(kept, old.data, old.len, 0600);
}

int formats_replace(const char *path, uint64_t old, const void *data, size_t len, unsigned mode)
{
	auto_buffer kept = { 0 };
	int r;

	buffer_printf(&kept, "%s.v%" PRIu64, path, old);
	if (kept.failed)
		return -ENOMEM;
	r = formats_keep(path, kept.data);
	return r < 0 ? r : file_replace(path, data, len, mode);
}
