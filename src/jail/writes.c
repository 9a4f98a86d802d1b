/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/writes.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/keyring.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "jail/mount.h"
#include "jail/privilege.h"
#include "jail/seccomp/seccomp.h"

/* Devices that every program writes to. No other terminals: those are the user's, with programs in
 * them that take what is written there for their own. */
static const char *const devices[] = { "/dev/null", "/dev/zero", "/dev/full", "/dev/random",
	"/dev/urandom", "/dev/tty" };

/* By no link, so that what is granted is what was checked. */
static int writes_grant(int rules, int version, const char *path, unsigned access)
{
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd fd = root < 0 ? -errno : mount_open(root, path[1] ? path + 1 : ".");

	return fd < 0 ? fd : landlock_grant(rules, version, fd, access);
}

static int writes_rules(const char *const *folders, size_t n, struct error *e)
{
	int version = landlock_version(), r;
	auto_fd rules = -1;

	if (version < WRITES_LANDLOCK_MIN) {
		r = error_set(e, -EOPNOTSUPP, NULL,
			"tier 3 needs version %d of Landlock, and this kernel has %s%.0d",
			WRITES_LANDLOCK_MIN, version > 0 ? "version " : "none",
			version > 0 ? version : 0);
		error_hint(e, "Linux 6.2 or newer has it; `corral doctor` says what is there");
		return r;
	}
	rules = landlock_new(version, true);
	r = rules < 0 ? rules : writes_grant(rules, version, "/", LANDLOCK_READ | LANDLOCK_EXECUTE);
	for (size_t i = 0; r == 0 && i < ROWS(devices); i++) {
		r = writes_grant(rules, version, devices[i],
			LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE);
		r = r == -ENOENT ? 0 : r;
	}
	if (r < 0)
		return error_set(e, r, NULL, "cannot make Landlock rules: %s", strerror(-r));
	for (size_t i = 0; i < n; i++) {
		r = writes_grant(rules, version, folders[i],
			LANDLOCK_READ | LANDLOCK_EXECUTE | LANDLOCK_WRITE);
		if (r < 0)
			return error_set(e, r, NULL, "cannot make a Landlock rule for %s: %s",
				folders[i], strerror(-r));
	}
	return fd_take(&rules);
}

int writes_confine(const char *const *folders, size_t n, struct error *e)
{
	const struct seccomp_options filter = { .shared = true };
	auto_fd rules = writes_rules(folders, n, e);
	int r;

	if (rules < 0)
		return rules;
	r = keyring_leave();
	if (r == 0)
		r = rlimits_keep_room();
	if (r == 0)
		r = privilege_renounce();
	if (r == 0)
		r = landlock_enter(rules);
	if (r == 0)
		r = seccomp_base(&filter);
	if (r == 0)
		r = seccomp_close(false);
	return r < 0 ? error_set(e, r, NULL, "cannot confine the command: %s", strerror(-r)) : 0;
}
