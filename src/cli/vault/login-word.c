/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/vault/login-word.h"

#include <errno.h>
#include <string.h>

#include "cli/vault/internal.h"
#include "vault/format.h"
#include "wire/lend.h"

static int login_word_refuse(struct call *c, const char *word, const char *why)
{
	(void)error_set(c->error, -EINVAL, NULL, "invalid value for --login: `%s` (%s)", word, why);
	error_hint(c->error, "--login NAME=HOST:PORT/PATH,HOST:PORT names the address that answers "
			     "with tokens, then hosts that they may go to");
	return -EINVAL;
}

static int login_word_add_host(struct call *c, struct login_word *w, const char *text, size_t len)
{
	const char *word = arena_strndup(c->arena, text, len);
	auto_buffer host = { 0 };
	int r = word ? vault_host_word(c, word, &host) : error_no_memory(c->error);

	if (r < 0)
		return r;
	for (size_t i = 0; i < w->n_hosts; i++)
		if (strcmp(w->hosts[i], buffer_text(&host)) == 0)
			return 0;
	if (w->n_hosts == LOGIN_WORD_HOSTS_MAX)
		return error_set(c->error, -E2BIG, NULL,
			"--login %s: at most %d hosts are possible", w->name, LOGIN_WORD_HOSTS_MAX);
	w->hosts[w->n_hosts] = arena_strdup(c->arena, buffer_text(&host));
	return w->hosts[w->n_hosts++] ? 0 : error_no_memory(c->error);
}

/* It is compared with the paths of requests as it is. */
static bool login_word_is_path(const char *path)
{
	if (strlen(path) < 2 || strlen(path) > LOGIN_WORD_PATH_MAX || strstr(path, "//") ||
		strstr(path, "/."))
		return false;
	for (; *path; path++)
		if (*path <= ' ' || *path >= 0x7f || strchr("?#%;\\", *path))
			return false;
	return true;
}

static bool login_word_is_name(const char *name)
{
	const size_t longest = strlen(lend_token_suffixes[LEND_TOKEN_REFRESH]);

	return vault_name_is_valid(name) && strlen(name) + longest <= VAULT_NAME_MAX;
}

int login_word_read(struct call *c, const char *word, struct login_word *ret)
{
	const char *equals = strchr(word, '='), *at = equals ? equals + 1 : word;
	const char *slash = strchr(at, '/'), *rest = slash ? slash + strcspn(slash, ",") : NULL;
	struct login_word w = { 0 };
	int r;

	if (!equals || !slash || memchr(at, ',', (size_t)(slash - at)))
		return login_word_refuse(c, word, "expected NAME=HOST:PORT/PATH");
	w.name = arena_strndup(c->arena, word, (size_t)(equals - word));
	w.path = arena_strndup(c->arena, slash, (size_t)(rest - slash));
	if (!w.name || !w.path)
		return error_no_memory(c->error);
	if (!login_word_is_name(w.name))
		return login_word_refuse(c, word, "what stands before = is not a name of a secret");
	if (!login_word_is_path(w.path))
		return login_word_refuse(c, word, "the path is not a plain one");
	r = login_word_add_host(c, &w, at, (size_t)(slash - at));
	while (r == 0 && *rest) {
		const size_t len = strcspn(rest + 1, ",");

		r = login_word_add_host(c, &w, rest + 1, len);
		rest += 1 + len;
	}
	if (r == 0)
		*ret = w;
	return r;
}
