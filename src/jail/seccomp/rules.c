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
	.n = ROWS(((const uint32_t[]){ __VA_ARGS__ })), .values = (const uint32_t[]){ __VA_ARGS__ }
#define ARG(i, ...) { .arg = (i), LIST(__VA_ARGS__) }
#define ARG_MASKED(i, m, ...) { .arg = (i), .mask = (uint32_t)(m), LIST(__VA_ARGS__) }
#define ARG_BELOW(i, value) { .arg = (i), .below = true, LIST(value) }
#define ARG_HIGH(i, ...) { .arg = (i), .high = true, LIST(__VA_ARGS__) }
#define WHEN(verdict, ...) { (verdict), { __VA_ARGS__ } }
#define TEXT(otherwise, clauses) { (otherwise), ROWS(clauses), (clauses) }
/* clang-format on */

/* Flags for new namespaces; in clone's flags the lowest byte is a signal, so NEWTIME is none. */
#define CLONE_ANY_NEW                                                                  \
	(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | \
		CLONE_NEWPID | CLONE_NEWNET)
#define ZYGOTE_NEW (CLONE_NEWNS | CLONE_NEWPID)
/* A list of what may be: a later kernel can give a free bit of unshare a new meaning. */
#define UNSHARE_PLAIN \
	(CLONE_FILES | CLONE_FS | CLONE_SYSVSEM | CLONE_VM | CLONE_THREAD | CLONE_SIGHAND)

static const struct seccomp_clause clone_base[] = {
	WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW & ~ZYGOTE_NEW, 0)),
};
static const struct seccomp_clause clone_closed[] = {
	WHEN(ALLOW, ARG_MASKED(0, CLONE_ANY_NEW, 0)),
};
static const struct seccomp_clause unshare_base[] = {
	WHEN(ALLOW, ARG_MASKED(0, ~(UNSHARE_PLAIN | ZYGOTE_NEW), 0), ARG_HIGH(0, 0)),
};
static const struct seccomp_clause unshare_closed[] = {
	WHEN(ALLOW, ARG_MASKED(0, ~UNSHARE_PLAIN, 0), ARG_HIGH(0, 0)),
};

/*
 * Terminals: no input for others (TIOCSTI, TIOCLINUX), no console, no line disciplines; none of the
 * virtual console's calls (types K and V: a keymap can type). Nothing on a namespace's descriptor
 * (0xb7). btrfs (0x94): older kernels snapshot a whole subvolume from any file in it, past every
 * mask; the three generic calls of that type, which clone and deduplicate, stay. bcachefs (0xbc)
 * for the same reason. Keys of encrypted folders: taking one out locks the user out. Freezing a
 * file system.
 */
#define TYPES(...) ARG_MASKED(1, 0xff00, __VA_ARGS__)
static const struct seccomp_clause ioctl_cases[] = {
	WHEN(ERROR(EPERM), ARG(1, TIOCSTI, TIOCLINUX, TIOCCONS, TIOCSETD)),
	WHEN(ALLOW, ARG(1, FICLONE, FICLONERANGE, FIDEDUPERANGE)),
	WHEN(ERROR(ENOTTY), TYPES('K' << 8, 'V' << 8, 0x94 << 8, 0xb7 << 8, 0xbc << 8)),
	WHEN(ERROR(EPERM), ARG(1, FIFREEZE, FITHAW, FITRIM, FS_IOC_SET_ENCRYPTION_POLICY,
				   FS_IOC_ADD_ENCRYPTION_KEY, FS_IOC_REMOVE_ENCRYPTION_KEY,
				   FS_IOC_REMOVE_ENCRYPTION_KEY_ALL_USERS)),
};

/*
 * A lease on a file that may only be read makes whoever opens it for writing on the host wait, most
 * of a minute each time. The new kind is a delegation.
 */
#define SET_DELEGATION 1040 /* F_SETDELEG, Linux 6.19 */
static const struct seccomp_clause fcntl_cases[] = {
	WHEN(ERROR(EINVAL), ARG(1, F_SETLEASE, SET_DELEGATION)),
};

/* Otherwise as on a kernel without it: programs turn to shm_open or a temporary file. */
#define NOEXEC_SEAL 0x8 /* MFD_NOEXEC_SEAL, Linux 6.3 */
static const struct seccomp_clause memfd_noexec[] = {
	WHEN(ALLOW, ARG_MASKED(1, NOEXEC_SEAL, NOEXEC_SEAL)),
};

/*
 * A program that runs with its owner's rights is harmless in here and not on the host, where the
 * folder is that it was left in. As the second or third argument.
 */
#define SPECIAL (S_ISUID | S_ISGID)
static const struct seccomp_clause mode_1_cases[] = { WHEN(ALLOW, ARG_MASKED(1, SPECIAL, 0)) };
static const struct seccomp_clause mode_2_cases[] = { WHEN(ALLOW, ARG_MASKED(2, SPECIAL, 0)) };
/* Without these flags there is no mode, but what happens to be in the register. */
#define MAKES (O_CREAT | __O_TMPFILE)
static const struct seccomp_clause open_cases[] = {
	WHEN(ALLOW, ARG_MASKED(1, MAKES, 0)),
	WHEN(ALLOW, ARG_MASKED(2, SPECIAL, 0)),
};
static const struct seccomp_clause openat_cases[] = {
	WHEN(ALLOW, ARG_MASKED(2, MAKES, 0)),
	WHEN(ALLOW, ARG_MASKED(3, SPECIAL, 0)),
};

/* All but devices. The kernel reads 16 bits of the mode. */
static const struct seccomp_clause mknod_cases[] = {
	WHEN(ALLOW, ARG_MASKED(1, S_IFMT | SPECIAL, 0, S_IFREG, S_IFIFO, S_IFSOCK)),
};
static const struct seccomp_clause mknodat_cases[] = {
	WHEN(ALLOW, ARG_MASKED(2, S_IFMT | SPECIAL, 0, S_IFREG, S_IFIFO, S_IFSOCK)),
};

/* The caller's own pages: how numa libraries ask where memory lies. */
static const struct seccomp_clause move_pages_cases[] = {
	WHEN(ALLOW, ARG(0, 0)),
};

/* An open file, asked about by its descriptor, has no name (notify.h). */
static const struct seccomp_clause notify_fstatat_cases[] = {
	WHEN(ALLOW, ARG_MASKED(3, AT_EMPTY_PATH, AT_EMPTY_PATH)),
};
static const struct seccomp_clause notify_statx_cases[] = {
	WHEN(ALLOW, ARG_MASKED(2, AT_EMPTY_PATH, AT_EMPTY_PATH)),
};

/* Plain; "tell me"; and addresses of one's own that are not random (TSan, setarch -R, emacs). */
static const struct seccomp_clause personality_cases[] = {
	WHEN(ALLOW, ARG(0, PER_LINUX, 0xffffffff, ADDR_NO_RANDOMIZE)),
};

/*
 * SET_MM can fake /proc/self/exe, SCHED_CORE touches other processes. Shadow stacks are a
 * protection that a program turns on for itself. Other numbers that are newer than this list are
 * unknown, as they are to an older kernel.
 */
#define CORE_SCHEDULING 62  /* PR_SCHED_CORE, Linux 5.14 */
#define LAST_PRCTL 66       /* PR_GET_MDWE, Linux 6.3 */
#define SHADOW_STACK 74     /* PR_GET_SHADOW_STACK_STATUS, Linux 6.13; set, lock */
#define GET_AUXV 0x41555856 /* PR_GET_AUXV, Linux 6.4 */
static const struct seccomp_clause prctl_cases[] = {
	WHEN(ERROR(EPERM), ARG(0, PR_SET_MM)),
	WHEN(ERROR(EINVAL), ARG(0, CORE_SCHEDULING)),
	WHEN(ALLOW, ARG_BELOW(0, LAST_PRCTL + 1)),
	WHEN(ALLOW, ARG(0, PR_SET_VMA, PR_SET_PTRACER, GET_AUXV, SHADOW_STACK, SHADOW_STACK + 1,
			    SHADOW_STACK + 2)),
};

/* One's own limits, or no new ones: the third argument is a pointer of 64 bits. */
/*
 * That of core files stays, and seems to have been set: a program that wants none gets none, and 0
 * would bring back the host's core handler (rlimits_no_core()).
 */
static const struct seccomp_clause prlimit64_cases[] = {
	WHEN(ALLOW, ARG(2, 0), ARG_HIGH(2, 0)),
	WHEN(ERROR(0), ARG(0, 0), ARG(1, RLIMIT_CORE)),
	WHEN(ALLOW, ARG(0, 0)),
};
static const struct seccomp_clause setrlimit_cases[] = {
	WHEN(ERROR(0), ARG(0, RLIMIT_CORE)),
};

/*
 * pid 1 is our init, which runs one command after the other: none may slow it down for the next, by
 * its number or as one of its user's processes.
 */
#define INIT 1
#define OF_USER_PRIORITY 2 /* PRIO_USER */
#define OF_USER_IO 3       /* IOPRIO_WHO_USER */
static const struct seccomp_clause priority_cases[] = {
	WHEN(ERROR(EPERM), ARG(0, OF_USER_PRIORITY, OF_USER_IO)),
	WHEN(ERROR(EPERM), ARG(1, INIT)),
};
static const struct seccomp_clause schedule_cases[] = {
	WHEN(ERROR(EPERM), ARG(0, INIT)),
};

/* Programs may confine themselves further, but not supervise the calls of others. */
static const struct seccomp_clause listener_cases[] = {
	WHEN(ALLOW, ARG_MASKED(1, SECCOMP_FILTER_FLAG_NEW_LISTENER, 0)),
};

/* A send that connects would pass by whoever watches connect. */
static const struct seccomp_clause sendmsg_cases[] = {
	WHEN(ALLOW, ARG_MASKED(2, MSG_FASTOPEN, 0)),
};
static const struct seccomp_clause sendto_cases[] = {
	WHEN(ALLOW, ARG_MASKED(3, MSG_FASTOPEN, 0)),
};

/*
 * The same for TCP_FASTOPEN_CONNECT. TLS in the kernel and the like (TCP_ULP), programs for the
 * kernel to run, packets handed to IPsec or L2TP (UDP_ENCAP), tables of the packet filter.
 */
#define ENCAP 100     /* UDP_ENCAP */
#define XT_REPLACE 64 /* IPT_SO_SET_REPLACE and its twin for IPv6 */
#define XT_COUNTERS 65
static const struct seccomp_clause setsockopt_cases[] = {
	WHEN(ERROR(EOPNOTSUPP), ARG(1, IPPROTO_TCP),
		ARG(2, TCP_FASTOPEN, TCP_FASTOPEN_CONNECT, TCP_FASTOPEN_KEY)),
	WHEN(ERROR(ENOPROTOOPT), ARG(1, IPPROTO_TCP), ARG(2, TCP_ULP, TCP_REPAIR)),
	WHEN(ERROR(ENOPROTOOPT), ARG(1, IPPROTO_UDP), ARG(2, ENCAP)),
	WHEN(ERROR(EPERM), ARG(1, SOL_SOCKET),
		ARG(2, SO_ATTACH_FILTER, SO_ATTACH_BPF, SO_ATTACH_REUSEPORT_CBPF,
			SO_ATTACH_REUSEPORT_EBPF)),
	WHEN(ERROR(EPERM), ARG(1, IPPROTO_IP, IPPROTO_IPV6), ARG(2, XT_REPLACE, XT_COUNTERS)),
};

/*
 * Go asks for MPTCP first and takes EPROTONOSUPPORT for an old kernel; ping takes EACCES for a
 * closed ping_group_range. The type SOCK_PACKET turns AF_INET into AF_PACKET, so types are a list.
 */
#define TYPE(...) ARG_MASKED(1, 0xf, __VA_ARGS__)
#define INET ARG(0, AF_INET, AF_INET6)
static const struct seccomp_clause socket_cases[] = {
	WHEN(ALLOW, ARG(0, AF_UNIX)),
	WHEN(ALLOW, INET, TYPE(SOCK_STREAM), ARG(2, 0, IPPROTO_TCP)),
	WHEN(ALLOW, INET, TYPE(SOCK_DGRAM), ARG(2, 0, IPPROTO_UDP)),
	WHEN(ALLOW, ARG(0, AF_NETLINK), TYPE(SOCK_RAW, SOCK_DGRAM), ARG(2, NETLINK_ROUTE)),
	WHEN(ERROR(EACCES), INET, TYPE(SOCK_DGRAM), ARG(2, IPPROTO_ICMP, IPPROTO_ICMPV6)),
	WHEN(ERROR(EPERM), INET, TYPE(SOCK_RAW, SOCK_PACKET)),
	WHEN(ERROR(EPROTONOSUPPORT), ARG(0, AF_INET, AF_INET6, AF_NETLINK)),
};
static const struct seccomp_clause socket_inet_cases[] = {
	WHEN(ALLOW, INET, TYPE(SOCK_STREAM), ARG(2, 0, IPPROTO_TCP)),
	WHEN(ALLOW, INET, TYPE(SOCK_DGRAM), ARG(2, 0, IPPROTO_UDP)),
};
static const struct seccomp_clause socketpair_cases[] = {
	WHEN(ALLOW, ARG(0, AF_UNIX)),
};

static const struct seccomp_rule_text texts[RULES] = {
	[RULE_ENOSYS] = { .otherwise = ERROR(ENOSYS) },
	[RULE_EPERM] = { .otherwise = ERROR(EPERM) },
	[RULE_EOPNOTSUPP] = { .otherwise = ERROR(EOPNOTSUPP) },
	[RULE_KILL] = { .otherwise = SECCOMP_RET_KILL_PROCESS },
	[RULE_ALLOW] = { .otherwise = ALLOW },
	[RULE_CLONE] = TEXT(ERROR(EPERM), clone_base),
	[RULE_CLONE_CLOSED] = TEXT(ERROR(EPERM), clone_closed),
	[RULE_FCNTL] = TEXT(ALLOW, fcntl_cases),
	[RULE_IOCTL] = TEXT(ALLOW, ioctl_cases),
	[RULE_MEMFD_NOEXEC] = TEXT(ERROR(ENOSYS), memfd_noexec),
	[RULE_MODE_1] = TEXT(ERROR(EPERM), mode_1_cases),
	[RULE_MODE_2] = TEXT(ERROR(EPERM), mode_2_cases),
	[RULE_OPEN] = TEXT(ERROR(EPERM), open_cases),
	[RULE_OPENAT] = TEXT(ERROR(EPERM), openat_cases),
	[RULE_MKNOD] = TEXT(ERROR(EPERM), mknod_cases),
	[RULE_MKNODAT] = TEXT(ERROR(EPERM), mknodat_cases),
	[RULE_MOVE_PAGES] = TEXT(ERROR(EPERM), move_pages_cases),
	[RULE_NOTIFY] = { .otherwise = SECCOMP_RET_USER_NOTIF },
	[RULE_NOTIFY_FSTATAT] = TEXT(SECCOMP_RET_USER_NOTIF, notify_fstatat_cases),
	[RULE_NOTIFY_STATX] = TEXT(SECCOMP_RET_USER_NOTIF, notify_statx_cases),
	[RULE_PERSONALITY] = TEXT(ERROR(EPERM), personality_cases),
	[RULE_PRCTL] = TEXT(ERROR(EINVAL), prctl_cases),
	[RULE_PRIORITY] = TEXT(ALLOW, priority_cases),
	[RULE_SCHEDULE] = TEXT(ALLOW, schedule_cases),
	[RULE_SETRLIMIT] = TEXT(ALLOW, setrlimit_cases),
	[RULE_PRLIMIT64] = TEXT(ERROR(EPERM), prlimit64_cases),
	[RULE_SECCOMP] = TEXT(ERROR(EINVAL), listener_cases),
	[RULE_SENDMMSG] = TEXT(ERROR(EOPNOTSUPP), sendto_cases), /* the flags stand there too */
	[RULE_SENDMSG] = TEXT(ERROR(EOPNOTSUPP), sendmsg_cases),
	[RULE_SENDTO] = TEXT(ERROR(EOPNOTSUPP), sendto_cases),
	[RULE_SETSOCKOPT] = TEXT(ALLOW, setsockopt_cases),
	[RULE_SOCKET] = TEXT(ERROR(EAFNOSUPPORT), socket_cases),
	[RULE_SOCKET_INET] = TEXT(ERROR(EPERM), socket_inet_cases),
	[RULE_SOCKETPAIR] = TEXT(ERROR(EAFNOSUPPORT), socketpair_cases),
	[RULE_UNSHARE] = TEXT(ERROR(EPERM), unshare_base),
	[RULE_UNSHARE_CLOSED] = TEXT(ERROR(EPERM), unshare_closed),
};

const struct seccomp_rule_text *seccomp_rule_text(enum seccomp_rule rule)
{
	return &texts[rule];
}
