/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/privilege.h"

#include <errno.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int privilege_keep(uint64_t capabilities)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (unsigned i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(capabilities >> 32 * i);
	return syscall(SYS_capset, &header, data) < 0 ? -errno : 0;
}

int privilege_bound(void)
{
	/* Named one by one: newer kernels have bits that change how interpreters behave. */
	const unsigned long bits = SECBIT_NOROOT | SECBIT_NOROOT_LOCKED | SECBIT_NO_SETUID_FIXUP |
				   SECBIT_NO_SETUID_FIXUP_LOCKED | SECBIT_KEEP_CAPS_LOCKED |
				   SECBIT_NO_CAP_AMBIENT_RAISE | SECBIT_NO_CAP_AMBIENT_RAISE_LOCKED;
	unsigned long c = 0;

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECUREBITS, bits, 0, 0, 0) < 0)
		return -errno;
	/* The bounding set. EINVAL: the kernel knows no more of them. */
	while (c < 64 && prctl(PR_CAPBSET_DROP, c, 0, 0, 0) == 0)
		c++;
	if (c < 64 && (errno != EINVAL || c <= CAP_AUDIT_READ))
		return -errno;
	return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 ? -errno : 0;
}

int privilege_reduce(void)
{
	return privilege_keep(UINT64_C(1) << CAP_SYS_ADMIN);
}

int privilege_drop(void)
{
	return privilege_keep(0);
}

int privilege_renounce(void)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	int r;

	if (syscall(SYS_capget, &header, data) < 0)
		return -errno;
	/* Who has it not has nothing to lose but the way to new privileges. */
	if (data[CAP_SETPCAP / 32].effective & 1U << CAP_SETPCAP % 32)
		r = privilege_bound();
	else
		r = prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ? -errno : 0;
	return r < 0 ? r : privilege_keep(0);
}

uint32_t privilege_suspend(void)
{
	const uint32_t files = 1U << CAP_DAC_OVERRIDE | 1U << CAP_DAC_READ_SEARCH;
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };
	uint32_t suspended;

	if (syscall(SYS_capget, &header, data) < 0 || !(data[0].effective & files))
		return 0;
	suspended = data[0].effective & files;
	data[0].effective &= ~files;
	return syscall(SYS_capset, &header, data) < 0 ? 0 : suspended;
}

void privilege_resume(uint32_t suspended)
{
	struct __user_cap_header_struct header = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	if (!suspended || syscall(SYS_capget, &header, data) < 0)
		return;
	data[0].effective |= suspended;
	(void)syscall(SYS_capset, &header, data);
}

int privilege_hide(void)
{
	return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? -errno : 0;
}
