/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/service/start.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/words.h"
#include "broker/service/config.h"
#include "broker/service/grants.h"
#include "broker/service/programs.h"
#include "broker/service/setup.h"
#include "host/lookup.h"
#include "wire/frame.h"

enum { LAYERS_MAX = 64 };

/* Gathering */

const char *service_variable(const struct service_session *s, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < s->n_environment; i++)
		if (strncmp(s->environment[i], name, len) == 0 && s->environment[i][len] == '=')
			return s->environment[i] + len + 1;
	return NULL;
}

const char *service_program(
	struct arena *a, const struct service_session *s, const struct service_backend *b)
{
	const char *folder = service_variable(s, "CORRAL_BACKENDS");

	return arena_printf(
		a, "%s/%s", folder && folder[0] == '/' ? folder : CORRAL_BACKEND_DIR, b->program);
}

static int start_find_program(
	struct service_start *ret, const struct service_session *s, struct error *e)
{
	const struct service_backend *b = ret->backend;

	ret->program = service_program(&ret->arena, s, b);
	if (!ret->program)
		return error_no_memory(e);
	if (access(ret->program, X_OK) == 0)
		return 0;
	(void)error_set(e, -errno, NULL, "%s: %s is not installed", b->name, ret->program);
	error_hint(e, "%s", b->build);
	return -ENOENT;
}

/* What is known of the session where programs are looked up. */
struct start_lookup {
	const struct policy *policy; /* NULL: nothing is run inside */
	const char *programs;        /* the section's own folder, or NULL */
};

/* What the back end gets of a variable. */
static int start_add_variable(struct service_start *ret, const char *name, const char *value,
	const struct start_lookup *lookup, char **to)
{
	auto_buffer list = { 0 };
	int r = lookup_value(&ret->arena, name, value, &value);

	if (r < 0 || !value)
		return r;
	if (strcmp(name, "PATH") == 0 && lookup->programs)
		buffer_adds(&list, lookup->programs);
	if (lookup->policy && lookup_is_list(name))
		service_programs_filter(lookup->policy, value, &list);
	else
		buffer_printf(&list, "%s%s", list.len ? ":" : "", value);
	if (!list.len && lookup_is_list(name))
		buffer_adds(&list, LOOKUP_NOWHERE);
	if (list.failed)
		return -ENOMEM;
	*to = arena_printf(&ret->arena, "%s=%s", name, buffer_text(&list));
	return *to ? 0 : -ENOMEM;
}

static int start_list_variables(struct service_start *ret, const struct service_session *s,
	const struct start_lookup *lookup, struct error *e)
{
	const char *const *names = ret->backend->variables;
	size_t n = 0;

	while (names && names[n])
		n++;
	ret->environment = arena_calloc(&ret->arena, n + 1, sizeof(*ret->environment));
	if (!ret->environment)
		return error_no_memory(e);
	n = 0;
	for (; names && *names; names++) {
		const char *value = service_variable(s, *names);

		if (start_add_variable(ret, *names, value, lookup, &ret->environment[n]) < 0)
			return error_no_memory(e);
		n += ret->environment[n] != NULL;
	}
	return 0;
}

/* For the back ends that run programs of the user's, by what the session's commands may write. */
static int start_find_variables(struct service_start *ret, const struct service_session *s,
	const struct service_section *section, struct error *e)
{
	const bool runs = ret->backend->variables && words_has(ret->backend->variables, "PATH");
	auto_policy *policy = NULL;
	int r = 0;

	if (runs && s->n_layers > 0)
		r = grants_compile_whole(&policy, s->layers, s->n_layers, s->variables, e);
	if (r == 0 && policy)
		r = service_programs_check(policy, section, e);
	if (r < 0)
		return r;
	return start_list_variables(ret, s,
		&(struct start_lookup){
			policy, section ? service_section_get(section, "programs") : NULL },
		e);
}

/* The section's values, with a password instead of the file that holds it. */
static int start_read_section(const struct service_section *section, struct service_start *start,
	struct buffer *password, struct service_setup *setup, struct error *e)
{
	struct value_item *items;
	int r = 0;

	if (!section)
		return 0;
	items = arena_calloc(&start->arena, section->n + 1, sizeof(*items));
	if (!items)
		return error_no_memory(e);
	for (size_t i = 0; r == 0 && i < section->n; i++) {
		const struct schema_field *k =
			service_key_find(section->name, section->items[i].key);

		items[i] = section->items[i];
		if (!k->is_secret)
			continue;
		r = service_password_read(items[i].text, password, e);
		items[i] = (struct value_item){ .key = "password", .text = buffer_text(password) };
	}
	setup->config = items;
	setup->n_config = section->n;
	return r;
}

static int start_reduce_layers(const struct service_session *s, struct service_start *start,
	struct service_setup *setup, struct error *e)
{
	struct value_item *items = arena_calloc(&start->arena, s->n_layers + 1, sizeof(*items));
	int r = items && s->n_layers <= LAYERS_MAX ? 0 : -ENOMEM;

	for (size_t i = 0; r == 0 && i < s->n_layers; i++) {
		auto_buffer less = { 0 };

		r = grants_reduce(s->layers[i], start->backend->section, &less, e);
		if (r == 0)
			items[i].text = arena_strndup(&start->arena, buffer_text(&less), less.len);
		if (r == 0 && !items[i].text)
			r = -ENOMEM;
	}
	setup->layers = items;
	setup->n_layers = s->n_layers;
	return r == -ENOMEM ? error_no_memory(e) : r;
}

/* The folders of a path from there on: only their owner may look in. */
static int start_make_folders(char *path, size_t from)
{
	for (char *p = strchr(path + from + 1, '/'); p; p = strchr(p + 1, '/')) {
		int r;

		*p = '\0';
		r = mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
		*p = '/';
		if (r < 0)
			return r;
	}
	return mkdir(path, 0700) < 0 && errno != EEXIST ? -errno : 0;
}

/* ~/.local/share/FOLDER, made if it is not there. What is above the home is not ours to make. */
static const char *start_make_folder(
	struct service_start *start, const struct service_session *s, struct error *e)
{
	const char *data = service_variable(s, "XDG_DATA_HOME"), *name = start->backend->folder;
	const bool is_set = data && data[0] == '/';
	char *path = is_set    ? arena_printf(&start->arena, "%s/%s", data, name)
		     : s->home ? arena_printf(&start->arena, "%s/.local/share/%s", s->home, name)
			       : NULL;
	int r = path ? 0 : -ENOENT;

	if (r == 0 && !s->looks_only)
		r = start_make_folders(path, is_set ? 0 : strlen(s->home));
	if (r == 0)
		return path;
	(void)error_set(e, r, NULL, "%s: its folder %s cannot be made: %s", start->backend->name,
		path ? path : name, strerror(-r));
	error_hint(
		e, "name another one: corral service set-up %s folder=PATH", start->backend->name);
	return NULL;
}

/* What a service that needs no server has without set-up. */
static int start_default_section(struct service_start *start, const struct service_session *s,
	const struct service_section **ret, struct error *e)
{
	struct service_section *section = arena_calloc(&start->arena, 1, sizeof(*section));
	struct value_item *items = arena_calloc(&start->arena, 2, sizeof(*items));
	const char *folder = section && items ? start_make_folder(start, s, e) : NULL;

	if (!section || !items)
		return error_no_memory(e);
	if (!folder)
		return -ENOENT;
	items[0] = (struct value_item){ .key = "folder", .text = folder };
	items[1] = (struct value_item){ .key = "make_lists", .text = "true" };
	*section =
		(struct service_section){ .name = start->backend->section, .items = items, .n = 2 };
	*ret = section;
	return 0;
}

static int start_find_section(struct service_start *start, const struct service_session *s,
	struct service_config *config, const struct service_section **ret, struct error *e)
{
	const struct service_backend *b = start->backend;
	const struct service_config_places places = { .text = s->services,
		.user = service_config_user_file(
			&start->arena, service_variable(s, "XDG_CONFIG_HOME"), s->home),
		.system = SERVICE_CONFIG_SYSTEM_FILE,
		.home = s->home };
	int r = service_config_read(config, &places, e);

	if (r < 0)
		return r;
	*ret = service_config_find(config, b->section);
	if (!*ret && b->folder)
		return start_default_section(start, s, ret, e);
	if (*ret || !b->needs_section)
		return 0;
	(void)error_set(e, -ENOENT, NULL, "%s is not configured: services.yaml has no `%s`",
		b->name, b->section);
	error_hint(e, "run: corral service set-up %s", b->name);
	return -ENOENT;
}

/* Where what it serves is, for people. */
static const char *start_uses(const struct service_section *section)
{
	static const char *const keys[] = { "folder", "url", "server" };
	const char *value = NULL;

	for (size_t i = 0; !value && i < ROWS(keys); i++)
		value = service_section_get(section, keys[i]);
	return value ? value : "";
}

static int start_chromium(struct service_start *ret, const struct service_session *s,
	const struct service_section *section, struct error *e)
{
	const struct chromium_options o = {
		.program = section ? service_section_get(section, "program") : NULL,
		.warden = s->warden,
		.layers = s->layers,
		.n_layers = s->n_layers,
		.sink = s->sink,
		.context = s->sink_context,
	};
	int r = s->looks_only ? chromium_look(&o, e) : chromium_start(&ret->chromium, &o, e);

	if (s->looks_only)
		return r;
	if (r == 0)
		r = chromium_take_pipes(ret->chromium, ret->fds);
	if (r == 0)
		ret->n_fds = 2;
	return r;
}

static void start_wipe(struct buffer *b)
{
	if (b->data)
		explicit_bzero(b->data, b->cap);
	buffer_deinit(b);
}

int service_start_prepare(struct service_start *ret, const struct service_backend *b,
	const struct service_session *s, struct error *e)
{
	struct service_setup setup = { .backend = b->name,
		.sandbox = s->sandbox && s->sandbox[0] ? s->sandbox : "a sandbox" };
	const struct service_section *section = NULL;
	auto_service_config config = { 0 };
	struct buffer password = { 0 };
	int r;

	*ret = (struct service_start){ .backend = b };
	r = start_find_program(ret, s, e);
	if (r == 0)
		r = start_find_section(ret, s, &config, &section, e);
	if (r == 0 && section)
		ret->uses = arena_strdup(&ret->arena, start_uses(section));
	if (r == 0)
		r = start_find_variables(ret, s, section, e);
	if (r == 0)
		r = start_read_section(section, ret, &password, &setup, e);
	if (r == 0)
		r = start_reduce_layers(s, ret, &setup, e);
	if (r == 0) {
		r = service_setup_encode(&setup, &ret->setup);
		if (r < 0)
			(void)error_set(e, r, NULL, "%s: its setup is too large", b->name);
	}
	if (r == 0 && b->has_chromium)
		r = start_chromium(ret, s, section, e);
	start_wipe(&password);
	if (r < 0)
		service_start_deinit(ret);
	return r;
}

void service_start_deinit(struct service_start *s)
{
	start_wipe(&s->setup);
	for (size_t i = 0; i < s->n_fds; i++)
		fd_close(&s->fds[i]);
	chromium_free(s->chromium);
	arena_deinit(&s->arena);
	*s = (struct service_start){ 0 };
}

/* Starting */

int service_start_run(const struct service_start *s, struct child *ret)
{
	const char *const argv[] = { s->backend->program, NULL };
	struct child child;
	int r = child_start(&child, s->program, argv, (const char *const *)s->environment);

	if (r < 0)
		return r;
	/* The socket is empty: the setup fits, and waits there. */
	r = frame_send(
		child.socket, FRAME_SERVICE, 0, s->setup.data, s->setup.len, s->fds, s->n_fds);
	if (r < 0)
		child_end(&child);
	else
		*ret = child;
	return r;
}
