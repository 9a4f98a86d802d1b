// SPDX-License-Identifier: Apache-2.0
/*
 * Parts of the kernel that a command has no use for: each is either a way out by itself or a large
 * surface for bugs. Where doing it would harm the machine, the arguments are wrong in a way that
 * the kernel notices only after it checked the permission.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <unistd.h>

#include "attempt.h"

static int uring_setup(const struct attempt *a)
{
	struct io_uring_params p = { 0 };

	(void)a;
	return verdict(syscall(SYS_io_uring_setup, 4, &p));
}

static int bpf_map(const struct attempt *a)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 8, .max_entries = 1
	};

	(void)a;
	return verdict(syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)));
}

static int bpf_program(const struct attempt *a)
{
	const struct bpf_insn code[] = {
		{ .code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0 },
		{ .code = BPF_JMP | BPF_EXIT },
	};
	union bpf_attr attr = { .prog_type = BPF_PROG_TYPE_SOCKET_FILTER };

	(void)a;
	attr.insns = (uint64_t)(uintptr_t)code;
	attr.insn_cnt = 2;
	attr.license = (uint64_t)(uintptr_t) "GPL";
	return verdict(syscall(SYS_bpf, BPF_PROG_LOAD, &attr, sizeof(attr)));
}

static int perf_self(const struct attempt *a)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_TASK_CLOCK,
		.exclude_kernel = 1,
		.exclude_hv = 1 };

	(void)a;
	return verdict(syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0));
}

static int perf_all(const struct attempt *a)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE, .size = sizeof(attr), .config = PERF_COUNT_SW_CPU_CLOCK
	};

	(void)a;
	return verdict(syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0));
}

static int uffd(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_userfaultfd, O_CLOEXEC | UFFD_USER_MODE_ONLY));
}

static int uffd_kernel(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_userfaultfd, O_CLOEXEC));
}

static int key_add(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_add_key, "user", "corral-escape", "x", 1UL, -1 /* thread */));
}

/* The runner's session keyring has a key with a canary. */
static int key_read(const struct attempt *a)
{
	char data[256];
	long n, id;

	(void)a;
	if (!scene_has("key")) {
		note("no keyrings here");
		return ABSENT;
	}
	id = scene_number("key");
	n = syscall(SYS_keyctl, 11 /* KEYCTL_READ */, id, data, sizeof(data));
	if (n < 0)
		return verdict(-1);
	return has_canary(data, (size_t)n) ? verdict(0) : HELD;
}

static int key_request(const struct attempt *a)
{
	char data[256];
	long n, id = syscall(SYS_request_key, "user", "corral-canary", NULL, 0);

	(void)a;
	if (!scene_has("key"))
		return ABSENT;
	if (id < 0)
		return verdict(-1);
	n = syscall(SYS_keyctl, 11 /* KEYCTL_READ */, id, data, sizeof(data));
	return n > 0 && has_canary(data, (size_t)n) ? verdict(0) : HELD;
}

static int key_list(const struct attempt *a)
{
	char line[512];
	FILE *f;

	(void)a;
	if (!scene_has("key")) {
		note("no keyrings here");
		return ABSENT;
	}
	f = fopen("/proc/keys", "re");
	if (!f)
		return verdict(-1);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, "corral-canary"))
			return verdict(0);
	note("the caller's key is not there");
	return HELD;
}

static int key_join(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_keyctl, 1 /* KEYCTL_JOIN_SESSION_KEYRING */, NULL));
}

static int module_init(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_init_module, "", 0UL, ""), ENOEXEC);
}

static int module_finit(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_finit_module, -1, "", 0), EBADF);
}

static int module_delete(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_delete_module, "corral_no_such_module", O_NONBLOCK), ENOENT);
}

static int kexec(const struct attempt *a)
{
	/* Too many segments: noticed after the permission. */
	(void)a;
	return permitted(syscall(SYS_kexec_load, 0UL, 1000UL, NULL, 0UL), EINVAL);
}

static int kexec_file(const struct attempt *a)
{
	/* Unknown flags: noticed after the permission. */
	(void)a;
	return permitted(syscall(SYS_kexec_file_load, -1, -1, 0UL, NULL, ~0UL), EINVAL);
}

static int do_reboot(const struct attempt *a)
{
	/* Wrong magic numbers: noticed after the permission. */
	(void)a;
	return permitted(syscall(SYS_reboot, 0, 0, 0, NULL), EINVAL);
}

static int swap_on(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_swapon, "/corral/no/such/file", 0), ENOENT);
}

static int swap_off(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_swapoff, "/corral/no/such/file"), ENOENT);
}

static int set_hostname(const struct attempt *a)
{
	char name[256] = "";

	(void)a;
	if (gethostname(name, sizeof(name) - 1) < 0)
		broken("gethostname: %s", strerror(errno));
	return verdict(sethostname(name, strlen(name)));
}

static int set_domainname(const struct attempt *a)
{
	char name[256] = "";

	(void)a;
	if (getdomainname(name, sizeof(name) - 1) < 0)
		broken("getdomainname: %s", strerror(errno));
	return verdict(setdomainname(name, strlen(name)));
}

static int set_time_of_day(const struct attempt *a)
{
	/* No such time zone: noticed after the permission. */
	struct timezone zone = { .tz_minuteswest = 100000 };

	(void)a;
	return permitted(syscall(SYS_settimeofday, NULL, &zone), EINVAL);
}

static int adjust_clock(const struct attempt *a)
{
	/* A tick that cannot be: noticed after the permission. */
	struct timex t = { .modes = ADJ_TICK, .tick = 1 };

	(void)a;
	return permitted(syscall(SYS_clock_adjtime, 0, &t), EINVAL);
}

static int adjust_time(const struct attempt *a)
{
	struct timex t = { .modes = ADJ_TICK, .tick = 1 };

	(void)a;
	return permitted(syscall(SYS_adjtimex, &t), EINVAL);
}

static int do_acct(const struct attempt *a)
{
	(void)a;
	return permitted(syscall(SYS_acct, "/corral/no/such/file"), ENOENT);
}

static int do_syslog(const struct attempt *a)
{
	char data[256];

	(void)a;
	return verdict(syscall(SYS_syslog, 3 /* READ_ALL */, data, (int)sizeof(data)));
}

static int do_quotactl(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_quotactl, 0x80000100U /* Q_SYNC */, NULL, 0, NULL));
}

static int fan_init(const struct attempt *a)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC, O_RDONLY);

	(void)a;
	return verdict(
		fd < 0 ? -1
		       : fanotify_mark(fd, FAN_MARK_ADD | FAN_MARK_MOUNT, FAN_OPEN, AT_FDCWD, "/"));
}

/* Any user may, since 5.13, with file identifiers only. */
static int fan_user(const struct attempt *a)
{
	int fd = fanotify_init(FAN_CLASS_NOTIF | FAN_CLOEXEC | FAN_REPORT_FID, O_RDONLY);

	(void)a;
	return verdict(
		fd < 0 ? -1 : fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, scene("out")));
}

static int seccomp_listener(const struct attempt *a)
{
	struct sock_filter code[] = { { BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW } };
	struct sock_fprog prog = { 1, code };

	(void)a;
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	return verdict(syscall(
		SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &prog));
}

static int do_personality(const struct attempt *a)
{
	return verdict(personality(*(const unsigned *)a->arg));
}

static int set_mm(const struct attempt *a)
{
	(void)a;
	return verdict(prctl(PR_SET_MM, PR_SET_MM_START_BRK, (unsigned long)sbrk(0), 0, 0));
}

static int realtime(const struct attempt *a)
{
	const struct sched_param param = { .sched_priority = 1 };

	(void)a;
	return verdict(sched_setscheduler(0, SCHED_FIFO, &param));
}

static int nice_self(const struct attempt *a)
{
	(void)a;
	return verdict(setpriority(PRIO_PROCESS, 0, -10));
}

static int ioprio_self(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_ioprio_set, 1, 0, 1 << 13));
}

static int memfd_secret_call(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(447, 0));
}

static int name_to_handle(const struct attempt *a)
{
	union {
		struct file_handle h;
		char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	} u = { .h.handle_bytes = MAX_HANDLE_SZ };
	int id;

	(void)a;
	return verdict(name_to_handle_at(AT_FDCWD, scene("out"), &u.h, &id, 0));
}

/* Calls of another architecture have other numbers, which a filter by number would misread. */
static void put_elf32(const char *path)
{
#if defined(__aarch64__)
	enum { MACHINE = 40, FLAGS = 0x05000000 };
	/* mov r0, #42; mov r7, #1; svc 0 */
	static const uint32_t code[] = { 0xe3a0002a, 0xe3a07001, 0xef000000 };
#else
	enum { MACHINE = 3, FLAGS = 0 };
	/* mov $42, %ebx; mov $1, %eax; int $0x80 */
	static const uint8_t code[] = { 0xbb, 42, 0, 0, 0, 0xb8, 1, 0, 0, 0, 0xcd, 0x80 };
#endif
	struct {
		uint8_t ident[16];
		uint16_t type, machine;
		uint32_t version, entry, phoff, shoff, flags;
		uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
		uint32_t p_type, p_offset, p_vaddr, p_paddr, p_filesz, p_memsz, p_flags, p_align;
		uint8_t code[sizeof(code)];
	} __attribute__((packed)) elf = { .ident = { 0x7f, 'E', 'L', 'F', 1, 1, 1 },
		.type = 2,
		.machine = MACHINE,
		.version = 1,
		.entry = 0x10000 + 84,
		.phoff = 52,
		.flags = FLAGS,
		.ehsize = 52,
		.phentsize = 32,
		.phnum = 1,
		.p_type = 1,
		.p_vaddr = 0x10000,
		.p_filesz = sizeof(elf),
		.p_memsz = sizeof(elf),
		.p_flags = 5,
		.p_align = 0x1000 };
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);

	memcpy(elf.code, code, sizeof(code));
	if (fd < 0 || write(fd, &elf, sizeof(elf)) != (ssize_t)sizeof(elf) || close(fd) < 0)
		broken("cannot make %s: %s", path, strerror(errno));
}

static int foreign_program(const struct attempt *a)
{
	char *argv[] = { work_file(a), NULL };
	int r;

	put_elf32(argv[0]);
	r = run_program(argv[0], argv);
	if (r == -ENOEXEC || r == -ENOENT) {
		note("this kernel runs no 32-bit programs");
		return ABSENT;
	}
	note("exit %d", r);
	return r == RAN ? ESCAPED : HELD;
}

#if defined(__x86_64__)
static int int80(void *arg)
{
	long r;

	(void)arg;
	__asm__ volatile("int $0x80" : "=a"(r) : "a"(20 /* getpid */) : "memory");
	return r == getpid() ? RAN : 0;
}

static int x32(void *arg)
{
	(void)arg;
	return syscall(0x40000000L | 39 /* getpid */) == getpid() ? RAN : 0;
}

static int foreign_call(const struct attempt *a)
{
	int r = in_child(!strcmp(a->arg, "x32") ? x32 : int80, NULL);

	note("exit %d", r);
	return r == RAN ? ESCAPED : r == 0 || r == 128 + SIGSEGV ? ABSENT : HELD;
}

static int io_ports(const struct attempt *a)
{
	(void)a;
	return verdict(syscall(SYS_iopl, 3));
}
#else
static int foreign_call(const struct attempt *a)
{
	note("%s is for x86_64", (const char *)a->arg);
	return ABSENT;
}

static int io_ports(const struct attempt *a)
{
	(void)a;
	note("ports are for x86_64");
	return ABSENT;
}
#endif

static const unsigned read_exec = READ_IMPLIES_EXEC, old_abi = PER_LINUX32;

static const struct attempt table[] = {
	{ "uring-setup", "default", "SYS_ADMIN", "io_uring does calls that the filter never sees",
		uring_setup, NULL },
	{ "bpf-map", "default", "SYS_ADMIN", "bpf is a large surface", bpf_map, NULL },
	{ "bpf-program", "default", "SYS_ADMIN", "a program in the kernel", bpf_program, NULL },
	{ "perf-self", "default", "SYS_ADMIN", "perf events are a large surface", perf_self, NULL },
	{ "perf-all", "default", "SYS_ADMIN", "perf events watch all processes", perf_all, NULL },
	{ "userfaultfd", "default", "", "stopping the kernel at a page fault wins races", uffd,
		NULL },
	{ "userfaultfd-kernel", "default", "SYS_PTRACE", "the same for faults in the kernel",
		uffd_kernel, NULL },
	{ "key-add", "default", "", "keyrings are shared with the user's other programs", key_add,
		NULL },
	{ "key-read", "default", "", "a key of the caller's session can be read by number",
		key_read, NULL },
	{ "key-request", "default", "", "a key of the caller's session can be found by name",
		key_request, NULL },
	{ "key-list", "default", "", "/proc/keys lists the caller's keys", key_list, NULL },
	{ "key-join", "default", "", "another session keyring can be joined", key_join, NULL },
	{ "module-init", "default", "SYS_MODULE", "a kernel module is the kernel", module_init,
		NULL },
	{ "module-finit", "default", "SYS_MODULE", "the same by a descriptor", module_finit, NULL },
	{ "module-delete", "default", "SYS_MODULE", "a protection can be unloaded", module_delete,
		NULL },
	{ "kexec-load", "default", "SYS_BOOT", "another kernel can be started", kexec, NULL },
	{ "kexec-file", "default", "SYS_BOOT", "the same by a descriptor", kexec_file, NULL },
	{ "reboot", "default", "SYS_BOOT", "the machine can be rebooted", do_reboot, NULL },
	{ "swapon", "default", "SYS_ADMIN", "swap can be added", swap_on, NULL },
	{ "swapoff", "default", "SYS_ADMIN", "swap can be taken away", swap_off, NULL },
	{ "sethostname", "default", "SYS_ADMIN", "the host's name can be set", set_hostname, NULL },
	{ "setdomainname", "default", "SYS_ADMIN", "the domain's name can be set", set_domainname,
		NULL },
	{ "settimeofday", "default", "SYS_TIME", "the time zone and clock can be set",
		set_time_of_day, NULL },
	{ "clock-adjtime", "default", "SYS_TIME", "the clock can be bent", adjust_clock, NULL },
	{ "adjtimex", "default", "SYS_TIME", "the clock can be bent by the older call", adjust_time,
		NULL },
	{ "acct", "default", "SYS_PACCT", "accounting can be switched", do_acct, NULL },
	{ "syslog", "default", "SYSLOG", "the kernel's log can be read", do_syslog, NULL },
	{ "quotactl", "default", "", "quotas can be handled", do_quotactl, NULL },
	{ "fanotify-mount", "default", "SYS_ADMIN", "fanotify sees all opens of the machine",
		fan_init, NULL },
	{ "fanotify-user", "default", "", "fanotify without rights sees a folder outside", fan_user,
		NULL },
	{ "seccomp-listener", "default", "", "a listener of one's own answers for the real one",
		seccomp_listener, NULL },
	{ "personality-read-exec", "default", "", "what is readable becomes executable",
		do_personality, &read_exec },
	{ "personality-old-abi", "default", "", "another personality has other rules",
		do_personality, &old_abi },
	{ "prctl-set-mm", "default", "SYS_RESOURCE", "the map of the own process can be forged",
		set_mm, NULL },
	{ "realtime", "default", "SYS_NICE", "a real-time process starves all others", realtime,
		NULL },
	{ "nice-self", "default", "SYS_NICE", "a higher priority than the host's processes",
		nice_self, NULL },
	{ "ioprio-self", "default", "SYS_ADMIN", "a real-time class for the disk", ioprio_self,
		NULL },
	{ "memfd-secret", "default", "", "memory that not even the kernel's tools see",
		memfd_secret_call, NULL },
	{ "handle-make", "default", "", "a file handle can be made for a folder outside",
		name_to_handle, NULL },
	{ "foreign-program", "default", "",
		"a 32-bit program's calls have numbers that mean something else", foreign_program,
		NULL },
	{ "foreign-int80", "default", "", "int 0x80 has the other numbers", foreign_call, "int80" },
	{ "foreign-x32", "default", "", "x32 has the other numbers", foreign_call, "x32" },
	{ "io-ports", "default", "SYS_RAWIO", "ports talk to the hardware", io_ports, NULL },
};
THEME(kernel, "Other parts of the kernel", table);
