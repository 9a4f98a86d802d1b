/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "wire/frame.h"

enum {
	LEN = 5000,
	ALL = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_SEAL,
	NOEXEC_SEAL = 8,
	HUGE_LEN = 2 << 20,
	HUGE_LOG = 21 << 26, /* MFD_HUGE_2MB */
};

static char bytes[LEN + 1];

/* The linker sends the system calls here (--wrap). */
static bool old_kernel;
static int next_errno;

int __real_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags);
int __wrap_memfd_create(const char *name, unsigned flags)
{
	errno = next_errno ? next_errno : EINVAL;
	if (next_errno || (old_kernel && (flags & NOEXEC_SEAL)))
		return -1;
	return __real_memfd_create(name, flags);
}

static int interruptions;

ssize_t __real_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len);
ssize_t __wrap_write(int fd, const void *data, size_t len)
{
	errno = EINTR;
	if (interruptions > 0 && interruptions-- > 0)
		return -1;
	/* At most a few bytes at a time: the rest must follow. */
	return __real_write(fd, data, len > 1000 ? 1000 : len);
}

static void check_sealed(int fd)
{
	void *map = NULL;

	assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC);
	assert_int_equal(fcntl(fd, F_GET_SEALS) & ALL, ALL);
	assert_int_equal(pwrite(fd, "x", 1, 0), -1);
	assert_int_equal(ftruncate(fd, 0), -1);
	assert_int_equal(ftruncate(fd, LEN + 1), -1);
	assert_ptr_equal(mmap(NULL, LEN, PROT_WRITE, MAP_SHARED, fd, 0), MAP_FAILED);
	assert_int_equal(sealed_map(fd, LEN, &map), 0);
	assert_memory_equal(map, bytes, LEN);
	assert_int_equal(munmap(map, LEN), 0);
}

static void test_round_trip(void **state)
{
	auto_fd fd = -1;

	(void)state;
	interruptions = 2;
	assert_int_equal(sealed_new(bytes, LEN, &fd), 0);
	assert_int_equal(interruptions, 0);
	check_sealed(fd);
}

static void test_old_kernel(void **state)
{
	auto_fd fd = -1;

	(void)state;
	old_kernel = true;
	assert_int_equal(sealed_new(bytes, LEN, &fd), 0);
	old_kernel = false;
	check_sealed(fd);
}

static void test_fails(void **state)
{
	int fd = -2;

	(void)state;
	next_errno = EMFILE;
	assert_int_equal(sealed_new(bytes, LEN, &fd), -EMFILE);
	next_errno = 0;
	assert_int_equal(fd, -2);
}

/* Not by a signal, which would end the program. */
static void test_file_limit(void **state)
{
	struct rlimit old, limit;
	auto_fd fits = -1;
	int fd = -2, r, s;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = LEN;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	r = sealed_new(bytes, LEN + 1, &fd);
	s = sealed_new(bytes, LEN, &fits);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_int_equal(r, -EFBIG);
	assert_int_equal(fd, -2);
	assert_int_equal(s, 0);
	check_sealed(fits);
}

static int memfd(int seals, size_t len)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)len), 0);
	if (seals)
		assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

static void refused(int fd, size_t len, const char *name)
{
	auto_fd owned = fd;
	void *map = bytes;
	int r;

	assert_true(fd >= 0);
	r = sealed_map(owned, len, &map);
	if (r != -EPROTO)
		fail_msg("%s: %d", name, r);
	assert_ptr_equal(map, bytes);
}

/* The same memfd, opened again. */
static int reopen(int fd, int flags)
{
	auto_fd owned = fd;
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", owned);
	return open(path, flags | O_CLOEXEC);
}

static void test_refused(void **state)
{
	static const int seals[] = { F_SEAL_WRITE, F_SEAL_GROW, F_SEAL_SHRINK, F_SEAL_SEAL };
	void *map = NULL;
	auto_fd good = memfd(ALL, LEN);

	(void)state;
	assert_int_equal(sealed_map(good, LEN, &map), 0);
	assert_int_equal(munmap(map, LEN), 0);
	for (size_t i = 0; i < ROWS(seals); i++) {
		refused(memfd(seals[i], LEN), LEN, "one seal");
		refused(memfd(ALL & ~seals[i], LEN), LEN, "one seal missing");
	}
	refused(memfd(0, LEN), LEN, "no seal");
	refused(memfd(F_SEAL_GROW | F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL, LEN), LEN,
		"still writable by old mappings");
	refused(memfd(ALL, LEN - 1), LEN, "too short");
	refused(memfd(ALL, LEN + 1), LEN, "too long");
	refused(memfd(ALL, 0), LEN, "empty");
	refused(memfd(ALL, 0), 0, "nothing wanted");
	refused(reopen(memfd(ALL, LEN), O_WRONLY), LEN, "write-only");
	refused(reopen(memfd(ALL, LEN), O_PATH), LEN, "a path");
	refused(open("/dev/null", O_RDONLY | O_CLOEXEC), LEN, "a device");
	refused(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), LEN, "a file");
	refused(open("/dev", O_RDONLY | O_DIRECTORY | O_CLOEXEC), LEN, "a folder");
}

static void test_huge_pages(void **state)
{
	int fd = memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING | MFD_HUGETLB | HUGE_LOG);

	(void)state;
	if (fd < 0) /* this kernel has none, so nobody can send them */
		return;
	assert_int_equal(ftruncate(fd, HUGE_LEN), 0);
	assert_int_equal(fcntl(fd, F_ADD_SEALS, ALL), 0);
	refused(fd, HUGE_LEN, "huge pages");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_old_kernel),
		cmocka_unit_test(test_fails),
		cmocka_unit_test(test_file_limit),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_huge_pages),
	};

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (char)(i * 7);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
