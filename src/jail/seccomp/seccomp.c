/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Installing the filters. What they say is in seccomp/calls.h and seccomp/rules.c; how it becomes
 * a program, in seccomp/program.c. All of it is done anew for each installation: a few microseconds
 * against the tens that the kernel takes for checking and translating.
 */
#include <errno.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "jail/seccomp/program.h"
#include "jail/seccomp/seccomp.h"

static int seccomp_install(const struct seccomp_table *t)
{
	struct seccomp_program p;
	struct sock_fprog f;
	int r = seccomp_program_make(&p, t);

	if (r < 0)
		return r;
	f.filter = seccomp_program_code(&p);
	f.len = (unsigned short)seccomp_program_length(&p);
	if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &f) < 0)
		return -errno;
	return 0;
}

int seccomp_base(const struct seccomp_options *o)
{
	struct seccomp_table t;

	seccomp_table_base(&t, seccomp_native, o);
	return seccomp_install(&t);
}

int seccomp_close(void)
{
	struct seccomp_table t;

	seccomp_table_close(&t, seccomp_native);
	return seccomp_install(&t);
}
