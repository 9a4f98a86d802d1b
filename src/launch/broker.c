/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/broker.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/words.h"

static const char *launch_broker_named(const char *variable, const char *otherwise)
{
	const char *path = secure_getenv(variable);

	return path && *path ? path : otherwise;
}

static int launch_broker_look(const char *path)
{
	return faccessat(AT_FDCWD, path, X_OK, AT_EACCESS) < 0 ? -errno : 0;
}

int launch_broker_find(struct launch_broker *ret, struct error *e)
{
	/* "": built without. */
	const char *program = launch_broker_named("CORRAL_BROKER", CORRAL_BROKER_PATH);
	const char *caller = launch_broker_named("CORRAL_SANDBOX_CALL", CORRAL_CALLER_PATH);
	int r;

	if (!*program) {
		(void)error_set(e, -EOPNOTSUPP, NULL, "this Corral was built without the broker");
		error_hint(e, "build it with the meson option -Dbroker=enabled");
		return -EOPNOTSUPP;
	}
	if (program[0] != '/')
		return error_set(e, -EINVAL, NULL,
			"CORRAL_BROKER: `%.100s` is not an absolute path", program);
	r = launch_broker_look(program);
	if (r < 0) {
		(void)error_set(
			e, r, NULL, "cannot start the broker %s: %s", program, strerror(-r));
		error_hint(e, "install corral-broker, or set CORRAL_BROKER to its path");
		return r;
	}
	*ret = (struct launch_broker){ .program = program,
		.caller = *caller == '/' && launch_broker_look(caller) == 0 ? caller : NULL,
		.warden = launch_broker_named("CORRAL_WARDEN", NULL) };
	return 0;
}

bool launch_broker_is_granted(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_services; i++)
		if (p->services[i].access != SERVICE_NONE)
			return true;
	for (size_t i = 0; i < p->n_rules; i++)
		if (p->rules[i].operations & 1U << OPERATION_SERVICE && !p->rules[i].disabled &&
			p->rules[i].action != VERDICT_DENY)
			return true;
	for (size_t i = 0; i < p->n_all_of; i++)
		if (launch_broker_is_granted(p->all_of[i]))
			return true;
	return false;
}

/* CORRAL_BACKENDS: the folder of the programs that serve. CORRAL_TERMINAL: see below. */
static const char *const launch_broker_variables[] = { "BROWSER", "CORRAL_BACKENDS",
	"DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "HOME", "LANG", "LC_ALL", "LOGNAME", "PATH",
	"SSL_CERT_FILE", "TZ", "USER", "WAYLAND_DISPLAY", "XAUTHORITY", "XDG_CONFIG_DIRS",
	"XDG_CONFIG_HOME", "XDG_CURRENT_DESKTOP", "XDG_DATA_DIRS", "XDG_RUNTIME_DIR",
	"XDG_SESSION_TYPE", NULL };

/* The terminal that this process has, for a clipboard that a terminal keeps. NULL: none. */
static const char *launch_broker_terminal(struct arena *a)
{
	char path[64];

	for (int fd = STDERR_FILENO; fd >= STDIN_FILENO; fd--)
		if (isatty(fd) && ttyname_r(fd, path, sizeof(path)) == 0)
			return arena_printf(a, "CORRAL_TERMINAL=%s", path);
	return NULL;
}

/* What finds the vault, its programs, and where its values are.. */
static const char *const launch_lender_variables[] = { "CORRAL_INJECT", "CORRAL_POSTGRES",
	"CORRAL_SECRET_SERVICE", "CORRAL_VAULT", "DBUS_SESSION_BUS_ADDRESS", "HOME", "PATH",
	"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "XDG_STATE_HOME", NULL };

/* Of env those with these names, and room for one more. NULL: out of memory. */
static const char **launch_broker_choose(
	struct arena *a, const char *const *env, const char *const *names, size_t *ret_n)
{
	size_t most = 0, n = 0;
	const char **list;

	while (names[most])
		most++;
	list = arena_calloc(a, most + 2, sizeof(*list));
	for (; list && env && *env && n < most; env++)
		if (strchr(*env, '=') && words_find(names, *env, strcspn(*env, "=")) >= 0)
			list[n++] = *env;
	*ret_n = n;
	return list;
}

int launch_broker_environment(
	struct arena *a, const char *const *env, const char *const **ret, size_t *ret_n)
{
	size_t n = 0;
	const char **list = launch_broker_choose(a, env, launch_broker_variables, &n);

	if (!list)
		return -ENOMEM;
	list[n] = launch_broker_terminal(a);
	*ret = list;
	*ret_n = n + (list[n] != NULL);
	return 0;
}

int launch_lender_environment(
	struct arena *a, const char *const *env, const char *const **ret, size_t *ret_n)
{
	const char **list = launch_broker_choose(a, env, launch_lender_variables, ret_n);

	if (!list)
		return -ENOMEM;
	*ret = list;
	return 0;
}
