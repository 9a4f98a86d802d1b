/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls that are watched are those by which a program learns that something is missing: what
 * takes a descriptor has passed one of these before. Attributes are left out: who reads them has
 * asked for the file itself, too.
 */
#include "jail/notify.h"

#include <errno.h>
#include <linux/seccomp.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5)
#endif

/* clang-format off */
#define HERE NOTIFY_ABSENT
#define AT(kind, folder, path) { NOTIFY_##kind, (folder), (path) }
#define ONE(...) { __VA_ARGS__ }
static const struct notify_call calls[] = {
	{ "open", ONE(AT(OPEN, HERE, 0)), 1, false },
	{ "openat", ONE(AT(OPEN, 0, 1)), 2, false },
	{ "creat", ONE(AT(MAKE, HERE, 0)), HERE, false },
	{ "access", ONE(AT(ACCESS, HERE, 0)), 1, false },
	{ "faccessat", ONE(AT(ACCESS, 0, 1)), 2, false },
	{ "faccessat2", ONE(AT(ACCESS, 0, 1)), 2, false },
	{ "stat", ONE(AT(LOOK, HERE, 0)), HERE, false },
	{ "lstat", ONE(AT(LOOK, HERE, 0)), HERE, true },
	{ "newfstatat", ONE(AT(LOOK, 0, 1)), 3, false },
	{ "statx", ONE(AT(LOOK, 0, 1)), 2, false },
	{ "readlink", ONE(AT(LOOK, HERE, 0)), HERE, true },
	{ "readlinkat", ONE(AT(LOOK, 0, 1)), HERE, true },
	{ "chdir", ONE(AT(LOOK, HERE, 0)), HERE, false },
	{ "truncate", ONE(AT(CHANGE, HERE, 0)), HERE, false },
	{ "chmod", ONE(AT(CHANGE, HERE, 0)), HERE, false },
	{ "fchmodat", ONE(AT(CHANGE, 0, 1)), HERE, false },
	{ "fchmodat2", ONE(AT(CHANGE, 0, 1)), 3, false },
	{ "chown", ONE(AT(CHANGE, HERE, 0)), HERE, false },
	{ "lchown", ONE(AT(CHANGE, HERE, 0)), HERE, true },
	{ "fchownat", ONE(AT(CHANGE, 0, 1)), 4, false },
	{ "utime", ONE(AT(CHANGE, HERE, 0)), HERE, false },
	{ "utimes", ONE(AT(CHANGE, HERE, 0)), HERE, false },
	{ "futimesat", ONE(AT(CHANGE, 0, 1)), HERE, false },
	{ "utimensat", ONE(AT(CHANGE, 0, 1)), 3, false },
	{ "mkdir", ONE(AT(MAKE, HERE, 0)), HERE, true },
	{ "mkdirat", ONE(AT(MAKE, 0, 1)), HERE, true },
	{ "mknod", ONE(AT(MAKE, HERE, 0)), HERE, true },
	{ "mknodat", ONE(AT(MAKE, 0, 1)), HERE, true },
	{ "symlink", ONE(AT(MAKE, HERE, 1)), HERE, true },
	{ "symlinkat", ONE(AT(MAKE, 1, 2)), HERE, true },
	{ "link", { AT(LOOK, HERE, 0), AT(MAKE, HERE, 1) }, HERE, true },
	{ "linkat", { AT(LOOK, 0, 1), AT(MAKE, 2, 3) }, HERE, true },
	{ "rename", { AT(REMOVE, HERE, 0), AT(MAKE, HERE, 1) }, HERE, true },
	{ "renameat", { AT(REMOVE, 0, 1), AT(MAKE, 2, 3) }, HERE, true },
	{ "renameat2", { AT(REMOVE, 0, 1), AT(MAKE, 2, 3) }, HERE, true },
	{ "unlink", ONE(AT(REMOVE, HERE, 0)), HERE, true },
	{ "unlinkat", ONE(AT(REMOVE, 0, 1)), HERE, true },
	{ "rmdir", ONE(AT(REMOVE, HERE, 0)), HERE, true },
	{ "execve", ONE(AT(EXEC, HERE, 0)), HERE, false },
	{ "execveat", ONE(AT(EXEC, 0, 1)), HERE, false },
	{ "connect", ONE(AT(CONNECT, HERE, 1)), 2, false },
	{ "clone", ONE(AT(NAMESPACE, HERE, HERE)), 0, false },
	{ "unshare", ONE(AT(NAMESPACE, HERE, HERE)), 0, false },
};
/* clang-format on */

static int notify_number_of(const struct seccomp_arch *arch, const char *name)
{
	for (size_t i = 0; i < seccomp_n_calls; i++)
		if (strcmp(seccomp_calls[i].name, name) == 0)
			return seccomp_calls[i].numbers[arch->column];
	return SECCOMP_NONE;
}

void notify_calls(const struct notify_call *ret[SECCOMP_NUMBERS], const struct seccomp_arch *arch)
{
	memset(ret, 0, SECCOMP_NUMBERS * sizeof(*ret));
	for (size_t i = 0; i < ROWS(calls); i++) {
		int number = notify_number_of(arch, calls[i].name);

		if (number != SECCOMP_NONE)
			ret[number] = &calls[i];
	}
}

/* Some calls are stopped for some arguments only. */
static const struct {
	const char *name;
	enum seccomp_rule rule;
} rules[] = {
	/* Two with which most programs ask about an open file, and those name none. */
	{ "newfstatat", RULE_NOTIFY_FSTATAT },
	{ "statx", RULE_NOTIFY_STATX },
	/* With flags for namespaces. */
	{ "clone", RULE_NOTIFY_CLONE },
	{ "unshare", RULE_NOTIFY_UNSHARE },
};

static enum seccomp_rule notify_rule_of(const char *name)
{
	for (size_t i = 0; i < ROWS(rules); i++)
		if (strcmp(rules[i].name, name) == 0)
			return rules[i].rule;
	return RULE_NOTIFY;
}

void notify_table(struct seccomp_table *ret, const struct seccomp_arch *arch)
{
	ret->arch = arch;
	ret->rest = RULE_ALLOW;
	memset(ret->rules, RULE_ALLOW, sizeof(ret->rules));
	for (size_t i = 0; i < ROWS(calls); i++) {
		const char *name = calls[i].name;
		int number = notify_number_of(arch, name);

		if (number != SECCOMP_NONE)
			ret->rules[number] = notify_rule_of(name);
	}
}

int notify_install(void)
{
	struct seccomp_table t;
	int r;

	notify_table(&t, seccomp_native);
	/* So that a signal does not break off a call that is being looked at. Since Linux 5.19. */
	r = seccomp_install(
		&t, SECCOMP_FILTER_FLAG_NEW_LISTENER | SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV);
	return r == -EINVAL ? seccomp_install(&t, SECCOMP_FILTER_FLAG_NEW_LISTENER) : r;
}

int notify_sizes(struct seccomp_notif_sizes *ret)
{
	return syscall(SYS_seccomp, SECCOMP_GET_NOTIF_SIZES, 0, ret) < 0 ? -errno : 0;
}
