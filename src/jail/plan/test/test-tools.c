/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/plan/test/test-plan.h"

#include "codec/yaml.h"
#include "host/resolver.h"
#include "policy/format/permissions-text.h"
#include "test/scratch.h"

char test_plan_folder[4096];
const char *test_plan_home;

char *test_plan_expand(const char *text)
{
	struct buffer out = { 0 };

	for (; *text; text++) {
		if (*text == '@')
			buffer_adds(&out, test_plan_folder);
		else
			buffer_addc(&out, *text);
	}
	return buffer_take(&out);
}

static char *shorten(const char *text)
{
	size_t len = strlen(test_plan_folder);
	struct buffer out = { 0 };

	while (*text) {
		if (strncmp(text, test_plan_folder, len) == 0) {
			buffer_addc(&out, '@');
			text += len;
		} else {
			buffer_addc(&out, *text++);
		}
	}
	return buffer_take(&out);
}

static void write_file(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

void test_plan_make(const char *what)
{
	char *text = test_plan_expand(what), *at = strpbrk(text, ">!"), kind = at ? *at : 0;
	size_t len;

	if (at)
		*at++ = '\0';
	len = strlen(text);
	if (kind == '>')
		assert_int_equal(symlink(at, text), 0);
	else if (kind == '!')
		write_file(text, at, 0755);
	else if (text[len - 1] == '/')
		assert_int_equal(mkdir(text, 0755), 0);
	else
		write_file(text, "", 0644);
	free(text);
}

int test_plan_set_up(void **state)
{
	char made[] = "/tmp/test-plan.XXXXXX";

	(void)state;
	return scratch_make(made, test_plan_folder) == 0 ? chmod(made, 0755) : -1;
}

int test_plan_tear_down(void **state)
{
	(void)state;
	return scratch_remove(test_plan_folder);
}

static struct permissions *read_layer(const char *yaml)
{
	struct permissions *p = permissions_new();
	auto_document d = { 0 };
	struct error e = { 0 };
	char *text = test_plan_expand(yaml);

	assert_non_null(p);
	if (yaml_read(&d, "policy.yaml", 1, text, strlen(text), &e) < 0 ||
		permissions_read_node(p, &d, d.root, &e) < 0)
		fail_msg("%s: %s", text, e.text);
	free(text);
	return p;
}

void test_policy_init(struct test_policy *t, const char *const *layers)
{
	struct policy_options o = {
		.variables = &t->variables, .resolver = &resolver_system, .borrows = true
	};
	struct error e = { 0 };

	memset(t, 0, sizeof(*t));
	(void)snprintf(t->home, sizeof(t->home), "%.200s/home", test_plan_folder);
	(void)snprintf(t->work, sizeof(t->work), "%.200s/home/p", test_plan_folder);
	(void)snprintf(t->temp, sizeof(t->temp), "/tmp");
	t->variables.values[VARIABLE_HOME] = test_plan_home ? test_plan_home : t->home;
	t->variables.values[VARIABLE_WORK_DIR] = t->work;
	t->variables.values[VARIABLE_TEMP] = t->temp;
	for (; layers[t->n]; t->n++)
		t->layers[t->n] = read_layer(layers[t->n]);
	if (policy_new(&t->policy, (const struct permissions *const *)t->layers, t->n, &o, &e) < 0)
		fail_msg("%s", e.text);
}

void test_policy_deinit(struct test_policy *t)
{
	policy_free(t->policy);
	for (size_t i = 0; i < t->n; i++)
		permissions_free(t->layers[i]);
}

struct plan_options test_policy_options(const struct test_policy *t)
{
	return (struct plan_options){
		.policy = t->policy,
		.layers = (const struct permissions *const *)t->layers,
		.n_layers = t->n,
		.variables = &t->variables,
		.resolver = &resolver_system,
	};
}

void test_plan_print(const struct plan_entry *entry, struct buffer *out)
{
	static const char *const kinds[] = {
		[PLAN_DIR] = "dir",
		[PLAN_LINK] = "link",
		[PLAN_FILE] = "file",
		[PLAN_TMP] = "tmp",
		[PLAN_BIND] = "bind",
		[PLAN_MASK] = "mask",
		[PLAN_SOCKET] = "socket",
	};

	buffer_printf(out, "%s %s", kinds[entry->kind], entry->path);
	if (entry->kind == PLAN_LINK)
		buffer_printf(out, " -> %s", entry->text);
	else if (entry->kind != PLAN_DIR)
		buffer_printf(out, " %s%s%s%s%s", entry->is_dir ? "d" : "f",
			entry->writable ? "w" : "r", entry->exec ? "x" : "", entry->over ? "o" : "",
			entry->copied ? "c" : "");
	buffer_addc(out, '\n');
}

static void print_plan(const struct plan *plan, struct buffer *out)
{
	for (size_t i = 0; i < plan->n; i++) {
		if (strstr(plan->entries[i].path, test_plan_folder))
			test_plan_print(&plan->entries[i], out);
	}
	for (size_t i = 0; i < plan->n_notes; i++) {
		if (strstr(plan->notes[i].text, test_plan_folder))
			buffer_printf(out, "note %s\n", plan->notes[i].text);
	}
	for (size_t i = 0; i < plan->n_late; i++)
		buffer_printf(out, "late %s\n", plan->late[i]);
	/* All of the baseline need not be listed. */
	for (size_t i = 0; plan->n_spared < 9 && i < plan->n_spared; i++)
		buffer_printf(out, "spared %s\n", plan->spared[i]);
	for (size_t i = 0; i < plan->n_programs; i++) {
		if (strstr(plan->programs[i], test_plan_folder))
			buffer_printf(out, "runs %s\n", plan->programs[i]);
	}
}

static void print_failure(int code, const struct error *e, struct buffer *out)
{
	buffer_printf(out, "%s %s", strerrorname_np(-code), e->text);
	if (e->hint[0])
		buffer_printf(out, " | %s", e->hint);
	if (e->file[0])
		buffer_printf(out, " (%s:%u)", e->file, e->line);
	buffer_addc(out, '\n');
}

static void check_folder(const struct plan *plan, const char *path)
{
	const struct plan_entry *found;
	char folder[4096];

	(void)snprintf(folder, sizeof(folder), "%s", path);
	*strrchr(folder, '/') = '\0';
	if (!folder[0] || strcmp(folder, "/dev") == 0)
		return;
	found = plan_find(plan, folder);
	if (found && (found->kind == PLAN_BIND || strcmp(found->path, folder) == 0))
		return;
	fail_msg("%s is in no folder", path);
}

void test_plan_check(const struct plan *plan)
{
	for (size_t i = 0; i < plan->n; i++) {
		const char *path = plan->entries[i].path;
		size_t len = strlen(path);

		if (path[1])
			check_folder(plan, path);
		/* Nothing that came before is this, or lies in it. */
		for (size_t k = 0; k < i; k++) {
			const char *before = plan->entries[k].path;

			if (strncmp(before, path, len) == 0 && (!before[len] || before[len] == '/'))
				fail_msg("%s comes before %s", before, path);
		}
	}
}

static char *plan_text(const struct plan_options *o)
{
	auto_plan *plan = NULL;
	auto_buffer out = { 0 };
	struct error e = { 0 };
	int r = plan_new(&plan, o, &e);

	if (r == 0) {
		test_plan_check(plan);
		print_plan(plan, &out);
	}
	if (r < 0)
		print_failure(r, &e, &out);
	assert_false(out.failed);
	return shorten(buffer_text(&out));
}

/* The policy of a test knows the folders of its lists; one of copies does not, and plans the same.
 */
char *test_plan_text(const struct plan_options *o)
{
	const struct policy_options options = { .variables = o->variables,
		.resolver = o->resolver };
	struct plan_options plain = *o;
	auto_policy *copies = NULL;
	char *text = plan_text(o), *other;

	assert_int_equal(policy_new(&copies, o->layers, o->n_layers, &options, NULL), 0);
	plain.policy = copies;
	other = plan_text(&plain);
	assert_string_equal(text, other);
	free(other);
	return text;
}

const struct plan_entry *test_plan_at(const struct plan *plan, const char *path)
{
	char *full = test_plan_expand(path);
	const struct plan_entry *found = plan_find(plan, full);

	if (found && strcmp(found->path, full) != 0)
		found = NULL;
	free(full);
	return found;
}

bool test_plan_is_visible(const struct plan *plan, const char *path)
{
	const struct plan_entry *found = plan_find(plan, path);

	return found && found->kind == PLAN_BIND;
}
