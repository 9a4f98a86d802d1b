/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The two filters as tables, and installing them. seccomp/calls.h says for each call under which
 * rule it falls, seccomp/rules.c what a rule asks, and seccomp/program.c makes a program of it: all
 * done anew for each installation, a few microseconds against the tens that the kernel takes for
 * checking and translating. docs/syscalls.md tells the reasons.
 *
 * The closing filter answers ALLOW to all that it does not name: it runs together with the base
 * filter, and the kernel takes the stricter of two answers.
 */
#include "jail/seccomp/seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/seccomp/table.h"

const struct seccomp_arch seccomp_x86_64 = { AUDIT_ARCH_X86_64, true, 0 };
const struct seccomp_arch seccomp_aarch64 = { AUDIT_ARCH_AARCH64, false, 1 };

#if defined(__x86_64__) && defined(__LP64__)
const struct seccomp_arch *const seccomp_native = &seccomp_x86_64;
#elif defined(__aarch64__) && defined(__LP64__) && defined(__AARCH64EL__)
const struct seccomp_arch *const seccomp_native = &seccomp_aarch64;
#else
#error "no table of system calls for this architecture"
#endif

#define NONE SECCOMP_NONE
#define CALL(name, x86_64, aarch64, rule) { #name, { x86_64, aarch64 }, RULE_##rule },
const struct seccomp_call seccomp_calls[] = {
#include "jail/seccomp/calls.h"
};
#undef CALL
const size_t seccomp_n_calls = ROWS(seccomp_calls);

/* Places in seccomp_calls, so that the closing filter can name calls and not their numbers. */
#define CALL(name, x86_64, aarch64, rule) CALL_##name,
enum {
#include "jail/seccomp/calls.h"
};
#undef CALL

static const struct {
	uint16_t call;
	uint8_t rule;
} closed[] = {
	{ CALL_clone, RULE_CLONE_CLOSED },
	{ CALL_unshare, RULE_UNSHARE_CLOSED },
	{ CALL_mount, RULE_EPERM },
	{ CALL_umount2, RULE_EPERM },
	{ CALL_open_tree, RULE_EPERM },
	{ CALL_move_mount, RULE_EPERM },
	{ CALL_fsopen, RULE_EPERM },
	{ CALL_fsconfig, RULE_EPERM },
	{ CALL_fsmount, RULE_EPERM },
	{ CALL_fspick, RULE_EPERM },
	{ CALL_mount_setattr, RULE_EPERM },
	/* Its mode is in memory, where no filter sees it. */
	{ CALL_openat2, RULE_ENOSYS },
	/* The base filter may have let one listener be made (notify.h). */
	{ CALL_seccomp, RULE_SECCOMP },
};

/* By its number a System V object is used without being asked for, so all calls are named. */
static const struct {
	uint16_t call;
	uint8_t rule;
} shared[] = {
	{ CALL_socket, RULE_SOCKET_NO_UNIX },
	{ CALL_socketpair, RULE_SOCKETPAIR_FIXED },
	{ CALL_shmget, RULE_EPERM },
	{ CALL_shmat, RULE_EPERM },
	{ CALL_shmctl, RULE_EPERM },
	{ CALL_semget, RULE_EPERM },
	{ CALL_semop, RULE_EPERM },
	{ CALL_semtimedop, RULE_EPERM },
	{ CALL_semctl, RULE_EPERM },
	{ CALL_msgget, RULE_EPERM },
	{ CALL_msgsnd, RULE_EPERM },
	{ CALL_msgrcv, RULE_EPERM },
	{ CALL_msgctl, RULE_EPERM },
	{ CALL_mq_open, RULE_EPERM },
	{ CALL_mq_unlink, RULE_EPERM },
};

static void seccomp_table_set(struct seccomp_table *t, size_t call, uint8_t rule)
{
	int number = seccomp_calls[call].numbers[t->arch->column];

	if (number != SECCOMP_NONE)
		t->rules[number] = rule;
}

void seccomp_table_base(
	struct seccomp_table *ret, const struct seccomp_arch *arch, const struct seccomp_options *o)
{
	*ret = (struct seccomp_table){ .arch = arch, .rest = RULE_ENOSYS };
	for (size_t i = 0; i < ROWS(seccomp_calls); i++)
		seccomp_table_set(ret, i, seccomp_calls[i].rule);
	if (o->no_memfd_exec)
		seccomp_table_set(ret, CALL_memfd_create, RULE_MEMFD_NOEXEC);
	if (o->listener) {
		seccomp_table_set(ret, CALL_seccomp, RULE_ALLOW);
		seccomp_table_set(ret, CALL_clone, RULE_CLONE_WATCHED);
		seccomp_table_set(ret, CALL_unshare, RULE_UNSHARE_WATCHED);
	}
	for (size_t i = 0; o->shared && i < ROWS(shared); i++)
		seccomp_table_set(ret, shared[i].call, shared[i].rule);
	if (o->no_unix) {
		seccomp_table_set(ret, CALL_socket, RULE_SOCKET_INET);
		seccomp_table_set(
			ret, CALL_socketpair, o->pairs ? RULE_SOCKETPAIR_FIXED : RULE_EPERM);
	}
	if (o->only_unix)
		seccomp_table_set(ret, CALL_socket, RULE_SOCKET_UNIX);
	if (o->no_sockets) {
		seccomp_table_set(ret, CALL_socket, RULE_EPERM);
		seccomp_table_set(ret, CALL_socketpair, RULE_EPERM);
	}
	if (o->no_exec) {
		seccomp_table_set(ret, CALL_execve, RULE_EPERM);
		seccomp_table_set(ret, CALL_execveat, RULE_EPERM);
	}
	if (o->keys) {
		seccomp_table_set(ret, CALL_add_key, RULE_ALLOW);
		seccomp_table_set(ret, CALL_keyctl, RULE_KEYCTL);
	}
	/* Each of these rules permits no more than the one that it takes the place of. */
	for (size_t i = 0; o->closed && i < ROWS(closed); i++)
		seccomp_table_set(ret, closed[i].call, closed[i].rule);
}

void seccomp_table_close(struct seccomp_table *ret, const struct seccomp_arch *arch, bool watched)
{
	ret->arch = arch;
	ret->rest = RULE_ALLOW;
	memset(ret->rules, RULE_ALLOW, sizeof(ret->rules));
	for (size_t i = 0; i < ROWS(closed); i++) {
		bool heard = closed[i].call == CALL_clone || closed[i].call == CALL_unshare;

		/* What this filter refuses, the one of notify.h would not hear of. */
		if (!(watched && heard))
			seccomp_table_set(ret, closed[i].call, closed[i].rule);
	}
}

int seccomp_install(const struct seccomp_table *t, unsigned long flags)
{
	struct seccomp_program p;
	struct sock_fprog f;
	int r = seccomp_program_make(&p, t);
	long fd;

	if (r < 0)
		return r;
	f.filter = seccomp_program_code(&p);
	f.len = (unsigned short)seccomp_program_length(&p);
	fd = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &f);
	return fd < 0 ? -errno : (int)fd;
}

int seccomp_base(const struct seccomp_options *o)
{
	struct seccomp_table t;

	seccomp_table_base(&t, seccomp_native, o);
	return seccomp_install(&t, 0);
}

int seccomp_close(bool watched)
{
	struct seccomp_table t;

	seccomp_table_close(&t, seccomp_native, watched);
	return seccomp_install(&t, 0);
}

int seccomp_feign_connect(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_connect, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	const struct sock_fprog program = { .len = ROWS(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) < 0)
		return -errno;
	return 0;
}
