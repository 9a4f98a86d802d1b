/* SPDX-License-Identifier: Apache-2.0 */
/* Landlock: which version, and whether it really closes a door. */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/probe/internal.h"

enum { CREATE_VERSION = 1, FIRST_RIGHTS = (1 << 13) - 1 };

static int version(void)
{
	long r = syscall(SYS_landlock_create_ruleset, NULL, 0, CREATE_VERSION);

	return r < 0 ? -errno : (int)r;
}

int probe_landlock_abi(void)
{
	int abi = version();

	return abi < 0 ? 0 : abi;
}

int probe_landlock(struct probe_answer *a)
{
	const uint64_t rights = FIRST_RIGHTS;
	int abi = version();

	if (abi < 0)
		return probe_fail(a, -abi, "asking for Landlock's version");
	auto_fd rules = (int)syscall(SYS_landlock_create_ruleset, &rights, sizeof(rights), 0);
	if (rules < 0)
		return probe_fail(a, errno, "making a Landlock ruleset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return probe_fail(a, errno, "setting no_new_privs");
	if (syscall(SYS_landlock_restrict_self, rules, 0) < 0)
		return probe_fail(a, errno, "entering a Landlock ruleset");
	auto_fd fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES)
		return probe_fail(a, EEXIST, "being refused / by Landlock");
	(void)snprintf(a->detail, sizeof(a->detail), "ABI %d", abi);
	return 0;
}

void probe_landlock_rights(int abi, char *text, size_t size)
{
	static const struct {
		int abi;
		const char *names;
	} rows[] = {
		{ 1, "execute write_file read_file read_dir remove_dir remove_file make_char "
		     "make_dir make_reg make_sock make_fifo make_block make_sym" },
		{ 2, " refer" },
		{ 3, " truncate" },
		{ 4, " bind_tcp connect_tcp" },
		{ 5, " ioctl_dev" },
		{ 6, " scope_abstract_unix_socket scope_signal" },
	};
	size_t len = 0;

	if (size > 0)
		text[0] = '\0';
	for (size_t i = 0; i < ROWS(rows) && abi >= rows[i].abi; i++) {
		size_t n = strlen(rows[i].names);

		if (n >= size - len)
			return;
		memcpy(text + len, rows[i].names, n + 1);
		len += n;
	}
}
