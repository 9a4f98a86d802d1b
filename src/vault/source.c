/* SPDX-License-Identifier: Apache-2.0 */
#include "vault/source.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/json.h"
#include "event/wait.h"
#include "host/account.h"
#include "host/planted.h"
#include "process/starting.h"
#include "vault/format.h"
#include "vault/login.h"
#include "vault/source-text.h"

enum { SOURCE_MS = 60 * 1000, SOURCE_WORDS_MAX = 32 };

/* Files */

/* Up to its end, into locked memory. -EFBIG. until_ms: for a pipe. */
static int source_read_fd(int fd, uint64_t until_ms, struct secret *ret)
{
	auto_secret all = { 0 };
	size_t len = 0;
	int r = secret_new(&all, VAULT_VALUE_MAX + 2);

	while (r == 0) {
		ssize_t n;

		if (wait_for_one(fd, POLLIN, until_ms) == 0)
			return -ETIMEDOUT;
		n = read(fd, all.data + len, all.len - len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		len += (size_t)n;
		r = len == all.len ? -EFBIG : 0;
	}
	/* The end of a line is not part of a value. */
	if (len > 0 && all.data[len - 1] == '\n')
		len--;
	if (len > 0 && all.data[len - 1] == '\r')
		len--;
	if (r == 0 && len > VAULT_VALUE_MAX)
		r = -EFBIG;
	return r < 0 ? r : secret_copy(ret, all.data, len);
}

static int source_read_file(const char *path, struct source_value *ret, struct error *e)
{
	auto_arena scratch = { 0 };
	const char *home = NULL;
	auto_fd fd = -1;
	struct planted p;
	struct stat st = { 0 };
	int r;

	(void)account_home("/etc/passwd", geteuid(), &scratch, &home);
	r = planted_find(path, home, &p);
	if (r == 1) {
		(void)error_set(e, -EPERM, NULL,
			"%s: a command in a sandbox could have made the link %s", path, p.link);
		error_hint(e, "name the file itself: %s", p.real);
		return -EPERM;
	}
	if (r == 0) {
		fd = open(p.real, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
		r = fd < 0 || fstat(fd, &st) < 0 ? -errno : 0;
	}
	if (r == 0 && (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077)))
		return error_set(e, -EPERM, NULL,
			"%s must be a file of yours that no other user can read (mode 0600)", path);
	if (r == 0)
		r = source_read_fd(fd, WAIT_FOR_EVER, &ret->value);
	return r < 0 ? error_set(e, r, NULL, "%s: %s", path, strerror(-r)) : 0;
}

static int source_read_login(const char *rest, struct source_value *ret, struct error *e)
{
	const char *key = strchr(rest, '#');
	const struct mask_secret *s = NULL;
	auto_mask m = { 0 };
	int r = login_read(mask_file_find(rest, strcspn(rest, "#")), &m, e);

	if (r == 0)
		r = mask_find(&m, key ? key + 1 : "", &s, e);
	if (r < 0 || !s)
		return r < 0 ? r : -ENOENT;
	if (strlen(s->value) > VAULT_VALUE_MAX)
		return error_set(e, -EFBIG, NULL, "%s is too long", s->key);
	return secret_copy(&ret->value, s->value, strlen(s->value));
}

static int source_read_variable(const char *name, struct source_value *ret, struct error *e)
{
	const char *value = secure_getenv(name);

	if (!value || !*value)
		return error_set(e, -ENOENT, NULL, "the variable %s is not set", name);
	if (strlen(value) > VAULT_VALUE_MAX)
		return error_set(e, -EFBIG, NULL, "the variable %s is too long", name);
	return secret_copy(&ret->value, value, strlen(value));
}

/* Programs */

/* Nothing of our own environment: what every program has, and the user's bus at its usual place. */
static int source_environment(struct arena *a, const char *const **ret)
{
	const char **env = arena_calloc(a, 6, sizeof(*env));
	const char *home = "/";
	char *bus = arena_printf(a, "/run/user/%u/bus", (unsigned)geteuid());
	size_t n = 0;

	if (!env || !bus)
		return -ENOMEM;
	(void)account_home("/etc/passwd", geteuid(), a, &home);
	env[n++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[n++] = "LANG=C.UTF-8";
	env[n++] = arena_printf(a, "HOME=%s", home);
	if (access(bus, F_OK) == 0) {
		env[n++] = arena_printf(a, "DBUS_SESSION_BUS_ADDRESS=unix:path=%s", bus);
		env[n++] = arena_printf(a, "XDG_RUNTIME_DIR=/run/user/%u", (unsigned)geteuid());
	}
	for (size_t i = 0; i < n; i++)
		if (!env[i])
			return -ENOMEM;
	*ret = env;
	return 0;
}

/* Its status, or -ETIMEDOUT after the time; it is gone in any case, with its group. */
static int source_wait(pid_t pid, uint64_t until_ms)
{
	int status = 0;
	pid_t got = 0;

	while ((got = waitpid(pid, &status, WNOHANG)) == 0 && clock_ms(CLOCK_MONOTONIC) < until_ms)
		(void)poll(NULL, 0, 5);
	(void)kill(-pid, SIGKILL);
	if (got == 0)
		while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
			;
	if (got == 0)
		return -ETIMEDOUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : -EINTR;
}

static int source_start(const char *const *argv, const char *program, const char *const *given,
	const struct secret *input, int *ret_output, pid_t *ret)
{
	auto_arena a = { 0 };
	const char *const *env = NULL;
	int out[2] = { -1, -1 }, in[2] = { -1, -1 };
	int r = pipe2(out, O_CLOEXEC) < 0 || (input && pipe2(in, O_CLOEXEC) < 0) ? -errno : 0;
	const int fds[] = { in[0], out[1], -1 };
	const struct starting s = { .program = program,
		.argv = argv,
		.fds = fds,
		.n = ROWS(fds),
		.folder = "/",
		.place = STARTING_SESSION };
	struct starting with = s;

	if (r == 0 && !given)
		r = source_environment(&a, &env);
	with.env = given ? given : env;
	/* Less than a pipe holds. */
	if (r == 0 && input)
		r = file_write_all(in[1], input->data, input->len);
	if (r == 0)
		r = starting_program(&with, ret);
	fd_close(&in[0]);
	fd_close(&in[1]);
	fd_close(&out[1]);
	if (r == 0)
		*ret_output = fd_take(&out[0]);
	fd_close(&out[0]);
	return r;
}

/* program: where argv[0] leads. env: NULL for the one that programs of users get. */
static int source_take_output(const char *const *argv, const char *program, const char *const *env,
	const struct secret *input, struct secret *ret, struct error *e)
{
	const uint64_t until = wait_until(SOURCE_MS);
	auto_secret value = { 0 };
	auto_fd output = -1;
	pid_t pid = -1;
	int r = source_start(argv, program, env, input, &output, &pid), status;

	if (r < 0)
		return error_set(e, r, NULL, "cannot start %s: %s", argv[0], strerror(-r));
	r = source_read_fd(output, until, &value);
	status = source_wait(pid, until);
	if (r == -EFBIG)
		return error_set(
			e, r, NULL, "%s prints more than %d KiB", argv[0], VAULT_VALUE_MAX >> 10);
	if (r == -ETIMEDOUT || status == -ETIMEDOUT)
		return error_set(e, -ETIMEDOUT, NULL, "%s takes longer than a minute", argv[0]);
	if (r < 0 || status != 0) {
		(void)error_set(e, -EIO, NULL, "%s failed (status %d)", argv[0], status);
		error_hint(e,
			"run it yourself, with an empty environment: env -i HOME=\"$HOME\" %s",
			argv[0]);
		return -EIO;
	}
	*ret = value;
	value = (struct secret){ 0 };
	return 0;
}

int source_run(
	const char *const *argv, const struct secret *input, struct secret *ret, struct error *e)
{
	char real[PATH_BYTES];

	if (!path_is_normal(argv[0], strlen(argv[0])) || !planted_is_out_of_reach(argv[0], real)) {
		(void)error_set(e, -EPERM, NULL,
			"%s is not there, or commands in sandboxes could change it", argv[0]);
		error_hint(e, "use a program that the system installed, such as one in /usr/bin");
		return -EPERM;
	}
	return source_take_output(argv, real, NULL, input, ret, e);
}

int source_run_service(
	const char *const *words, const struct secret *input, struct secret *ret, struct error *e)
{
	const char *named = secure_getenv("CORRAL_SECRET_SERVICE");
	const char *program = named && *named ? named : CORRAL_SECRET_SERVICE_PATH;
	const char *argv[] = { "corral-secret-service", words[0], words[1],
		words[1] ? words[2] : NULL, NULL };
	const char *address = secure_getenv("DBUS_SESSION_BUS_ADDRESS");
	auto_arena a = { 0 };
	const char *env[] = {
		address && *address
			? arena_printf(&a, "DBUS_SESSION_BUS_ADDRESS=%s", address)
			: arena_printf(&a, "DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/%u/bus",
				  (unsigned)geteuid()),
		NULL
	};
	int r = !env[0] ? -ENOMEM : access(program, X_OK) < 0 ? -errno : 0;

	if (r == 0)
		r = source_take_output(argv, program, env, input, ret, NULL);
	if (r == -EIO) {
		(void)error_set(e, r, NULL,
			"the Secret Service does not answer, is locked, or has no such item, or "
			"several");
		error_hint(e, "log in to a desktop with a keyring, and unlock it; secret-tool "
			      "lists items");
	} else if (r < 0) {
		(void)error_set(e, r, NULL, "%s: %s", program, strerror(-r));
	}
	return r;
}

/* "2026-11-18T04:00:00Z", with a fraction or an offset too; or seconds. 0: it is neither. */
static uint64_t source_time(const struct node *n)
{
	const char *text = node_text(n), *end;
	struct tm tm = { 0 };
	int64_t seconds, hours = 0, minutes = 0;

	if (!text)
		return 0;
	if (node_integer(n, &seconds) == 0)
		return seconds > 0 ? (uint64_t)seconds : 0;
	end = strptime(text, "%Y-%m-%dT%H:%M:%S", &tm);
	if (!end)
		return 0;
	if (*end == '.')
		end += 1 + strspn(end + 1, "0123456789");
	if (*end == '+' || *end == '-') {
		const int sign = *end == '-' ? -1 : 1;

		if (strlen(end) != 6 || end[3] != ':' || strspn(end + 1, "0123456789") != 2 ||
			strspn(end + 4, "0123456789") != 2)
			return 0;
		hours = strtol(end + 1, NULL, 10);
		minutes = strtol(end + 4, NULL, 10);
		hours *= sign;
		minutes *= sign;
	} else if (strcmp(end, "Z") != 0) {
		return 0;
	}
	seconds = (int64_t)timegm(&tm) - hours * 3600 - minutes * 60;
	return seconds > 0 ? (uint64_t)seconds : 0;
}

static int source_parse_map(const struct node *map, uint64_t now_s, const void *output, size_t len,
	struct source_value *ret, struct error *e)
{
	const struct node *value = node_get(map, "value");
	const struct node *expires = node_get(map, "expires");
	const char *text = value ? node_text(value) : NULL;
	int64_t seconds = 0;

	expires = expires ? expires : node_get(map, "Expiration");
	if (expires) {
		ret->expires_s = source_time(expires);
		if (ret->expires_s == 0)
			return error_set(e, -EINVAL, NULL, "the time of expiry is not RFC 3339");
	}
	if (node_get(map, "expires_in") &&
		(node_integer(node_get(map, "expires_in"), &seconds) < 0 || seconds <= 0 ||
			seconds > INT32_MAX))
		return error_set(e, -EINVAL, NULL, "expires_in is not a number of seconds");
	if (seconds > 0)
		ret->expires_s = now_s + (uint64_t)seconds;
	if (value && !text)
		return error_set(e, -EINVAL, NULL, "`value` is not text");
	return text ? secret_copy(&ret->value, text, strlen(text))
		    : secret_copy(&ret->value, output, len);
}

int source_parse(
	const void *output, size_t len, uint64_t now_s, struct source_value *ret, struct error *e)
{
	auto_document d = { 0 };
	struct source_value v = { 0 };
	int r;

	/* What only begins like an object is a value. */
	if (len == 0 || *(const char *)output != '{' ||
		json_read(&d, NULL, output, len, NULL) < 0 || d.root->type != NODE_MAP)
		r = secret_copy(&v.value, output, len);
	else
		r = source_parse_map(d.root, now_s, output, len, &v, e);
	if (r < 0) {
		secret_free(&v.value);
		return e && e->text[0] ? r : error_set(e, r, NULL, "%s", strerror(-r));
	}
	*ret = v;
	return 0;
}

/* A script that an interpreter gets as a word is a program, too. */
static int source_check_words(const char *const *argv, struct error *e)
{
	char real[PATH_BYTES];

	for (size_t i = 1; argv[i]; i++)
		if (argv[i][0] == '/' && !planted_is_out_of_reach(argv[i], real)) {
			(void)error_set(e, -EPERM, NULL,
				"%s is not there, or commands in sandboxes could change it",
				argv[i]);
			error_hint(e, "move it to a folder of the system, such as /usr/local/bin");
			return -EPERM;
		}
	return 0;
}

static int source_read_program(const char *words, struct source_value *ret, struct error *e)
{
	const char *argv[SOURCE_WORDS_MAX + 1] = { NULL };
	char text[VAULT_TEXT_MAX], *rest = NULL;
	auto_secret output = { 0 };
	size_t n = 0;
	int r;

	(void)snprintf(text, sizeof(text), "%s", words);
	for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
		if (n == SOURCE_WORDS_MAX)
			return error_set(e, -E2BIG, NULL, "the command has too many words");
		argv[n++] = word;
	}
	r = n > 0 ? source_check_words(argv, e) : -EINVAL;
	if (r == 0)
		r = source_run(argv, NULL, &output, e);
	return r < 0 ? r
		     : source_parse(
			       output.data, output.len, clock_ms(CLOCK_REALTIME) / 1000, ret, e);
}

/* Our own program, by the file that runs here: `corral`, or who stands in for it in a test. */
static int source_own_program(char ret[PATH_BYTES])
{
	const char *named = secure_getenv("CORRAL_PROGRAM");
	ssize_t n = -1;

	if (named && *named)
		return snprintf(ret, PATH_BYTES, "%s", named) < PATH_BYTES ? 0 : -ENAMETOOLONG;
	n = readlink("/proc/self/exe", ret, PATH_BYTES - 1);
	if (n > 0 && (size_t)n < PATH_BYTES - 1) {
		ret[n] = '\0';
		if (strcmp(strrchr(ret, '/'), "/corral") == 0)
			return 0;
	}
	(void)snprintf(ret, PATH_BYTES, "%s", CORRAL_PROGRAM_PATH);
	return access(ret, X_OK) < 0 ? -errno : 0;
}

/* What it needs to find the same vault, and the programs that it starts. */
static int source_own_environment(struct arena *a, const char *const **ret)
{
	static const char *const names[] = { "HOME", "XDG_STATE_HOME", "XDG_CONFIG_HOME",
		"XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "CORRAL_AUDIT", "CORRAL_VAULT", "CORRAL_FETCH",
		"CORRAL_WARDEN", "CORRAL_SECRET_SERVICE", "DBUS_SESSION_BUS_ADDRESS" };
	const char **env = arena_calloc(a, ROWS(names) + 3, sizeof(*env));
	size_t n = 0;

	if (!env)
		return -ENOMEM;
	env[n++] = "PATH=/usr/local/bin:/usr/bin:/bin";
	env[n++] = "LANG=C.UTF-8";
	for (size_t i = 0; i < ROWS(names); i++) {
		const char *value = secure_getenv(names[i]);

		if (value && !(env[n++] = arena_printf(a, "%s=%s", names[i], value)))
			return -ENOMEM;
	}
	*ret = env;
	return 0;
}

/* {"error": …, "hint": …} of `corral link renew`. */
static int source_take_refusal(const struct secret *output, struct error *e)
{
	auto_document d = { 0 };

	if (json_read(&d, NULL, (const char *)output->data, output->len, NULL) < 0)
		return error_set(e, -EPROTO, NULL, "corral link renew: no answer");
	if (!node_get(d.root, "error"))
		return 0;
	(void)error_set(e, -EACCES, NULL, "%s", node_get_text(d.root, "error"));
	error_hint(e, "%s", node_get_text(d.root, "hint"));
	return -EACCES;
}

/* No value: it is in the vault. */
static int source_read_link(const char *name, struct source_value *ret, struct error *e)
{
	const char *const argv[] = { "corral", "link", "renew", name, NULL };
	char program[PATH_BYTES];
	auto_secret output = { 0 };
	const char *const *env = NULL;
	auto_arena a = { 0 };
	int r = source_own_program(program);

	if (r == 0)
		r = source_own_environment(&a, &env);
	if (r < 0)
		return error_set(e, r, NULL, "corral link renew: %s", strerror(-r));
	r = source_take_output(argv, program, env, NULL, &output, e);
	if (r == 0)
		r = source_take_refusal(&output, e);
	if (r == 0)
		r = source_parse(output.data, output.len, clock_ms(CLOCK_REALTIME) / 1000, ret, e);
	if (r == 0 && !ret->expires_s)
		secret_free(&ret->value);
	return r;
}

int source_read(const char *text, struct source_value *ret, struct error *e)
{
	struct source_value v = { 0 };
	const char *rest = NULL;
	int kind = source_text_check(text, &rest, e), r;

	if (kind < 0)
		return kind;
	if (kind == SOURCE_FILE)
		r = source_read_file(rest, &v, e);
	else if (kind == SOURCE_LOGIN)
		r = source_read_login(rest, &v, e);
	else if (kind == SOURCE_ENV)
		r = source_read_variable(rest, &v, e);
	else if (kind == SOURCE_CMD)
		r = source_read_program(rest, &v, e);
	else if (kind == SOURCE_LINK)
		r = source_read_link(rest, &v, e);
	else
		r = source_run_service(
			(const char *const[]){ "get", rest, NULL }, NULL, &v.value, e);
	if (r == 0)
		*ret = v;
	else
		secret_free(&v.value);
	return r;
}
