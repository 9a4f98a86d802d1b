/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * For tests: this process and its children are as on a kernel without netfilter, which knows no
 * netlink protocol of that number.
 */
#include <errno.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/array.h"

/* The lower half of an argument, which is all of an int. */
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define WITHOUT_NFT_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n))
#else
#define WITHOUT_NFT_ARGUMENT(n) (offsetof(struct seccomp_data, args) + 8 * (n) + 4)
#endif
#define LOAD(offset) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offset)
#define UNLESS(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, 0, skip)

static struct sock_filter without_nft_rows[] = {
	LOAD(offsetof(struct seccomp_data, nr)),
	UNLESS(SYS_socket, 5),
	LOAD(WITHOUT_NFT_ARGUMENT(0)),
	UNLESS(AF_NETLINK, 3),
	LOAD(WITHOUT_NFT_ARGUMENT(2)),
	UNLESS(NETLINK_NETFILTER, 1),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPROTONOSUPPORT),
	BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
};

static inline int without_nft(void)
{
	const struct sock_fprog program = { ROWS(without_nft_rows), without_nft_rows };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) < 0)
		return -errno;
	return 0;
}
