/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/test/test-common.h"
#include "test/scratch.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char test_folder[64];

int test_make_folder(void **state)
{
	(void)state;
	(void)strcpy(test_folder, "/var/tmp/corral-test-XXXXXX");
	return mkdtemp(test_folder) ? 0 : -1;
}

int test_remove_folder(void **state)
{
	(void)state;
	return scratch_remove(test_folder);
}

const char *test_file(const char *name, const char *text, unsigned mode)
{
	static char path[256];
	int fd;

	(void)snprintf(path, sizeof(path), "%s/%s", test_folder, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(fchmod(fd, mode), 0);
	assert_int_equal(close(fd), 0);
	return path;
}

struct corral_builder *test_builder(void)
{
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_new(&b), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/usr/**"), 0);
	assert_int_equal(corral_builder_allow_fs_read(b, "/etc/alternatives/**"), 0);
	assert_int_equal(corral_builder_allow_fs_write(b, "$WORK_DIR/**"), 0);
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	return b;
}

struct corral_sandbox *test_build(struct corral_builder *b)
{
	struct corral_sandbox *s = NULL;
	struct corral_error *e = NULL;

	if (corral_builder_build(b, &s, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_builder_free(b);
	return s;
}

struct corral_sandbox *test_sandbox(void)
{
	return test_build(test_builder());
}

struct corral_result *test_run(
	struct corral_sandbox *s, const char *line, const struct corral_call *call)
{
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	if (corral_sandbox_execute(s, line, call, &r, &e) < 0)
		fail_msg("%s: %s", line, corral_error_message(e));
	return r;
}

void test_prints(struct corral_sandbox *s, const char *line, const char *out, int status)
{
	struct corral_result *r = test_run(s, line, NULL);

	if (corral_result_exit_code(r) != status)
		fail_msg("%s: %d, not %d: %s", line, corral_result_exit_code(r), status,
			corral_result_stderr(r, NULL));
	assert_string_equal(corral_result_stdout(r, NULL), out);
	corral_result_free(r);
}

void test_says(struct corral_error *e, const char *text)
{
	if (!strstr(corral_error_message(e), text))
		fail_msg("\"%s\" does not say \"%s\"", corral_error_message(e), text);
	corral_error_free(e);
}

/* The parent and the name of a process; false if it is gone. */
static bool look(pid_t pid, pid_t *parent, char name[64])
{
	char path[64], line[512] = "", *start, *end;
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	(void)!fgets(line, sizeof(line), f);
	(void)fclose(f);
	/* "12 (name) S 1 …" */
	start = strchr(line, '(');
	end = strrchr(line, ')');
	if (!start || !end || end - start > 60 || strlen(end) < 5)
		return false;
	*end = '\0';
	(void)snprintf(name, 64, "%s", start + 1);
	*parent = (pid_t)strtol(end + 4, NULL, 10);
	return true;
}

static int count(pid_t parent, const char *name, pid_t *ret)
{
	DIR *dir = opendir("/proc");
	struct dirent *entry;
	int n = 0;

	assert_non_null(dir);
	while ((entry = readdir(dir))) {
		pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10), other;
		char its[64];

		if (pid <= 0 || !look(pid, &other, its) || other != parent)
			continue;
		if (name && strcmp(its, name) != 0)
			continue;
		if (n++ == 0 && ret)
			*ret = pid;
	}
	(void)closedir(dir);
	return n;
}

int test_count_children(const char *name, pid_t *ret)
{
	return count(getpid(), name, ret);
}

pid_t test_child_of(pid_t parent)
{
	pid_t pid = 0;

	return count(parent, NULL, &pid) ? pid : 0;
}
