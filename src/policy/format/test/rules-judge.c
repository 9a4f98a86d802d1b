/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Judges requests by AgenShield's rules, for test-rules-model.py. Lines of words with tabs between:
 *
 *   file JSON                   reads rules; answers "ok" or "refused WHY"
 *   add JSON                    a further file
 *   ask OP TARGET METHOD ARG…   answers "VERDICT RULE"; METHOD may be "-"
 *
 * What was read is also printed and read again, merged with itself and intersected with itself. If
 * one of these policies gives another verdict, the answer is "differs".
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/algebra/algebra.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"
#include "policy/policy.h"

enum { WORDS_MAX = 64, FORMS = 4 };

struct judge {
	struct manifest manifest;
	struct policy *policies[FORMS];
};

static const struct variables vars = {
	.values = { [VARIABLE_HOME] = "/home/u", [VARIABLE_WORK_DIR] = "/srv/work" }
};

static void judge_forget(struct judge *j)
{
	for (size_t i = 0; i < FORMS; i++) {
		policy_free(j->policies[i]);
		j->policies[i] = NULL;
	}
}

static int judge_compile_one(
	struct judge *j, size_t i, const struct permissions *p, struct error *e)
{
	const struct policy_options options = { .variables = &vars };

	return policy_new(&j->policies[i], &p, 1, &options, e);
}

static int judge_compile(struct judge *j, struct error *e)
{
	auto_permissions *merged = NULL, *met = NULL;
	auto_manifest again = { 0 };
	auto_buffer text = { 0 };
	int r;

	judge_forget(j);
	r = judge_compile_one(j, 0, j->manifest.permissions, e);
	permissions_print_yaml(j->manifest.permissions, &text);
	if (r == 0)
		r = manifest_read(&again, MANIFEST_PERMISSIONS, "printed.yaml", buffer_text(&text),
			text.len, e);
	if (r == 0)
		r = judge_compile_one(j, 1, again.permissions, e);
	if (r == 0)
		r = algebra_merge(&merged, j->manifest.permissions, j->manifest.permissions);
	if (r == 0)
		r = judge_compile_one(j, 2, merged, e);
	if (r == 0)
		r = algebra_intersect(&met, j->manifest.permissions, j->manifest.permissions);
	return r == 0 ? judge_compile_one(j, 3, met, e) : r;
}

static void judge_file(struct judge *j, const char *json, bool further)
{
	struct error e = { 0 };
	int r;

	if (!further) {
		manifest_deinit(&j->manifest);
		r = manifest_read(
			&j->manifest, MANIFEST_RULES, "rules.json", json, strlen(json), &e);
	} else {
		r = manifest_add_rules(&j->manifest, "more.json", json, strlen(json), &e);
	}
	if (r == 0)
		r = judge_compile(j, &e);
	if (r < 0)
		printf("refused %s\n", e.text[0] ? e.text : strerror(-r));
	else
		puts("ok");
}

static void judge_ask(const struct judge *j, char *const *words, size_t n)
{
	struct request r = { .target = words[2],
		.method = strcmp(words[3], "-") == 0 ? NULL : words[3],
		.args = (const char *const *)words + 4,
		.n_args = n - 4 };
	struct decision d = { 0 };

	if (operation_parse(words[1], &r.op) < 0) {
		puts("error");
		return;
	}
	for (size_t i = 0; i < FORMS; i++) {
		struct decision other = { 0 };

		(void)policy_decide(j->policies[i], &r, &other);
		if (i > 0 && other.verdict != d.verdict) {
			printf("differs %zu\n", i);
			return;
		}
		d = other;
	}
	(void)policy_decide(j->policies[0], &r, &d);
	printf("%s %s\n", verdict_name(d.verdict),
		d.source && d.source->in->id ? d.source->in->id
		: d.why == DECISION_NO_GRANT ? "-"
					     : "!");
}

int main(void)
{
	struct judge j = { 0 };
	char *line = NULL, *words[WORDS_MAX];
	size_t cap = 0;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	while (getline(&line, &cap, stdin) > 0) {
		char *rest = line;
		size_t n = 0;

		line[strcspn(line, "\n")] = '\0';
		while (n < WORDS_MAX - 1 && (words[n] = strsep(&rest, "\t")))
			n++;
		words[n] = NULL;
		if (n >= 2 && strcmp(words[0], "ask") != 0)
			judge_file(&j, words[1], strcmp(words[0], "add") == 0);
		else if (n >= 4 && j.policies[0])
			judge_ask(&j, words, n);
		else
			puts("error");
	}
	judge_forget(&j);
	manifest_deinit(&j.manifest);
	free(line);
	return 0;
}
