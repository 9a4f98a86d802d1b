/* SPDX-License-Identifier: Apache-2.0 */
/* See test/test-cases.h. Numbers are spelled out here on purpose: the rules use the headers. */
#include <fcntl.h>
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "jail/seccomp/test/test-cases.h"

#define BAD 1 /* no address */
#define NO_FD ((uint64_t)-1)
#define HIGH (1ULL << 32)

/* clang-format off */
#define GOES(name, ...) { #name, { __VA_ARGS__ }, 0, 0 }
#define FAILS(name, e, ...) { #name, { __VA_ARGS__ }, (e), (e) }
#define CLOSED(name, e, ...) { #name, { __VA_ARGS__ }, 0, (e) }

#define THREAD 0x00010000 /* without SIGHAND: clone gives EINVAL, whatever else there is */
#define NEWNS 0x00020000
#define NEWPID 0x20000000
#define FASTOPEN 0x20000000

const struct seccomp_case seccomp_cases[] = {
	/* Plain calls, with and without a check on the way. */
	GOES(getpid, 0), GOES(read, NO_FD), GOES(openat, NO_FD, BAD), GOES(close, NO_FD),
	GOES(mmap, 0), GOES(futex, BAD, 99), GOES(execve, BAD), GOES(execveat, NO_FD, BAD),
	GOES(wait4, NO_FD, 0, 1), GOES(kill, 0, 0), GOES(pidfd_open, 0), GOES(statx, NO_FD, BAD),
	GOES(rseq, BAD), GOES(getrandom, 0), GOES(close_range, 1, 0), 
	GOES(landlock_create_ruleset, BAD, 1), GOES(inotify_init1, 0), GOES(io_setup, 0, BAD),
	GOES(epoll_pwait2, NO_FD), GOES(signalfd4, NO_FD), GOES(getdents64, NO_FD),
	GOES(membarrier, 0), GOES(mbind, BAD, 0, 99), GOES(set_mempolicy, 99), GOES(shmget, 0),
	GOES(mq_open, BAD), GOES(setuid, NO_FD), GOES(capget, BAD), GOES(sched_setaffinity, 0),
	GOES(copy_file_range, NO_FD), GOES(faccessat2, NO_FD, BAD), GOES(pidfd_send_signal, NO_FD),
	GOES(recvmsg, NO_FD, BAD), GOES(connect, NO_FD), GOES(accept4, NO_FD), GOES(setsid, 0),
	GOES(open, BAD), GOES(stat, BAD), GOES(fork, 0), GOES(arch_prctl, 0), GOES(poll, BAD, 1),
	GOES(fchmodat2, NO_FD, BAD), GOES(futex_waitv, BAD), GOES(mseal, BAD),

	/* Processes and namespaces. */
	GOES(clone, THREAD), GOES(clone, THREAD | 0x80 /* a signal, not NEWTIME */),
	CLOSED(clone, EPERM, THREAD | NEWPID | NEWNS), CLOSED(clone, EPERM, THREAD | NEWNS),
	CLOSED(clone, EPERM, THREAD | NEWPID), CLOSED(clone, EPERM, HIGH | THREAD | NEWPID),
	FAILS(clone, EPERM, THREAD | 0x10000000 /* NEWUSER */),
	FAILS(clone, EPERM, THREAD | 0x40000000 /* NEWNET */),
	FAILS(clone, EPERM, THREAD | 0x08000000 /* NEWIPC */),
	FAILS(clone, EPERM, THREAD | 0x04000000 /* NEWUTS */),
	FAILS(clone, EPERM, THREAD | 0x02000000 /* NEWCGROUP */),
	FAILS(clone, EPERM, THREAD | 0x10000000 | NEWPID | NEWNS),
	FAILS(clone, EPERM, HIGH | THREAD | 0x10000000),
	FAILS(clone3, ENOSYS, BAD, 64), FAILS(clone3, ENOSYS, 0, 0),
	GOES(unshare, 0x400 /* FILES */), GOES(unshare, 0x200 /* FS */), GOES(unshare, 0),
	CLOSED(unshare, EPERM, NEWNS), CLOSED(unshare, EPERM, NEWPID),
	CLOSED(unshare, EPERM, 0x400 | NEWNS), FAILS(unshare, EPERM, 0x10000000),
	FAILS(unshare, EPERM, 0x40000000), FAILS(unshare, EPERM, 0x08000000),
	FAILS(unshare, EPERM, 0x04000000), FAILS(unshare, EPERM, 0x02000000),
	FAILS(unshare, EPERM, 0x80 /* NEWTIME */), FAILS(unshare, EPERM, HIGH),
	FAILS(unshare, EPERM, 0x00100000 /* free today */),
	FAILS(setns, EPERM, NO_FD), FAILS(ptrace, EPERM, 1, NO_FD), FAILS(ptrace, EPERM, 0),
	FAILS(process_vm_readv, EPERM, NO_FD, BAD, 1, BAD, 1),
	FAILS(process_vm_writev, EPERM, NO_FD, BAD, 1, BAD, 1),
	FAILS(process_madvise, EPERM, NO_FD), FAILS(process_mrelease, EPERM, NO_FD),
	FAILS(kcmp, EPERM, NO_FD, NO_FD), FAILS(pidfd_getfd, EPERM, NO_FD),
	FAILS(migrate_pages, EPERM, NO_FD, 1, 0, 0), FAILS(move_pages, EPERM, 1, 1, BAD),
	GOES(move_pages, 0, 0), GOES(personality, 0), GOES(personality, 0xffffffff),
	GOES(personality, 0x0040000), FAILS(personality, EPERM, 0x0400000 /* READ_IMPLIES_EXEC */),
	FAILS(personality, EPERM, HIGH | 8), FAILS(personality, EPERM, 0x0440000),
	GOES(prctl, 15, BAD), GOES(prctl, 1, 99), GOES(prctl, 38, 1), GOES(prctl, 4, 1),
	GOES(prctl, 22, 99), GOES(prctl, 0x53564d41, 99), FAILS(prctl, EPERM, 35, 99),
	FAILS(prctl, EPERM, HIGH | 35, 99), FAILS(prctl, EINVAL, 62), FAILS(prctl, EINVAL, 67),
	FAILS(prctl, EINVAL, NO_FD), GOES(prctl, 74, BAD), GOES(prctl, 0x41555856, BAD, 1),
	FAILS(prctl, EINVAL, 67, 1), FAILS(prctl, EINVAL, 73), FAILS(prctl, EINVAL, 77), GOES(prlimit64, 0, 7, BAD), GOES(prlimit64, 0, 7, 0, 0),
	GOES(prlimit64, 1, 7, 0, 0), FAILS(prlimit64, EPERM, 1, 7, BAD),
	FAILS(prlimit64, EPERM, 1, 7, HIGH), FAILS(prlimit64, EPERM, 1, 7, HIGH | BAD),
	GOES(seccomp, 1, 0, 0), GOES(seccomp, 1, 1, 0), FAILS(seccomp, EINVAL, 1, 8, 0),
	FAILS(seccomp, EINVAL, 1, HIGH | 9, 0), GOES(seccomp, 2, 0, BAD),

	/* Leases. */
	GOES(fcntl, NO_FD, 1), GOES(fcntl, NO_FD, 1025), FAILS(fcntl, EINVAL, NO_FD, 1024),
	FAILS(fcntl, EINVAL, NO_FD, HIGH | 1024), FAILS(fcntl, EINVAL, NO_FD, 1040),

	/* Mounts. */
	CLOSED(mount, EPERM, 0), CLOSED(umount2, EPERM, BAD), CLOSED(open_tree, EPERM, NO_FD, BAD),
	CLOSED(move_mount, EPERM, NO_FD, BAD, NO_FD, BAD), CLOSED(fsopen, EPERM, BAD),
	CLOSED(fsconfig, EPERM, NO_FD), CLOSED(fsmount, EPERM, NO_FD),
	CLOSED(mount_setattr, EPERM, NO_FD, BAD), FAILS(fspick, EPERM, NO_FD, BAD),
	FAILS(pivot_root, EPERM, BAD, BAD), FAILS(chroot, EPERM, BAD),
	FAILS(statmount, ENOSYS, BAD), FAILS(listmount, ENOSYS, BAD),
	FAILS(open_tree_attr, ENOSYS, NO_FD, BAD),

	/* Files. */
	GOES(setpriority, 0, 0, 0), FAILS(setpriority, EPERM, 0, 1, 5), FAILS(setpriority, EPERM, 2, 0, 5),
	FAILS(ioprio_set, EPERM, 1, 1, 0), FAILS(ioprio_set, EPERM, 3, 0, 0),
	FAILS(sched_setaffinity, EPERM, 1, 8, BAD), GOES(sched_setaffinity, 0, 8, BAD),
	FAILS(sched_setscheduler, EPERM, 1, 0, BAD), FAILS(sched_setattr, EPERM, 1, BAD),
	GOES(fchmod, NO_FD, 0755), FAILS(fchmod, EPERM, NO_FD, 04755), FAILS(fchmod, EPERM, NO_FD, 02755),
	GOES(fchmodat, NO_FD, BAD, 01777), FAILS(fchmodat, EPERM, NO_FD, BAD, 04755),
	FAILS(fchmodat2, EPERM, NO_FD, BAD, 06755), FAILS(fchmodat, EPERM, NO_FD, BAD, HIGH | 04000),
	GOES(openat, NO_FD, BAD, O_RDONLY, 04755), GOES(openat, NO_FD, BAD, O_CREAT, 0644),
	FAILS(openat, EPERM, NO_FD, BAD, O_CREAT | O_WRONLY, 04755),
	FAILS(openat, EPERM, NO_FD, BAD, O_TMPFILE | O_WRONLY, 02755),
	GOES(open, BAD, O_RDONLY, 04755), FAILS(open, EPERM, BAD, O_CREAT, 04755),
	FAILS(creat, EPERM, BAD, 04755), FAILS(chmod, EPERM, BAD, 04755),
	FAILS(mknodat, EPERM, NO_FD, BAD, 0104755),
	GOES(mknodat, NO_FD, BAD, 0644), GOES(mknodat, NO_FD, BAD, 0100644),
	GOES(mknodat, NO_FD, BAD, 0010644), GOES(mknodat, NO_FD, BAD, 0140644),
	FAILS(mknodat, EPERM, NO_FD, BAD, 0020644, 259), FAILS(mknodat, EPERM, NO_FD, BAD, 0060644),
	FAILS(mknodat, EPERM, NO_FD, BAD, HIGH | 0x10000 | 0020644),
	GOES(mknod, BAD, 0010644), FAILS(mknod, EPERM, BAD, 0020644, 259),
	FAILS(open_by_handle_at, EPERM, NO_FD, BAD),
	FAILS(name_to_handle_at, EOPNOTSUPP, NO_FD, BAD, BAD, BAD),
	FAILS(fanotify_init, EPERM, NO_FD), FAILS(fanotify_mark, EPERM, NO_FD),
	GOES(memfd_create, BAD, 0), GOES(memfd_create, BAD, 8), FAILS(memfd_secret, ENOSYS, NO_FD),
	FAILS(cachestat, ENOSYS, NO_FD),

	/* Calls on descriptors: terminals and file systems. */
	GOES(ioctl, NO_FD, 0x5401 /* TCGETS */), GOES(ioctl, NO_FD, 0x5413 /* TIOCGWINSZ */),
	GOES(ioctl, NO_FD, 0x5414 /* TIOCSWINSZ */), GOES(ioctl, NO_FD, 0x540e /* TIOCSCTTY */),
	GOES(ioctl, NO_FD, 0x5441 /* TIOCGPTPEER */), GOES(ioctl, NO_FD, 0x541b /* FIONREAD */),
	GOES(ioctl, NO_FD, 0x5421 /* FIONBIO */), GOES(ioctl, NO_FD, 0x40049409 /* FICLONE */),
	GOES(ioctl, NO_FD, 0x4020940d), GOES(ioctl, NO_FD, 0x80086601 /* FS_IOC_GETFLAGS */),
	FAILS(ioctl, EPERM, NO_FD, 0x5412 /* TIOCSTI */), FAILS(ioctl, EPERM, NO_FD, HIGH | 0x5412),
	FAILS(ioctl, EPERM, NO_FD, 0xffffffff00005412), FAILS(ioctl, EPERM, NO_FD, 0x541c),
	FAILS(ioctl, EPERM, NO_FD, 0x541d /* TIOCCONS */), FAILS(ioctl, EPERM, NO_FD, 0x5423),
	FAILS(ioctl, ENOTTY, NO_FD, 0x4b47 /* KDSKBENT */), FAILS(ioctl, ENOTTY, NO_FD, 0x5606),
	FAILS(ioctl, ENOTTY, NO_FD, 0x50009417 /* BTRFS_IOC_SNAP_CREATE_V2 */),
	FAILS(ioctl, ENOTTY, NO_FD, 0x50009401), FAILS(ioctl, ENOTTY, NO_FD, 0xb701),
	FAILS(ioctl, ENOTTY, NO_FD, 0x4020bc10 /* BCH_IOCTL_SUBVOLUME_CREATE */),
	FAILS(ioctl, EPERM, NO_FD, 0xc0045877 /* FIFREEZE */),
	FAILS(ioctl, EPERM, NO_FD, 0xc0406618 /* FS_IOC_REMOVE_ENCRYPTION_KEY */),

	/* Sockets. */
	GOES(socket, 1, 1, 0), GOES(socket, 1, 0x80802, 0), GOES(socket, 1, 5, 0),
	GOES(socket, 2, 1, 0), GOES(socket, 2, 0x80801, 6), GOES(socket, 2, 2, 17),
	GOES(socket, 10, 1, 0), GOES(socket, 10, 0x80002, 0), GOES(socket, HIGH | 1, 1, 0),
	GOES(socket, 16, 3, 0), GOES(socket, 16, 0x80002, 0), FAILS(socket, EPERM, 2, 3, 6),
	FAILS(socket, EPERM, 10, 3, 58), FAILS(socket, EPERM, 2, 10, 0x300 /* SOCK_PACKET */),
	FAILS(socket, EPERM, 2, 0x80803, 255), FAILS(socket, EPERM, HIGH | 2, HIGH | 3, 6),
	FAILS(socket, EACCES, 2, 2, 1), FAILS(socket, EACCES, 10, 2, 58),
	FAILS(socket, EPROTONOSUPPORT, 2, 1, 262 /* MPTCP */),
	FAILS(socket, EPROTONOSUPPORT, 2, 2, 136 /* UDPLITE */),
	FAILS(socket, EPROTONOSUPPORT, 2, 5, 132 /* SCTP */),
	FAILS(socket, EPROTONOSUPPORT, 2, 1, 256 /* SMC */),
	FAILS(socket, EPROTONOSUPPORT, 2, 6, 33 /* DCCP */),
	FAILS(socket, EPROTONOSUPPORT, 16, 3, 12 /* NETFILTER */),
	FAILS(socket, EPROTONOSUPPORT, 16, 3, 9 /* AUDIT */),
	FAILS(socket, EPROTONOSUPPORT, 16, 3, 4 /* SOCK_DIAG */),
	FAILS(socket, EPROTONOSUPPORT, 16, 3, 15 /* KOBJECT_UEVENT */),
	FAILS(socket, EPROTONOSUPPORT, 16, 3, 16 /* GENERIC */),
	FAILS(socket, EAFNOSUPPORT, 17, 3, 0 /* PACKET */), FAILS(socket, EAFNOSUPPORT, 40, 1, 0),
	FAILS(socket, EAFNOSUPPORT, 38, 5, 0 /* ALG */), FAILS(socket, EAFNOSUPPORT, 44, 3, 0),
	FAILS(socket, EAFNOSUPPORT, 15, 3, 2 /* KEY */), FAILS(socket, EAFNOSUPPORT, 30, 1, 0),
	FAILS(socket, EAFNOSUPPORT, 31, 3, 1 /* BLUETOOTH */), FAILS(socket, EAFNOSUPPORT, 29, 3, 1),
	FAILS(socket, EAFNOSUPPORT, 21, 5, 0 /* RDS */), FAILS(socket, EAFNOSUPPORT, 43, 1, 0),
	FAILS(socket, EAFNOSUPPORT, 45, 2, 0 /* MCTP */), FAILS(socket, EAFNOSUPPORT, 0, 1, 0),
	GOES(socketpair, 1, 1, 0, BAD), FAILS(socketpair, EAFNOSUPPORT, 30, 1, 0, BAD),
	FAILS(socketpair, EAFNOSUPPORT, 2, 1, 0, BAD),
	GOES(sendto, NO_FD, 0, 0, 0x4000), FAILS(sendto, EOPNOTSUPP, NO_FD, 0, 0, FASTOPEN),
	FAILS(sendto, EOPNOTSUPP, NO_FD, 0, 0, HIGH | 0x4000 | FASTOPEN),
	GOES(sendmsg, NO_FD, 0, 0x4000), FAILS(sendmsg, EOPNOTSUPP, NO_FD, 0, FASTOPEN),
	GOES(sendmmsg, NO_FD, 0, 0, 0x4000), FAILS(sendmmsg, EOPNOTSUPP, NO_FD, 0, 0, FASTOPEN),
	GOES(setsockopt, NO_FD, 1, 2, BAD, 4), GOES(setsockopt, NO_FD, 6, 1, BAD, 4),
	GOES(setsockopt, NO_FD, 41, 26, BAD, 4), GOES(setsockopt, NO_FD, 270, 1, BAD, 4),
	FAILS(setsockopt, EOPNOTSUPP, NO_FD, 6, 30 /* TCP_FASTOPEN_CONNECT */, BAD, 4),
	FAILS(setsockopt, EOPNOTSUPP, NO_FD, HIGH | 6, HIGH | 30, BAD, 4),
	FAILS(setsockopt, EOPNOTSUPP, NO_FD, 6, 23, BAD, 4),
	FAILS(setsockopt, ENOPROTOOPT, NO_FD, 6, 31 /* TCP_ULP */, BAD, 4),
	FAILS(setsockopt, ENOPROTOOPT, NO_FD, 17, 100 /* UDP_ENCAP */, BAD, 4),
	FAILS(setsockopt, EPERM, NO_FD, 1, 26 /* SO_ATTACH_FILTER */, BAD, 4),
	FAILS(setsockopt, EPERM, NO_FD, 1, 50, BAD, 4), FAILS(setsockopt, EPERM, NO_FD, 1, 52),
	FAILS(setsockopt, EPERM, NO_FD, 0, 64 /* IPT_SO_SET_REPLACE */, BAD, 4),
	FAILS(setsockopt, EPERM, NO_FD, 41, 64, BAD, 4),

	/* Parts of the kernel that are off as a whole. */
	FAILS(io_uring_setup, ENOSYS, 1, BAD), FAILS(io_uring_enter, ENOSYS, NO_FD),
	FAILS(io_uring_register, ENOSYS, NO_FD), FAILS(bpf, EPERM, NO_FD, BAD, 1),
	FAILS(perf_event_open, EPERM, BAD), FAILS(userfaultfd, EPERM, NO_FD),
	FAILS(keyctl, EPERM, NO_FD), FAILS(add_key, EPERM, BAD), FAILS(request_key, EPERM, BAD),
	FAILS(modify_ldt, ENOSYS, 0), FAILS(remap_file_pages, ENOSYS, BAD),

	/* The machine. */
	FAILS(reboot, EPERM, 0), FAILS(kexec_load, EPERM, 0, 99, BAD),
	FAILS(kexec_file_load, EPERM, NO_FD), FAILS(init_module, EPERM, BAD),
	FAILS(finit_module, EPERM, NO_FD), FAILS(delete_module, EPERM, BAD),
	FAILS(swapon, EPERM, BAD), FAILS(swapoff, EPERM, BAD), FAILS(acct, EPERM, BAD),
	FAILS(quotactl, EPERM, NO_FD, BAD), FAILS(quotactl_fd, EPERM, NO_FD),
	FAILS(syslog, EPERM, 99), FAILS(sethostname, EPERM, BAD, 1),
	FAILS(setdomainname, EPERM, BAD, 1), FAILS(settimeofday, EPERM, BAD),
	FAILS(clock_settime, EPERM, 0, BAD), FAILS(adjtimex, EPERM, BAD),
	FAILS(clock_adjtime, EPERM, 0, BAD), FAILS(iopl, EPERM, 99), FAILS(ioperm, EPERM, NO_FD),
	FAILS(vhangup, EPERM, 0), FAILS(lookup_dcookie, EPERM, 0), FAILS(nfsservctl, ENOSYS, 0),
	FAILS(lsm_set_self_attr, EPERM, 0),
};
const size_t seccomp_n_cases = ROWS(seccomp_cases);

const struct seccomp_case seccomp_noexec_cases[] = {
	FAILS(memfd_create, ENOSYS, BAD, 0), FAILS(memfd_create, ENOSYS, BAD, 1),
	FAILS(memfd_create, ENOSYS, BAD, 0x10 /* MFD_EXEC */),
	FAILS(memfd_create, ENOSYS, BAD, 8 * HIGH), GOES(memfd_create, BAD, 8),
	GOES(memfd_create, BAD, 8 | 3), GOES(getpid, 0), FAILS(memfd_secret, ENOSYS, 0),
};
const size_t seccomp_n_noexec_cases = ROWS(seccomp_noexec_cases);
/* clang-format on */

int seccomp_case_number(const char *name, const struct seccomp_arch *arch)
{
	for (size_t i = 0; i < seccomp_n_calls; i++)
		if (!strcmp(seccomp_calls[i].name, name))
			return seccomp_calls[i].numbers[arch->column];
	return -2;
}
