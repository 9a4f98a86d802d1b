/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave/test/test-open.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"

char test_files_token[CORRAL_TOKEN_BYTES];
char test_files_message[1024];
bool test_files_denied;

/* One rule for all that is to be asked about. */
static void add_questions(struct buffer *out, const char *const *lines)
{
	bool any = false;

	for (; *lines; lines++) {
		if (strncmp(*lines, "ask ", 4) != 0)
			continue;
		buffer_adds(out, any ? ", "
				     : "rules:\n- id: ask\n  action: ask\n"
				       "  operations: [fs.read, fs.write]\n  patterns: [");
		buffer_printf(out, "'%s'", test_tree(*lines + 4));
		any = true;
	}
	buffer_adds(out, any ? "]\n" : "");
}

static int add_line(struct corral_permissions *p, const char *line)
{
	const char *pattern = test_tree(strchr(line, ' ') + 1);

	if (strncmp(line, "read ", 5) == 0)
		return corral_permissions_allow(p, CORRAL_FS_READ, pattern, NULL);
	if (strncmp(line, "write ", 6) == 0)
		return corral_permissions_allow(p, CORRAL_FS_WRITE, pattern, NULL);
	if (strncmp(line, "deny ", 5) == 0)
		return corral_permissions_deny(p, CORRAL_FS_READ, pattern, NULL);
	if (strncmp(line, "danger ", 7) == 0)
		return corral_permissions_dangerously_allow(p, pattern, NULL);
	return strncmp(line, "ask ", 4) == 0 ? 0 : -EINVAL;
}

struct corral_permissions *test_files_permissions(const char *const *lines)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	auto_buffer text = { 0 };

	buffer_adds(&text, "exec: []\n");
	add_questions(&text, lines);
	if (corral_permissions_parse(&p, "test.yaml", buffer_text(&text), text.len, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	for (; *lines; lines++)
		assert_int_equal(add_line(p, *lines), 0);
	return p;
}

struct corral_enclave *test_files_enclave_of(
	const char *const *lines, const struct corral_enclave_options *o)
{
	struct corral_permissions *p = test_files_permissions(lines);
	struct corral_enclave_options options = *o;
	struct corral_enclave *enclave = NULL;
	struct corral_error *e = NULL;

	options.granted = p;
	if (corral_enclave_new(&enclave, &options, test_files_token, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_permissions_free(p);
	return enclave;
}

struct corral_enclave *test_files_enclave(const char *const *lines)
{
	const struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;

	return test_files_enclave_of(lines, &o);
}

/* A failure has words, a success has none. */
static int outcome(long r, struct corral_error *e)
{
	assert_true((r < 0) == (e != NULL));
	test_files_message[0] = '\0';
	test_files_denied = false;
	if (e) {
		(void)snprintf(test_files_message, sizeof(test_files_message), "%s",
			corral_error_message(e));
		test_files_denied = corral_error_denial(e) != NULL;
		corral_error_free(e);
	}
	return (int)r;
}

int test_files_read(struct corral_enclave *enclave, const char *path, char text[64])
{
	struct corral_error *e = NULL;
	char *data = NULL;
	size_t len = 0;
	int r = corral_enclave_fs_read(enclave, NULL, test_tree(path), &data, &len, &e);

	assert_true((r < 0) == (data == NULL));
	if (r == 0)
		assert_int_equal(data[len], '\0');
	if (r == 0 && text)
		(void)snprintf(text, 64, "%s", data);
	corral_free(data);
	return outcome(r, e);
}

int test_files_write(struct corral_enclave *enclave, const char *path, const char *text)
{
	struct corral_error *e = NULL;
	int r = corral_enclave_fs_write(enclave, NULL, test_tree(path), text, strlen(text), &e);

	return outcome(r, e);
}

int test_files_delete(struct corral_enclave *enclave, const char *path)
{
	struct corral_error *e = NULL;
	int r = corral_enclave_fs_delete(enclave, NULL, test_tree(path), &e);

	return outcome(r, e);
}

int test_files_stat(struct corral_enclave *enclave, const char *path, struct corral_file *ret)
{
	static char name[4096];
	struct corral_error *e = NULL;
	int r = corral_enclave_fs_stat(enclave, NULL, test_tree(path), ret, name, &e);

	return outcome(r, e);
}

static int add_name(void *context, const struct corral_file *file)
{
	char *names = context;
	size_t n = strlen(names);

	(void)snprintf(names + n, 256 - n, "%s ", file->name);
	return 0;
}

long test_files_list(struct corral_enclave *enclave, const char *path, char names[256])
{
	struct corral_error *e = NULL;
	long r;

	names[0] = '\0';
	r = corral_enclave_fs_list(enclave, NULL, test_tree(path), add_name, names, &e);
	return outcome(r, e);
}
