/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/monitor/mail.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "broker/service/mailbox.h"
#include "lib/api/handles.h"
#include "policy/network/idna.h"

enum { MAIL_ATTACHED_MAX = 16 << 20 }; /* bytes of all attachments */

/* Recipients */

static int mail_read_word(
	struct arena *a, const char *text, const char **ret, const char **ret_wrong)
{
	auto_buffer printed = { 0 };
	const char *why = NULL;
	struct mailbox m;
	int r = mailbox_parse(&m, text, strlen(text), &why);

	if (r == -ELIBACC) {
		why = "has an international domain, and " IDNA_LIBRARY_MISSING;
		r = -EINVAL;
	}
	if (r == -EINVAL)
		*ret_wrong = arena_printf(a, "the address `%.200s` %s", text, why);
	if (r < 0)
		return r;
	mailbox_print(&m, &printed);
	*ret = printed.failed ? NULL : arena_strndup(a, buffer_text(&printed), printed.len);
	return *ret ? 0 : -ENOMEM;
}

static int mail_read_list(struct arena *a, struct value *list, const char **ret_wrong)
{
	struct value_item *items = arena_calloc(a, list->n + 1, sizeof(*items));
	int r = items ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < list->n; i++)
		r = mail_read_word(a, list->items[i].text, &items[i].text, ret_wrong);
	if (r == 0)
		list->items = items;
	return r;
}

static struct value *mail_parameter(struct monitor_call *c, const char *name)
{
	const int at = name ? method_param(c->call.method, name, false) : -1;
	struct value *v = at < 0 ? NULL : &c->call.params.v[at];

	return v && v->type == SCHEMA_WORDS ? v : NULL;
}

int mail_read_recipients(struct monitor_call *c, const char **ret_wrong)
{
	const struct method *m = c->call.method;
	struct value *lists[1 + METHOD_TARGETS_MAX] = { mail_parameter(c, m->target) };
	size_t n = lists[0] ? lists[0]->n : 0;
	int r = 0;

	for (size_t i = 0; i < METHOD_TARGETS_MAX; i++) {
		lists[1 + i] = mail_parameter(c, m->more_targets[i]);
		n += lists[1 + i] ? lists[1 + i]->n : 0;
	}
	if (n == 0 || n > MAILBOXES_MAX) {
		*ret_wrong = arena_printf(
			&c->arena, "there are %zu recipients; 1 to %d can be", n, MAILBOXES_MAX);
		return *ret_wrong ? -EINVAL : -ENOMEM;
	}
	for (size_t i = 0; r == 0 && i < 1 + METHOD_TARGETS_MAX; i++)
		if (lists[i])
			r = mail_read_list(&c->arena, lists[i], ret_wrong);
	return r;
}

const char *mail_address(struct arena *a, const char *word)
{
	struct mailbox m = { 0 };
	const char *why;

	/* mail_read_recipients() accepted it; otherwise the address is empty. */
	(void)mailbox_parse(&m, word, strlen(word), &why);
	return arena_strdup(a, m.address);
}

/* Attachments */

static int mail_attach(struct monitor_call *c, const char *path, struct services_request *r,
	struct corral_error **e)
{
	struct corral_file file = { .size = sizeof(file) };
	struct error wrong = { 0 };
	char *data = NULL;
	size_t len = 0;
	int code = corral_enclave_fs_read_file(
		monitor_enclave(c->monitor), &c->by, path, &file, &data, &len, e);

	if (code == 0 && len > MAIL_ATTACHED_MAX - r->bytes) {
		(void)error_set(&wrong, -E2BIG, NULL, "the attachments have more than %d MiB",
			MAIL_ATTACHED_MAX >> 20);
		code = handles_error(e, &wrong, -E2BIG);
	}
	if (code == 0)
		code = sealed_new(data, len, &r->fds[r->n_fds]);
	corral_free(data);
	if (code < 0)
		return code;
	r->n_fds++;
	r->bytes += len;
	return 0;
}

int mail_prepare(struct monitor_call *c, struct services_request *r, struct corral_error **e)
{
	const struct value *files = mail_parameter(c, "attachments");
	struct error wrong = { 0 };
	int code = 0;

	if (files && files->n > FRAME_FDS_MAX) {
		(void)error_set(&wrong, -E2BIG, NULL, "there are %zu attachments; %d can be",
			files->n, FRAME_FDS_MAX);
		return handles_error(e, &wrong, -E2BIG);
	}
	r->class = RPC_PATH;
	for (size_t i = 0; code == 0 && files && i < files->n; i++)
		code = mail_attach(c, files->items[i].text, r, e);
	return code;
}
