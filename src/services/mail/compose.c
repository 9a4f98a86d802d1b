/* SPDX-License-Identifier: Apache-2.0 */
#include "services/mail/compose.h"

#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <time.h>

#include "codec/encoding.h"
#include "policy/network/idna.h"

/* Bytes that stand for themselves on the way, and cannot be guessed. */
enum { COMPOSE_RANDOM_BYTES = 16 };

struct compose_lists {
	struct mailbox *boxes[COMPOSE_BCC + 1];
	size_t n[COMPOSE_BCC + 1];
};

/* 32 digits. */
static int compose_random(char out[MESSAGE_BOUNDARY_BYTES])
{
	unsigned char bytes[COMPOSE_RANDOM_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return -EIO;
	encoding_hex(bytes, sizeof(bytes), out);
	return 0;
}

static int compose_read_list(
	const struct value *words, struct mailbox **ret, struct arena *a, const char **ret_why)
{
	*ret = arena_calloc(a, words->n + 1, sizeof(**ret));
	if (!*ret)
		return -ENOMEM;
	for (size_t i = 0; i < words->n; i++) {
		const char *text = words->items[i].text, *why = NULL;
		int r = mailbox_parse(&(*ret)[i], text, strlen(text), &why);

		if (r == -ELIBACC)
			why = "has an international domain: " IDNA_LIBRARY_MISSING;
		if (r < 0)
			*ret_why = arena_printf(a, "the address `%.200s` %s", text, why);
		if (r < 0)
			return r;
	}
	return 0;
}

static bool compose_has(const char *const *list, size_t n, const char *address)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], address) == 0)
			return true;
	return false;
}

static int compose_recipients(const struct compose_lists *lists, struct arena *a,
	struct composed *ret, const char **ret_why)
{
	const size_t n = lists->n[COMPOSE_TO] + lists->n[COMPOSE_CC] + lists->n[COMPOSE_BCC];
	const char **to = arena_calloc(a, n + 1, sizeof(*to));

	if (!to)
		return -ENOMEM;
	if (lists->n[COMPOSE_TO] == 0) {
		*ret_why = "`to` has no address";
		return -EINVAL;
	}
	if (n > MAILBOXES_MAX) {
		*ret_why = arena_printf(
			a, "there are %zu recipients, and at most %d can be", n, MAILBOXES_MAX);
		return -EINVAL;
	}
	for (int k = COMPOSE_TO; k <= COMPOSE_BCC; k++) {
		for (size_t i = 0; i < lists->n[k]; i++) {
			const char *address = lists->boxes[k][i].address;

			if (!compose_has(to, ret->n_to, address))
				to[ret->n_to++] = address;
		}
	}
	ret->to = to;
	return 0;
}

static const char *compose_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static int compose_print(const struct values *params, const struct mailbox *from,
	const struct compose_lists *lists, const struct message_file *files, size_t n_files,
	struct arena *a, struct composed *ret)
{
	const struct value *v = params->v;
	struct message m = { .from = *from,
		.to = lists->boxes[COMPOSE_TO],
		.n_to = lists->n[COMPOSE_TO],
		.cc = lists->boxes[COMPOSE_CC],
		.n_cc = lists->n[COMPOSE_CC],
		.subject = v[COMPOSE_SUBJECT].type == SCHEMA_NONE ? "" : v[COMPOSE_SUBJECT].text,
		.body = v[COMPOSE_BODY].type == SCHEMA_NONE ? "" : v[COMPOSE_BODY].text,
		.date = (int64_t)time(NULL),
		.files = files,
		.n_files = n_files };
	char random[MESSAGE_BOUNDARY_BYTES];

	if (compose_random(random) < 0 || compose_random(m.boundary) < 0)
		return -EIO;
	m.id = arena_printf(a, "%s@%s", random, mailbox_domain(from));
	ret->id = m.id;
	return m.id ? message_print(&m, &ret->text) : -ENOMEM;
}

int compose_mail(const struct values *params, const struct mailbox *from,
	struct message_file *files, size_t n_files, struct arena *a, struct composed *ret,
	const char **ret_why)
{
	const struct value *v = params->v;
	struct compose_lists lists = { 0 };
	int r = 0;

	*ret = (struct composed){ 0 };
	for (int k = COMPOSE_TO; r == 0 && k <= COMPOSE_BCC; k++) {
		lists.n[k] = v[k].n;
		r = compose_read_list(&v[k], &lists.boxes[k], a, ret_why);
	}
	if (r == 0)
		r = compose_recipients(&lists, a, ret, ret_why);
	if (r < 0)
		return r;
	*ret_why = message_subject_fault(v[COMPOSE_SUBJECT].text, v[COMPOSE_SUBJECT].len);
	if (*ret_why)
		return -EINVAL;
	if (n_files != v[COMPOSE_ATTACHMENTS].n)
		return -EPROTO;
	for (size_t i = 0; i < n_files; i++)
		files[i].name = compose_base_name(v[COMPOSE_ATTACHMENTS].items[i].text);
	return compose_print(params, from, &lists, files, n_files, a, ret);
}
