/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the rules ask of arguments. A clause is a conjunction and the first that holds wins, so
 * a rule reads from top to bottom like a list of cases.
 *
 * Which half of an argument counts follows the kernel's own types: where it takes an int, it drops
 * the upper half of the register, and so do we (whoever sets those bits gains nothing, and a libc
 * that extends the sign loses nothing). Where it reads 64 bits, both halves are looked at.
 * Pointers are only ever compared with NULL: what they point to can change after the check.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/fs.h>
#include <linux/fscrypt.h>
#include <linux/keyctl.h>
#include <linux/netlink.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include "base/array.h"
#include "jail/seccomp/table.h"

/* clang-format off */
#define ALLOW SECCOMP_RET_ALLOW
#define ERROR(e) (SECCOMP_RET_ERRNO | (e))
#define LIST(...) \
	.n = ROWS(((const uint32_t[]){ __VA_ARGS__ })), .values = { __VA_ARGS__ }
#define ARG(i, ...) { .arg = (i), LIST(__VA_ARGS__) }
#define ARG_MASKED(i, m, ...) { .arg = (i), .mask = (uint32_t)(m), LIST(__VA_ARGS__) }
#define ARG_BELOW(i, value) { .arg = (i), .below = true, LIST(value) }
#define ARG_HIGH(i, ...) { .arg = (i), .high = true, LIST(__VA_ARGS__) }
#define WHEN(verdict, ...) { (verdict), { __VA_ARGS__ } }
#define RULE(otherwise, ...) \
	{ (otherwise), ROWS(((const struct seccomp_clause[]){ __VA_ARGS__ })), \
		(const struct seccomp_clause[]){ __VA_ARGS__ } }
/* clang-format on */

/* Flags for new namespaces; in clone's flags the lowest byte is a signal, so NEWTIME is none. */
#define CLONE_ANY_NEW                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		CLONE_NEWPID | CLONE_NEWNET)
#define ZYGOTE_NEW (CLONE_NEWNS | CLONE_NEWPID)
/* A list of what may be: a later kernel can give a free bit of unshare a new meaning. */
#define UNSHARE_PLAIN \
	(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM | CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)

#define TYPES(...) ARG_MASKED(1, 0xff00, __VA_ARGS__) /* of ioctl */
#define SET_DELEGATION 1040                           /* F_SETDELEG, Linux 6.19 */
#define NOEXEC_SEAL 0x8                               /* MFD_NOEXEC_SEAL, Linux 6.3 */
#define SPECIAL (S_ISUID | S_ISGID)
#define MAKES (O_CREAT | __O_TMPFILE) /* without these flags there is no mode */
#define CORE_SCHEDULING 62            /* PR_SCHED_CORE, Linux 5.14 */
#define LAST_PRCTL 66                 /* PR_GET_MDWE, Linux 6.3 */
#define SHADOW_STACK 74               /* PR_GET_SHADOW_STACK_STATUS, Linux 6.13; set, lock */
#define GET_AUXV 0x41555856           /* PR_GET_AUXV, Linux 6.4 */
#define INIT 1
#define OF_USER_PRIORITY 2 /* PRIO_USER */
#define OF_USER_IO 3       /* IOPRIO_WHO_USER */
#define ENCAP 100          /* UDP_ENCAP */
#define XT_REPLACE 64      /* IPT_SO_SET_REPLACE and its twin for IPv6 */
#define XT_COUNTERS 65
#define TYPE(...) ARG_MASKED(1, 0xf, __VA_ARGS__) /* of socket */
#define INET ARG(0, AF_INET, AF_INET6)

static const struct seccomp_rule_text texts[RULES] = {
	[RULE_ENOSYS] = { .otherwise = ERROR(ENOSYS) },
	[RULE_EPERM] = { .otherwise = ERROR(EPERM) },
	[RULE_EOPNOTSUPP] = { .otherwise = ERROR(EOPNOTSUPP) },
	[RULE_KILL] = { .otherwise = SECCOMP_RET_KILL_PROCESS },
	[RULE_ALLOW] = { .otherwise = ALLOW },

	[RULE_CLONE] =
		RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW & ~ZYGOTE_NEW, 0))),
	[RULE_CLONE_CLOSED] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW, 0))),
	[RULE_UNSHARE] = RULE(ERROR(EPERM),
		WHEN(ALLOW, ARG_MASKED(0, ~(UNSHARE_PLAIN | ZYGOTE_NEW), 0), ARG_HIGH(0, 0))),
	[RULE_UNSHARE_CLOSED] =
		RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(0, ~UNSHARE_PLAIN, 0), ARG_HIGH(0, 0))),

	/*
	 * New namespaces of a command that is watched: the listener hears of them, and refuses them
	 * always (notify.h). Where there is no listener, as in an init, the kernel answers ENOSYS.
	 */
	[RULE_CLONE_WATCHED] = RULE(
		SECCOMP_RET_USER_NOTIF, WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW & ~ZYGOTE_NEW, 0))),
	[RULE_UNSHARE_WATCHED] = RULE(SECCOMP_RET_USER_NOTIF,
		WHEN(ALLOW, ARG_MASKED(0, ~(UNSHARE_PLAIN | ZYGOTE_NEW), 0), ARG_HIGH(0, 0))),
	[RULE_NOTIFY_CLONE] =
		RULE(SECCOMP_RET_USER_NOTIF, WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW, 0))),
	[RULE_NOTIFY_UNSHARE] = RULE(SECCOMP_RET_USER_NOTIF,
		WHEN(ALLOW, ARG_MASKED(0, ~UNSHARE_PLAIN, 0), ARG_HIGH(0, 0))),

	/*
	 * Terminals: no input for others (TIOCSTI, TIOCLINUX), no console, no line disciplines;
	 * none of the virtual console's calls (types K and V: a keymap can type). Nothing on a
	 * namespace's descriptor (0xb7). btrfs (0x94): older kernels snapshot a whole subvolume
	 * from any file in it, past every mask; the three generic calls of that type, which clone
	 * and deduplicate, stay. bcachefs (0xbc) for the same reason. Keys of encrypted folders:
	 * taking one out locks the user out. Freezing a file system.
	 */
	[RULE_IOCTL] = RULE(ALLOW,
		WHEN(ERROR(EPERM), ARG(1, TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD)),
		WHEN(ALLOW, ARG(1, FICLONE, FICLONERANGE, FIDEDUPERANGE)),
		WHEN(ERROR(ENOTTY), TYPES('K' << 8, 'V' << 8, 0x94 << 8, 0xb7 << 8, 0xbc << 8)),
		WHEN(ERROR(EPERM), ARG(1, FIFREEZE, FITHAW, FITRIM, FS_IOC_SET_ENCRYPTION_POLICY,
					   FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY,
					   FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS))),
	/*
	 * A lease on a file that may only be read makes whoever opens it for writing on the host
	 * wait, most of a minute each time. The new kind is a delegation.
	 */
	[RULE_FCNTL] = RULE(ALLOW, WHEN(ERROR(EINVAL), ARG(1, F_SETLEASE, SET_DELEGATION))),
	/* To keep a key and to find it again: nothing that joins keyrings, or asks for keys. */
	[RULE_KEYCTL] = RULE(ERROR(EPERM),
		WHEN(ALLOW, ARG(0, KEYCTL_REVOKE, KEYCTL_SETPERM, KEYCTL_LINK, KEYCTL_UNLINK,
				    KEYCTL_SEARCH, KEYCTL_READ, KEYCTL_SET_TIMEOUT))),
	/* Otherwise as on a kernel without it: programs turn to shm_open or a temporary file. */
	[RULE_MEMFD_NOEXEC] =
		RULE(ERROR(ENOSYS), WHEN(ALLOW, ARG_MASKED(1, NOEXEC_SEAL, NOEXEC_SEAL))),

	/*
	 * A program that runs with its owner's rights is harmless in here and not on the host,
	 * where the folder is that it was left in. As the second or third argument.
	 */
	[RULE_MODE_1] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(1, SPECIAL, 0))),
	[RULE_MODE_2] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(2, SPECIAL, 0))),
	/* Where nothing is made, the mode is what happens to be in the register. */
	[RULE_OPEN] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(1, MAKES, 0)),
		WHEN(ALLOW, ARG_MASKED(2, SPECIAL, 0))),
	[RULE_OPENAT] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG_MASKED(2, MAKES, 0)),
		WHEN(ALLOW, ARG_MASKED(3, SPECIAL, 0))),
	/* All but devices. The kernel reads 16 bits of the mode. */
	[RULE_MKNOD] = RULE(ERROR(EPERM),
		WHEN(ALLOW, ARG_MASKED(1, S_IFMT | SPECIAL, 0, S_IFREG, S_IFIFO, S_IFSOCK))),
	[RULE_MKNODAT] = RULE(ERROR(EPERM),
		WHEN(ALLOW, ARG_MASKED(2, S_IFMT | SPECIAL, 0, S_IFREG, S_IFIFO, S_IFSOCK))),

	/* The caller's own pages: how numa libraries ask where memory lies. */
	[RULE_MOVE_PAGES] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG(0, 0))),
	/* An open file, asked about by its descriptor, has no name (notify.h). */
	[RULE_NOTIFY] = { .otherwise = SECCOMP_RET_USER_NOTIF },
	[RULE_NOTIFY_FSTATAT] = RULE(
		SECCOMP_RET_USER_NOTIF, WHEN(ALLOW, ARG_MASKED(3, AT_EMPTY_PATH, AT_EMPTY_PATH))),
	[RULE_NOTIFY_STATX] = RULE(
		SECCOMP_RET_USER_NOTIF, WHEN(ALLOW, ARG_MASKED(2, AT_EMPTY_PATH, AT_EMPTY_PATH))),
	/* Plain; "tell me"; and addresses of one's own that are not random (TSan, setarch -R,
	 * emacs). */
	[RULE_PERSONALITY] =
		RULE(ERROR(EPERM), WHEN(ALLOW, ARG(0, PER_LINUX, 0xffffffff, ADDR_NO_RANDOMIZE))),
	/*
	 * SET_MM can fake /proc/self/exe, SCHED_CORE touches other processes. Shadow stacks are a
	 * protection that a program turns on for itself. Other numbers that are newer than this
	 * list are unknown, as they are to an older kernel.
	 */
	[RULE_PRCTL] = RULE(ERROR(EINVAL), WHEN(ERROR(EPERM), ARG(0, PR_SET_MM)),
		WHEN(ERROR(EINVAL), ARG(0, CORE_SCHEDULING)),
		WHEN(ALLOW, ARG_BELOW(0, LAST_PRCTL + 1)),
		WHEN(ALLOW, ARG(0, PR_SET_VMA, PR_SET_PTRACER, GET_AUXV, SHADOW_STACK,
				    SHADOW_STACK + 1, SHADOW_STACK + 2))),
	/*
	 * One's own limits, or no new ones: the third argument is a pointer of 64 bits. That of
	 * core files stays, and seems to have been set: a program that wants none gets none, and 0
	 * would bring back the host's core handler (rlimits_no_core()).
	 */
	[RULE_PRLIMIT64] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG(2, 0), ARG_HIGH(2, 0)),
		WHEN(ERROR(0), ARG(0, 0), ARG(1, RLIMIT_CORE)), WHEN(ALLOW, ARG(0, 0))),
	[RULE_SETRLIMIT] = RULE(ALLOW, WHEN(ERROR(0), ARG(0, RLIMIT_CORE))),
	/*
	 * pid 1 is our init, which runs one command after the other: none may slow it down for the
	 * next, by its number or as one of its user's processes.
	 */
	[RULE_PRIORITY] = RULE(ALLOW, WHEN(ERROR(EPERM), ARG(0, OF_USER_PRIORITY, OF_USER_IO)),
		WHEN(ERROR(EPERM), ARG(1, INIT))),
	[RULE_SCHEDULE] = RULE(ALLOW, WHEN(ERROR(EPERM), ARG(0, INIT))),
	/* Programs may confine themselves further, but not supervise the calls of others. */
	[RULE_SECCOMP] = RULE(
		ERROR(EINVAL), WHEN(ALLOW, ARG_MASKED(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0))),

	/* A send that connects would pass by whoever watches connect. */
	[RULE_SENDMMSG] = RULE(ERROR(EOPNOTSUPP), WHEN(ALLOW, ARG_MASKED(3, MSG_FASTOPEN, 0))),
	[RULE_SENDMSG] = RULE(ERROR(EOPNOTSUPP), WHEN(ALLOW, ARG_MASKED(2, MSG_FASTOPEN, 0))),
	[RULE_SENDTO] = RULE(ERROR(EOPNOTSUPP), WHEN(ALLOW, ARG_MASKED(3, MSG_FASTOPEN, 0))),
	/*
	 * The same for TCP_FASTOPEN_CONNECT. TLS in the kernel and the like (TCP_ULP), programs for
	 * the kernel to run, packets handed to IPsec or L2TP (UDP_ENCAP), tables of the packet
	 * filter.
	 */
	[RULE_SETSOCKOPT] = RULE(ALLOW,
		WHEN(ERROR(EOPNOTSUPP), ARG(1, IPPROTO_TCP),
			ARG(2, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_KEY)),
		WHEN(ERROR(ENOPROTOOPT), ARG(1, IPPROTO_TCP), ARG(2, TCP_ULP, TCP_REPAIR)),
		WHEN(ERROR(ENOPROTOOPT), ARG(1, IPPROTO_UDP), ARG(2, ENCAP)),
		WHEN(ERROR(EPERM), ARG(1, SOL_SOCKET),
			ARG(2, SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
				SO_ATTACH_REUSEPORT_EBPF)),
		WHEN(ERROR(EPERM), ARG(1, IPPROTO_IP, IPPROTO_IPV6),
			ARG(2, XT_REPLACE, XT_COUNTERS))),
	/*
	 * Go asks for MPTCP first and takes EPROTONOSUPPORT for an old kernel; ping takes EACCES
	 * for a closed ping_group_range. The type SOCK_PACKET turns AF_INET into AF_PACKET, so
	 * types are a list.
	 */
	[RULE_SOCKET] = RULE(ERROR(EAFNOSUPPORT), WHEN(ALLOW, ARG(0, AF_UNIX)),
		WHEN(ALLOW, INET, TYPE(SOCK_STREAM), ARG(2, 0, IPPROTO_TCP)),
		WHEN(ALLOW, INET, TYPE(SOCK_DGRAM), ARG(2, 0, IPPROTO_UDP)),
		WHEN(ALLOW, ARG(0, AF_NETLINK), TYPE(SOCK_RAW, SOCK_DGRAM), ARG(2, NETLINK_ROUTE)),
		WHEN(ERROR(EACCES), INET, TYPE(SOCK_DGRAM), ARG(2, IPPROTO_ICMP, IPPROTO_ICMPV6)),
		WHEN(ERROR(EPERM), INET, TYPE(SOCK_RAW, SOCK_PACKET)),
		WHEN(ERROR(EPROTONOSUPPORT), ARG(0, AF_INET, AF_INET6, AF_NETLINK))),
	[RULE_SOCKET_INET] =
		RULE(ERROR(EPERM), WHEN(ALLOW, INET, TYPE(SOCK_STREAM), ARG(2, 0, IPPROTO_TCP)),
			WHEN(ALLOW, INET, TYPE(SOCK_DGRAM), ARG(2, 0, IPPROTO_UDP))),
	[RULE_SOCKET_UNIX] = RULE(ERROR(EPERM), WHEN(ALLOW, ARG(0, AF_UNIX), TYPE(SOCK_STREAM))),
	[RULE_SOCKET_NO_UNIX] = RULE(ERROR(EAFNOSUPPORT), WHEN(ERROR(EACCES), ARG(0, AF_UNIX)),
		WHEN(ALLOW, INET, TYPE(SOCK_STREAM), ARG(2, 0, IPPROTO_TCP)),
		WHEN(ALLOW, INET, TYPE(SOCK_DGRAM), ARG(2, 0, IPPROTO_UDP)),
		WHEN(ALLOW, ARG(0, AF_NETLINK), TYPE(SOCK_RAW, SOCK_DGRAM), ARG(2, NETLINK_ROUTE))),
	[RULE_SOCKETPAIR] = RULE(ERROR(EAFNOSUPPORT), WHEN(ALLOW, ARG(0, AF_UNIX))),
	/* One for datagrams can be connected anew, or send elsewhere. */
	[RULE_SOCKETPAIR_FIXED] = RULE(ERROR(EAFNOSUPPORT),
		WHEN(ALLOW, ARG(0, AF_UNIX), TYPE(SOCK_STREAM, SOCK_SEQPACKET)),
		WHEN(ERROR(EACCES), ARG(0, AF_UNIX))),
};

const struct seccomp_rule_text *seccomp_rule_text(enum seccomp_rule rule)
{
	return &texts[rule];
}
