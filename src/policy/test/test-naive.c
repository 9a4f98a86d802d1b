/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/test/test-naive.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "policy/baseline.h"

enum { TEXT = 512, PARTS = 12, PART = 40 };

/* Text */

static bool starts(const char *s, const char *with)
{
	return strncmp(s, with, strlen(with)) == 0;
}

static void copy(char *to, size_t size, const char *from, size_t len)
{
	assert(len < size);
	memcpy(to, from, len);
	to[len] = '\0';
}

/* Paths: lists of names. */

struct parts {
	char items[PARTS][PART];
	bool literal[PARTS];
	size_t n;
};

static void push(struct parts *p, const char *s, size_t len, bool literal)
{
	assert(p->n < PARTS);
	copy(p->items[p->n], PART, s, len);
	p->literal[p->n++] = literal;
}

/* False: not absolute. */
static bool split_path(const char *path, struct parts *ret)
{
	*ret = (struct parts){ 0 };
	if (path[0] != '/')
		return false;
	while (*path) {
		size_t len = strcspn(path, "/");

		if (len == 2 && starts(path, "..")) {
			if (ret->n > 0)
				ret->n--;
		} else if (len > 0 && !(len == 1 && path[0] == '.')) {
			push(ret, path, len, true);
		}
		path += len + (path[len] == '/');
	}
	return true;
}

/* Globs */

/* The set that starts at p, after its bracket: does it hold c? *ret_end is behind it. */
static bool in_set(const char *p, char c, const char **ret_end)
{
	bool negated = *p == '!' || *p == '^', found = false;

	p += negated;
	for (bool first = true; first || *p != ']'; first = false) {
		if (starts(p, "[:digit:]")) {
			found |= isdigit((unsigned char)c) != 0;
			p += strlen("[:digit:]");
		} else if (p[1] == '-' && p[2] != ']') {
			found |= p[0] <= c && c <= p[2];
			p += 3;
		} else {
			found |= *p == c;
			p++;
		}
	}
	*ret_end = p + 1;
	return found != negated;
}

static bool match_name(const char *p, const char *s)
{
	const char *end;

	switch (*p) {
	case '\0':
		return *s == '\0';
	case '*':
		return match_name(p + 1, s) || (*s && match_name(p, s + 1));
	case '?':
		return *s && match_name(p + 1, s + 1);
	case '[':
		return in_set(p + 1, *s, &end) && *s && match_name(end, s + 1);
	case '\\':
		p++;
		break;
	default:
		break;
	}
	return *p == *s && match_name(p + 1, s + 1);
}

static bool match_parts(const struct parts *p, size_t i, const struct parts *path, size_t k)
{
	if (i == p->n)
		return k == path->n;
	if (!p->literal[i] && strcmp(p->items[i], "**") == 0)
		return match_parts(p, i + 1, path, k) ||
		       (k < path->n && match_parts(p, i, path, k + 1));
	if (k == path->n)
		return false;
	if (p->literal[i] ? strcmp(p->items[i], path->items[k]) != 0
			  : !match_name(p->items[i], path->items[k]))
		return false;
	return match_parts(p, i + 1, path, k + 1);
}

/* A pattern without braces: its parts after those that are there already. */
static void split_pattern(const char *p, struct parts *ret)
{
	bool slash = false;

	while (*p) {
		size_t len = 0;

		while (p[len] && p[len] != '/')
			len += p[len] == '\\' ? 2 : 1;
		if (len > 0)
			push(ret, p, len, false);
		slash = p[len] == '/';
		p += len + slash;
	}
	/* "DIR/" is "DIR/**"; "/" is the root. */
	if (slash && ret->n > 0)
		push(ret, "**", 2, false);
}

/* The first brace of a pattern that is not escaped, or NULL. */
static const char *find_brace(const char *p)
{
	for (; *p && *p != '{'; p++) {
		if (*p == '\\')
			p++;
	}
	return *p ? p : NULL;
}

/* From after a brace to the end of the item: its comma or closing brace. */
static const char *item_end(const char *p)
{
	for (int depth = 0; depth > 0 || (*p != ',' && *p != '}'); p++) {
		assert(*p);
		depth += (*p == '{') - (*p == '}');
		if (*p == '\\')
			p++;
	}
	return p;
}

static bool match_pattern(const struct parts *before, const char *pattern, const struct parts *path)
{
	const char *brace = find_brace(pattern), *item = brace, *end = brace;
	struct parts all = *before;

	if (!brace) {
		split_pattern(pattern, &all);
		return match_parts(&all, 0, path, 0);
	}
	/* What stands behind the group. */
	for (end = item_end(brace + 1); *end == ','; end = item_end(end + 1))
		;
	for (item = brace + 1;; item++) {
		const char *stop = item_end(item);
		char text[TEXT];
		int n = snprintf(text, sizeof(text), "%.*s%.*s%s", (int)(brace - pattern), pattern,
			(int)(stop - item), item, end + 1);

		assert(n > 0 && n < TEXT);
		if (match_pattern(before, text, path))
			return true;
		item = stop;
		if (*stop == '}')
			return false;
	}
}

bool naive_glob(const char *pattern, const char *path)
{
	struct parts none = { 0 }, parts;

	return split_path(path, &parts) && match_pattern(&none, pattern, &parts);
}

static const char *const variable_names[VARIABLE_COUNT] = { "SKILL_DIR", "WORK_DIR", "DATA_DIR",
	"SHARED_DIR", "HOME", "TEMP" };

/* The value of the variable that a pattern starts with, and the rest; NULL if there is none. */
static const char *take_variable(
	const struct naive_world *w, const char *pattern, const char **ret_rest)
{
	if (pattern[0] != '$' && pattern[0] != '~')
		return NULL;
	if (pattern[0] == '~') {
		*ret_rest = pattern + 1;
		return w->variables->values[VARIABLE_HOME];
	}
	for (int v = 0; v < VARIABLE_COUNT; v++) {
		char plain[32], braced[32];

		(void)snprintf(plain, sizeof(plain), "$%s", variable_names[v]);
		(void)snprintf(braced, sizeof(braced), "${%s}", variable_names[v]);
		if (starts(pattern, braced)) {
			*ret_rest = pattern + strlen(braced);
			return w->variables->values[v];
		}
		if (starts(pattern, plain)) {
			*ret_rest = pattern + strlen(plain);
			return w->variables->values[v];
		}
	}
	return NULL;
}

static bool match_path(const struct naive_world *w, const char *pattern, const char *path)
{
	struct parts value = { 0 }, parts;
	const char *rest = pattern, *text = take_variable(w, pattern, &rest);

	if (!split_path(path, &parts) || (text && !split_path(text, &value)))
		return false;
	return match_pattern(&value, rest, &parts);
}

/* A program by name is some file: only what covers every file covers it. path is NULL then. */
static bool match_file(const struct naive_world *w, const char *pattern, const char *path)
{
	static const char *const odd[] = { "/", "/=", "/./,/;;/%" };

	for (size_t i = 0; !path && i < ROWS(odd); i++) {
		if (!match_path(w, pattern, odd[i]))
			return false;
	}
	return !path || match_path(w, pattern, path);
}

/* Commands */

struct command {
	char program[TEXT];
	bool is_path, more;
	char args[8][PART];
	size_t n;
};

static void read_command(const char *s, struct command *ret)
{
	*ret = (struct command){ .is_path = strchr("/$~*", *s) != NULL };
	ret->more = true;
	for (size_t word = 0; *s; word++) {
		char *to = word ? ret->args[word - 1] : ret->program;
		size_t n = 0;

		ret->n = word;
		ret->more = word == 0;
		assert(word < 8);
		for (; *s && *s != ' '; s++) {
			if (strcmp(s, ":") == 0 || strcmp(s, ":*") == 0) {
				ret->more = s[1] == '*';
				return;
			}
			/* In a path other escapes belong to the glob. */
			if (*s == '\\' && (word || !ret->is_path || s[1] == ' ' || s[1] == ':'))
				s++;
			else if (*s == '\\')
				to[n++] = *s++;
			to[n++] = *s;
			assert(n < PART - 1);
		}
		s += strspn(s, " ");
	}
}

/* Unknown arguments are taken only by a pattern that takes any. */
static bool takes_args(const struct command *c, const struct request *r)
{
	if (!r->args)
		return c->more && c->n == 0;
	if (r->n_args < c->n || (!c->more && r->n_args != c->n))
		return false;
	for (size_t i = 0; i < c->n; i++) {
		if (strcmp(c->args[i], r->args[i]) != 0)
			return false;
	}
	return true;
}

/* `path` is one of the files that `name` leads to. */
static bool leads_to(const struct naive_world *w, const char *name, const char *path)
{
	for (size_t i = 0; i < w->n_programs; i++) {
		for (size_t k = 0; k < NAIVE_FILES_MAX && w->programs[i].files[k]; k++) {
			if (strcmp(w->programs[i].name, name) == 0 &&
				strcmp(w->programs[i].files[k], path) == 0)
				return true;
		}
	}
	return false;
}

/* The literal path that a pattern is one spelling of leads there. */
static bool literal_leads_to(const struct naive_world *w, const char *pattern, const char *path)
{
	for (size_t i = 0; i < w->n_programs; i++) {
		if (!strpbrk(pattern, "*?[") && w->programs[i].name[0] == '/' &&
			match_path(w, pattern, w->programs[i].name) &&
			pattern[strlen(pattern) - 1] != '/' &&
			leads_to(w, w->programs[i].name, path))
			return true;
	}
	return false;
}

static bool match_command(
	const struct naive_world *w, const char *pattern, const struct request *r, const char *path)
{
	struct command c;

	read_command(pattern, &c);
	if (!takes_args(&c, r))
		return false;
	if (!c.is_path)
		return path ? leads_to(w, c.program, path) : strcmp(c.program, r->target) == 0;
	if (strcmp(c.program, "*") == 0)
		return true;
	return match_file(w, c.program, path) || (path && literal_leads_to(w, c.program, path));
}

/* The environment: NAME for any value, NAME=value for that one. */

static bool match_env(const char *pattern, const char *target)
{
	char name[TEXT], path[TEXT + 1], glob[TEXT + 1];

	if (strchr(pattern, '='))
		return strcmp(pattern, target) == 0;
	copy(name, sizeof(name), target, strcspn(target, "="));
	(void)snprintf(path, sizeof(path), "/%s", name);
	(void)snprintf(glob, sizeof(glob), "/%s", pattern);
	return naive_glob(glob, path);
}

/* Services */

struct ask {
	char name[PART], access[PART];
	const char *value; /* NULL: none */
	char lower[PART];  /* a mail address: the value */
};

static void read_ask(const char *s, struct ask *ret)
{
	size_t n = strcspn(s, ".:");

	*ret = (struct ask){ 0 };
	copy(ret->name, PART, s, n);
	s += n;
	if (*s == '.') {
		n = strcspn(s, ":");
		copy(ret->access, PART, s + 1, n - 1);
		s += n;
	}
	if (*s == ':')
		ret->value = s + 1;
}

static unsigned access_bits(const char *word)
{
	return strcmp(word, "read") == 0        ? SERVICE_READ
	       : strcmp(word, "write") == 0     ? SERVICE_WRITE
	       : strcmp(word, "readwrite") == 0 ? SERVICE_READ | SERVICE_WRITE
	       : strcmp(word, "send") == 0      ? SERVICE_SEND
	       : strcmp(word, "open") == 0      ? SERVICE_OPEN
	       : strcmp(word, "navigate") == 0  ? SERVICE_NAVIGATE
						: SERVICE_NONE;
}

static bool match_word(const char *p, const char *s)
{
	if (*p == '*')
		return match_word(p + 1, s) || (*s && match_word(p, s + 1));
	if (!*p || !*s)
		return *p == *s;
	return (*p == '?' || *p == *s) && match_word(p + 1, s + 1);
}

/* `bit` is the one access that is asked about. */
static bool match_service_pattern(const char *pattern, const struct ask *a, unsigned bit)
{
	struct ask p;

	if (strcmp(pattern, "*") == 0)
		return true;
	read_ask(pattern, &p);
	if (strcmp(p.name, a->name) != 0 || (p.access[0] && !(access_bits(p.access) & bit)))
		return false;
	return !p.value || (a->value && match_word(p.value, a->value));
}

static bool in_scope(const struct service_scope *scope, const char *value)
{
	for (size_t i = 0; i < scope->values.n; i++) {
		const struct grant *g = &scope->values.items[i];
		size_t n = 0;

		while (n < g->n && match_word(g->all[n], value))
			n++;
		if (n == g->n)
			return true;
	}
	return false;
}

static bool service_grants(const struct permissions *p, const struct ask *a, unsigned bit)
{
	for (size_t i = 0; i < p->n_services; i++) {
		const struct service *s = &p->services[i];
		bool inside = strcmp(s->name, a->name) == 0 && s->access & bit;

		assert(s->n_scopes <= 1);
		for (size_t k = 0; k < s->n_scopes && inside; k++)
			inside = a->value && in_scope(&s->scopes[k], a->value);
		if (inside)
			return true;
	}
	return false;
}

/* An entry without a program is for any. */
static bool match_secret(const char *entry, const char *secret)
{
	const size_t len = strlen(entry);

	return strncmp(entry, secret, len) == 0 &&
	       (!secret[len] || strncmp(secret + len, ",/", 2) == 0);
}

/* Secrets: the request in the spelling of entries. False: it is malformed. */
static bool normal_secret(const char *target, char out[TEXT])
{
	const char *equals = strchr(target, '='), *comma = strchr(target, ',');
	const char *places[] = { "header", "query", "body", "form" };
	const char *place = comma ? comma + 1 : places[0], *program = strchr(place, ',');
	const size_t place_len = program ? (size_t)(program - place) : strlen(place);
	char host[TEXT], *colon;
	size_t i = 0;

	if (!equals || equals == target || strstr(target, "://"))
		return false;
	if (program && (program[1] != '/' || !program[2] || strpbrk(program + 1, ",* ")))
		return false;
	while (i < ROWS(places) &&
		(strlen(places[i]) != place_len || strncmp(places[i], place, place_len) != 0))
		i++;
	copy(host, sizeof(host), equals + 1,
		comma ? (size_t)(comma - equals - 1) : strlen(equals + 1));
	colon = strrchr(host, ':');
	if (i == ROWS(places) || !colon)
		return false;
	for (char *c = host; *c; c++)
		*c = (char)tolower((unsigned char)*c);
	if (colon[-1] == '.')
		memmove(colon - 1, colon, strlen(colon) + 1);
	/* The one address that is written in two ways. */
	if (strcmp(host, "[2606:4700:0::1]:443") == 0)
		copy(host, sizeof(host), "[2606:4700::1]:443", 18);
	(void)snprintf(out, TEXT, "%.*s=%.200s,%s", (int)(equals - target), target, host, place);
	return true;
}

/* One layer */

struct question {
	const struct naive_world *world;
	const struct request *request;
	enum operation op; /* exec without a list asks fs.read */
	const char *path;  /* fs.*, exec by path: normal */
	struct ask service;
	char secret[TEXT];
	unsigned bit;
	bool wide; /* the pattern forbids or asks: guards do not shrink it */
};

static bool match_one(const struct question *q, const char *pattern)
{
	switch (q->op) {
	case OPERATION_FS_READ:
	case OPERATION_FS_WRITE:
		return match_file(q->world, pattern, q->path);
	case OPERATION_NET_CONNECT:
		return naive_host(pattern, q->request->target, q->wide);
	case OPERATION_EXEC:
		return match_command(q->world, pattern, q->request, q->path);
	case OPERATION_ENV:
		return match_env(pattern, q->request->target);
	case OPERATION_SERVICE:
		return match_service_pattern(pattern, &q->service, q->bit);
	case OPERATION_SECRET:
		return match_secret(pattern, q->secret);
	}
	return false;
}

static bool match_list(const struct question *q, const struct grant_list *list)
{
	for (size_t i = 0; i < list->n; i++) {
		size_t n = 0;

		while (n < list->items[i].n && match_one(q, list->items[i].all[n]))
			n++;
		if (n == list->items[i].n)
			return true;
	}
	return false;
}

static bool has_method(const struct rule *rule, const char *method)
{
	for (size_t i = 0; i < rule->methods.n; i++) {
		if (method && strcmp(rule->methods.items[i].all[0], method) == 0)
			return true;
	}
	return rule->methods.n == 0;
}

static bool rule_matches(struct question q, const struct rule *r)
{
	q.wide = r->action != VERDICT_ALLOW;
	if (r->disabled || !(r->operations >> q.op & 1) || !match_list(&q, &r->patterns))
		return false;
	return q.op != OPERATION_NET_CONNECT || has_method(r, q.request->method);
}

static const struct rule *best_rule(const struct question *q, const struct permissions *p)
{
	const struct rule *best = NULL;

	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *r = &p->rules[i];

		if (!rule_matches(*q, r))
			continue;
		if (!best || r->priority > best->priority ||
			(r->priority == best->priority && r->action < best->action))
			best = r;
	}
	return best;
}

static bool speaks_of_exec(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (!p->rules[i].disabled && p->rules[i].operations >> OPERATION_EXEC & 1)
			return true;
	}
	return p->exec_listed;
}

static bool denied(const struct question *q, const struct permissions *p)
{
	struct question files = *q;

	files.wide = true;
	if (q->op == OPERATION_NET_CONNECT)
		return match_list(&files, &p->network_deny);
	files.op = OPERATION_FS_READ;
	return (q->path || q->op == OPERATION_EXEC) && match_list(&files, &p->fs_deny);
}

static bool guest_grants(const struct question *q, const struct permissions *p)
{
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		char pattern[TEXT];

		(void)snprintf(pattern, sizeof(pattern), "%s/**", p->guest_paths[i].host);
		if ((q->op == OPERATION_FS_READ || p->guest_paths[i].writable) &&
			match_one(q, pattern))
			return true;
	}
	return false;
}

static bool granted(const struct question *q, const struct permissions *p)
{
	switch (q->op) {
	case OPERATION_FS_READ:
		return match_list(q, &p->fs_read) || match_list(q, &p->fs_write) ||
		       guest_grants(q, p);
	case OPERATION_FS_WRITE:
		return match_list(q, &p->fs_write) || guest_grants(q, p);
	case OPERATION_NET_CONNECT:
		return match_list(q, &p->network_allow) || match_list(q, &p->network_private);
	case OPERATION_EXEC:
		return match_list(q, &p->exec);
	case OPERATION_ENV:
		return match_list(q, &p->env);
	case OPERATION_SERVICE:
		return service_grants(p, &q->service, q->bit);
	case OPERATION_SECRET:
		return match_list(q, &p->secrets);
	}
	return false;
}

static enum verdict judge_patterns(struct question q, const struct permissions *p)
{
	enum verdict otherwise = p->mode == MODE_ENFORCE ? p->fallback : VERDICT_ALLOW;
	const struct rule *rule;

	if (p->mode == MODE_MONITOR)
		return VERDICT_ALLOW;
	if (denied(&q, p))
		return VERDICT_DENY;
	if (q.op == OPERATION_EXEC && !speaks_of_exec(p))
		q.op = OPERATION_FS_READ;
	rule = best_rule(&q, p);
	if (rule)
		return rule->action;
	return granted(&q, p) ? VERDICT_ALLOW : otherwise;
}

/* Some entry that allows covers the target, whatever stands above it. */
static bool named(const struct question *q, const struct permissions *p)
{
	for (size_t i = 0; i < p->n_rules; i++) {
		if (p->rules[i].action == VERDICT_ALLOW && rule_matches(*q, &p->rules[i]))
			return true;
	}
	return granted(q, p);
}

/* A request with a method needs one that the layer has, where it lists them. */
static bool has_network_method(const struct permissions *p, const char *method)
{
	for (size_t i = 0; i < p->network.methods.n; i++) {
		if (method && strcmp(p->network.methods.items[i].all[0], method) == 0)
			return true;
	}
	return !method || p->network.methods.n == 0;
}

static enum verdict judge(struct question q, const struct permissions *p)
{
	enum verdict v;

	/* Neither a default nor a mode lets a secret go. */
	if (q.op == OPERATION_SECRET)
		return granted(&q, p) ? VERDICT_ALLOW : VERDICT_DENY;
	v = judge_patterns(q, p);
	if (q.op != OPERATION_NET_CONNECT)
		return v;
	if (v != VERDICT_DENY && q.request->to_private && !match_list(&q, &p->network_private))
		return VERDICT_DENY;
	if (v == VERDICT_ALLOW && naive_host_guarded(q.request->target) && !named(&q, p))
		return VERDICT_DENY;
	if (p->mode == MODE_MONITOR || has_network_method(p, q.request->method))
		return v;
	return VERDICT_DENY;
}

/* All layers below p together; an access that is several is each of them. */
static enum verdict judge_all(struct question q, const struct permissions *p)
{
	enum verdict v = VERDICT_ALLOW;
	unsigned bits = q.op == OPERATION_SERVICE ? access_bits(q.service.access) : 1;

	for (size_t i = 0; i < p->n_all_of; i++)
		v = verdict_strictest(v, judge_all(q, p->all_of[i]));
	for (q.bit = 1; p->n_all_of == 0 && q.bit <= bits; q.bit <<= 1) {
		if (q.bit & bits)
			v = verdict_strictest(v, judge(q, p));
	}
	return v;
}

/* Requests */

static bool normal_path(const char *target, char *out)
{
	struct parts parts;
	size_t n = 0;

	if (!split_path(target, &parts))
		return false;
	for (size_t i = 0; i < parts.n; i++)
		n += (size_t)snprintf(out + n, TEXT - n, "/%s", parts.items[i]);
	if (n == 0)
		(void)snprintf(out, TEXT, "/");
	return true;
}

static bool ask(struct question *q, char *path)
{
	const char *target = q->request->target;
	bool file = q->op == OPERATION_FS_READ || q->op == OPERATION_FS_WRITE ||
		    (q->op == OPERATION_EXEC && strchr(target, '/'));

	if (file && !normal_path(target, path))
		return false;
	q->path = file ? path : NULL;
	if (q->op == OPERATION_SECRET)
		return normal_secret(target, q->secret);
	if (q->op == OPERATION_SERVICE) {
		read_ask(target, &q->service);
		if (q->service.value && strcmp(q->service.name, "email") == 0) {
			if (strchr(q->service.value, ','))
				return false; /* several addresses */
			copy(q->service.lower, PART, q->service.value, strlen(q->service.value));
			for (char *c = q->service.lower; *c; c++)
				*c = (char)tolower((unsigned char)*c);
			q->service.value = q->service.lower;
		}
		return q->service.name[0] && access_bits(q->service.access);
	}
	return *target != '\0' && *target != '=';
}

int naive_decide_layers(const struct naive_world *w, const struct permissions *const *layers,
	size_t n, const struct request *r)
{
	struct question q = { .world = w, .request = r, .op = r->op };
	enum verdict v = n ? VERDICT_ALLOW : VERDICT_DENY;
	char path[TEXT];

	if (!ask(&q, path))
		return NAIVE_MALFORMED;
	for (size_t i = 0; i < n; i++)
		v = verdict_strictest(v, judge_all(q, layers[i]));
	return (int)v;
}

/* The baseline */

/* A pattern of the baseline, where "~/" is every home. */
static bool baseline_matches(const struct naive_world *w, const char *pattern, const char *path)
{
	static const char *const homes[] = { "/root", "/home/*", "/Users/*" };
	const char *home = w->variables->values[VARIABLE_HOME];
	char text[TEXT];

	/* There are many of these: what starts with another letter is not worth a try. */
	if (pattern[0] != '~')
		return pattern[1] == path[1] && naive_glob(pattern, path);
	for (size_t i = 0; i < ROWS(homes); i++) {
		if (homes[i][1] != path[1])
			continue;
		(void)snprintf(text, sizeof(text), "%s%s", homes[i], pattern + 1);
		if (naive_glob(text, path))
			return true;
	}
	return home && starts(path, home) && match_path(w, pattern, path);
}

/* Every layer says so. */
static bool lifted(const struct question *q, const struct permissions *p)
{
	for (size_t i = 0; i < p->n_all_of; i++) {
		if (!lifted(q, p->all_of[i]))
			return false;
	}
	return p->n_all_of || match_list(q, &p->dangerously_allow);
}

static bool baseline_forbids(
	const struct question *q, const struct permissions *const *layers, size_t n)
{
	bool found = false, all = n > 0;

	for (size_t i = 0; q->path && i < baseline_n_paths && !found; i++)
		found = (baseline_paths[i].secret || q->op == OPERATION_FS_WRITE) &&
			baseline_matches(
				q->world, baseline_path_pattern(&baseline_paths[i]), q->path);
	for (size_t i = 0; found && i < n; i++) {
		struct question files = *q;

		files.op = OPERATION_FS_READ;
		all = all && lifted(&files, layers[i]);
	}
	return found && !all;
}

int naive_decide(const struct naive_world *w, const struct permissions *const *layers, size_t n,
	const struct request *r)
{
	struct question q = { .world = w, .request = r, .op = r->op };
	char path[TEXT];

	if (!ask(&q, path))
		return NAIVE_MALFORMED;
	if (baseline_forbids(&q, layers, n))
		return VERDICT_DENY;
	if (r->op == OPERATION_NET_CONNECT && naive_host_never(r->target))
		return VERDICT_DENY;
	return naive_decide_layers(w, layers, n, r);
}
