/* SPDX-License-Identifier: Apache-2.0 */
/*
 * seed-host: a host program on libcorral, whose words are calls of the library, one after the
 * other. Each call that can fail prints its name, its result and, if it failed, the sentence.
 *
 * - new, permissions FILE, manifest PATH, environment, mode NAME DIR: the builder
 * - read, write, net, exec, env, service PATTERN; merge FILE; restrict FILE: what it grants
 * - services YAML: how services are reached
 * - timeout MS, memory BYTES, work DIR, data DIR, broker SOCKET|-, audit, log FILE, yes
 * - build, free: the sandbox
 * - execute LINE; script PATH RUNTIME|-; entry DIR NAME|- RUNTIME|-; stats, backend
 * - show FILE; empty FILE; union A B; both A B; check FILE OPERATION TARGET
 * - name MODE; prompt MODE DIR
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <corral/audit.h>
#include <corral/policy.h>
#include <corral/sandbox.h>

enum { FILE_BYTES = 1 << 16 };

static struct corral_builder *builder;
static struct corral_sandbox *sandbox;
static struct corral_audit *audit;

/* Prints what a call did; its result. */
static int say(const char *what, int r, struct corral_error *e)
{
	const char *text = e ? corral_error_message(e) : r < 0 ? strerror(-r) : "";

	printf("%s %d %s\n", what, r, text);
	corral_error_free(e);
	return r;
}

static void print_result(
	const char *what, int r, struct corral_result *result, struct corral_error *e)
{
	if (r < 0) {
		(void)say(what, r, e);
		return;
	}
	printf("%s: status %d%s: %s%s\n", what, corral_result_exit_code(result),
		corral_result_timed_out(result) ? " timed out" : "",
		corral_result_stdout(result, NULL), corral_result_stderr(result, NULL));
	corral_result_free(result);
}

/* The permissions in a file; NULL, and a sentence, if there are none. */
static struct corral_permissions *parse(const char *path)
{
	static char text[FILE_BYTES];
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(text, 1, sizeof(text), f) : 0;
	int r = f ? corral_permissions_parse(&p, path, text, n, &e) : -ENOENT;

	if (f)
		(void)fclose(f);
	if (r < 0)
		(void)say("parse", r, e);
	return p;
}

static void print_permissions(const char *what, const struct corral_permissions *p)
{
	char *text = NULL;

	if (p && corral_permissions_to_json(p, &text) == 0)
		printf("%s: %s\n", what, text);
	corral_free(text);
}

/* Words that make a builder */

static int make_new(char **words)
{
	(void)words;
	return corral_builder_new(&builder);
}

static int make_permissions(char **words)
{
	struct corral_permissions *p = parse(words[1]);
	int r = p ? corral_builder_from_permissions(&builder, p) : -EINVAL;

	corral_permissions_free(p);
	return r;
}

static int make_manifest(char **words)
{
	struct corral_error *e = NULL;
	int r = corral_builder_from_manifest(&builder, words[1], &e);

	return say("manifest", r, e);
}

static int make_environment(char **words)
{
	struct corral_error *e = NULL;
	int r = corral_builder_from_environment(&builder, &e);

	(void)words;
	return say("environment", r, e);
}

static int make_mode(char **words)
{
	struct corral_error *e = NULL;
	enum corral_mode mode = CORRAL_MODE_SANDBOX;
	int r = corral_mode_parse(words[1], &mode);

	if (r == 0)
		r = corral_builder_from_mode(&builder, mode, words[2], NULL, &e);
	return say("mode", r, e);
}

/* Words that change it */

static int allow_read(char **words)
{
	return corral_builder_allow_fs_read(builder, words[1]);
}

static int allow_write(char **words)
{
	return corral_builder_allow_fs_write(builder, words[1]);
}

static int allow_net(char **words)
{
	return corral_builder_allow_network(builder, words[1]);
}

static int allow_exec(char **words)
{
	return corral_builder_allow_exec(builder, words[1]);
}

static int allow_env(char **words)
{
	return corral_builder_allow_env(builder, words[1]);
}

static int allow_service(char **words)
{
	return corral_builder_allow_service(builder, words[1]);
}

static int set_services(char **words)
{
	return corral_builder_services(builder, words[1]);
}

static int merge(char **words)
{
	struct corral_permissions *p = parse(words[1]);
	int r = p ? corral_builder_merge_permissions(builder, p) : -EINVAL;

	corral_permissions_free(p);
	return r;
}

static int restrict_to(char **words)
{
	struct corral_permissions *p = parse(words[1]);
	int r = p ? corral_builder_restrict(builder, p) : -EINVAL;

	corral_permissions_free(p);
	return r;
}

static int set_timeout(char **words)
{
	return corral_builder_timeout(builder, strtoull(words[1], NULL, 10));
}

static int set_memory(char **words)
{
	return corral_builder_memory_limit(builder, strtoull(words[1], NULL, 10));
}

static int set_work(char **words)
{
	return corral_builder_work_dir(builder, words[1]);
}

static int set_data(char **words)
{
	return corral_builder_data_dir(builder, words[1]);
}

static int with_broker(char **words)
{
	const char *socket = strcmp(words[1], "-") == 0 ? NULL : words[1];

	return say("broker", corral_builder_with_broker(builder, socket), NULL);
}

static void print_event(void *context, const struct corral_event *event)
{
	(void)context;
	if (event->kind == CORRAL_EVENT_STARTED)
		printf("event: started %s\n", event->program);
	if (event->denial)
		printf("event: denied %s\n", event->denial->target);
}

static int with_audit(char **words)
{
	(void)words;
	return corral_builder_with_audit(builder, print_event, NULL);
}

static int with_log(char **words)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	int r;

	o.path = words[1];
	r = corral_audit_new(&audit, &o, NULL);
	return r < 0 ? r : corral_builder_with_audit(builder, corral_audit_sandbox, audit);
}

static int allow_unapproved(char **words)
{
	(void)words;
	return corral_builder_allow_unapproved_skill(builder);
}

static int build(char **words)
{
	struct corral_error *e = NULL;
	int r = corral_builder_build(builder, &sandbox, &e);

	(void)words;
	return say("build", r, e);
}

static int free_sandbox(char **words)
{
	(void)words;
	corral_sandbox_free(sandbox);
	sandbox = NULL;
	return 0;
}

/* Words that use the sandbox */

static int execute(char **words)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_sandbox_execute(sandbox, words[1], NULL, &result, &e);

	print_result("execute", r, result, e);
	return 0;
}

static const char *optional(const char *word)
{
	return strcmp(word, "-") == 0 ? NULL : word;
}

static int script(char **words)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_sandbox_execute_script(
		sandbox, words[1], optional(words[2]), NULL, NULL, &result, &e);

	print_result("script", r, result, e);
	return 0;
}

static int entry(char **words)
{
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_sandbox_run_skill_entry_by(
		sandbox, words[1], optional(words[2]), optional(words[3]), NULL, NULL, &result, &e);

	print_result("entry", r, result, e);
	return 0;
}

static int stats(char **words)
{
	struct corral_stats s;

	(void)words;
	corral_sandbox_stats(sandbox, &s, sizeof(s));
	printf("stats: commands %llu sessions %llu timeouts %llu refused %llu\n",
		(unsigned long long)s.commands, (unsigned long long)s.sessions,
		(unsigned long long)s.timeouts, (unsigned long long)s.refused);
	return 0;
}

static int backend(char **words)
{
	(void)words;
	printf("backend: %s\n", corral_sandbox_backend(sandbox));
	return 0;
}

/* Words about permissions and modes alone */

static int show(char **words)
{
	struct corral_permissions *p = parse(words[1]);

	print_permissions("show", p);
	corral_permissions_free(p);
	return 0;
}

static int empty(char **words)
{
	struct corral_permissions *p = parse(words[1]);

	printf("empty: %d\n", p ? corral_permissions_is_empty(p) : -1);
	corral_permissions_free(p);
	return 0;
}

static int combine(char **words)
{
	struct corral_permissions *a = parse(words[1]), *b = parse(words[2]), *c = NULL;
	int is_union = strcmp(words[0], "union") == 0;
	int r = !a || !b   ? -EINVAL
		: is_union ? corral_permissions_merge(&c, a, b)
			   : corral_permissions_intersect(&c, a, b);

	print_permissions(words[0], c);
	corral_permissions_free(a);
	corral_permissions_free(b);
	corral_permissions_free(c);
	return r;
}

static int check(char **words)
{
	static const char *const names[] = { "deny", "ask", "allow" };
	static const char *const ops[] = { "fs.read", "fs.write", "net", "exec", "env", "service" };
	struct corral_permissions *p = parse(words[1]);
	const struct corral_permissions *layers[] = { p };
	struct corral_policy *policy = NULL;
	struct corral_decision decision = { 0 };
	size_t op = 0;
	int r;

	while (op < sizeof(ops) / sizeof(ops[0]) - 1 && strcmp(ops[op], words[2]) != 0)
		op++;
	r = p ? corral_policy_new(&policy, layers, 1, NULL, 0, NULL) : -EINVAL;
	if (r == 0)
		r = corral_policy_check(policy, (enum corral_operation)op, words[3], &decision);
	printf("check: %s %s\n", words[3], r < 0 ? strerror(-r) : names[decision.verdict]);
	corral_policy_free(policy);
	corral_permissions_free(p);
	return 0;
}

static int name(char **words)
{
	enum corral_mode mode = CORRAL_MODE_SANDBOX;
	int r = corral_mode_parse(words[1], &mode);

	printf("name: %s\n", r < 0 ? strerror(-r) : corral_mode_name(mode));
	return 0;
}

static int prompt(char **words)
{
	enum corral_mode mode = CORRAL_MODE_SANDBOX;
	char *text = NULL;
	int r = corral_mode_parse(words[1], &mode);

	if (r == 0)
		r = corral_mode_prompt(mode, words[2], &text, NULL);
	printf("prompt %d: %s\n", r, r == 0 ? text : "");
	free(text);
	return 0;
}

static const struct {
	const char *word;
	int n; /* of words, this one included */
	int (*run)(char **words);
} table[] = {
	{ "new", 1, make_new },
	{ "permissions", 2, make_permissions },
	{ "manifest", 2, make_manifest },
	{ "environment", 1, make_environment },
	{ "mode", 3, make_mode },
	{ "read", 2, allow_read },
	{ "write", 2, allow_write },
	{ "net", 2, allow_net },
	{ "exec", 2, allow_exec },
	{ "env", 2, allow_env },
	{ "service", 2, allow_service },
	{ "services", 2, set_services },
	{ "merge", 2, merge },
	{ "restrict", 2, restrict_to },
	{ "timeout", 2, set_timeout },
	{ "memory", 2, set_memory },
	{ "work", 2, set_work },
	{ "data", 2, set_data },
	{ "broker", 2, with_broker },
	{ "audit", 1, with_audit },
	{ "log", 2, with_log },
	{ "yes", 1, allow_unapproved },
	{ "build", 1, build },
	{ "free", 1, free_sandbox },
	{ "execute", 2, execute },
	{ "script", 3, script },
	{ "entry", 4, entry },
	{ "stats", 1, stats },
	{ "backend", 1, backend },
	{ "show", 2, show },
	{ "empty", 2, empty },
	{ "union", 3, combine },
	{ "both", 3, combine },
	{ "check", 4, check },
	{ "name", 2, name },
	{ "prompt", 3, prompt },
};

/* How many words it took; 0: there is no such word. */
static int do_word(char **words, int n, int *ret)
{
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		if (strcmp(words[0], table[i].word) == 0 && n >= table[i].n) {
			*ret = table[i].run(words);
			return table[i].n;
		}
	}
	printf("unknown word %s\n", words[0]);
	*ret = -EINVAL;
	return 0;
}

int main(int argc, char **argv)
{
	int r = 0;

	for (int i = 1; i < argc && r >= 0;)
		i += do_word(argv + i, argc - i, &r);
	corral_sandbox_free(sandbox);
	if (audit)
		(void)corral_audit_free(audit, NULL);
	corral_builder_free(builder);
	return r < 0;
}
