/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/ask/subject.h"

#include <sodium.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "host/links.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"

const char *const ask_kind_names[ASK_KIND_COUNT] = {
	[ASK_KIND_NONE] = "unknown",
	[ASK_KIND_MISSING] = "missing",
	[ASK_KIND_FILE] = "file",
	[ASK_KIND_FOLDER] = "folder",
	[ASK_KIND_PROGRAM] = "program",
};

void ask_digest(const char *const *parts, size_t n, char ret[ASK_DIGEST])
{
	unsigned char digest[ASK_DIGEST / 2];
	crypto_generichash_state s;

	(void)crypto_generichash_init(&s, NULL, 0, sizeof(digest));
	for (size_t i = 0; i < n; i++)
		(void)crypto_generichash_update(
			&s, (const unsigned char *)parts[i], strlen(parts[i]) + 1);
	(void)crypto_generichash_final(&s, digest, sizeof(digest));
	(void)sodium_bin2hex(ret, ASK_DIGEST, digest, sizeof(digest));
}

/* The one path that a pattern names, alone or with all below it. NULL: it is none such. */
static const char *subject_path(struct arena *a, const char *pattern)
{
	struct error none = { 0 };
	struct glob g = { 0 };

	if (glob_parse(&g, a, pattern, NULL, &none) < 0 || g.n != 1 ||
		g.alternatives[0].kind == GLOB_TRUE)
		return NULL;
	return arena_strndup(a, g.alternatives[0].literal, g.alternatives[0].literal_len);
}

struct ask_subject ask_subject_look(struct arena *a, const char *option, const char *value)
{
	struct ask_subject ret = { 0 };
	struct command_pattern p = { .program = value };
	struct error none = { 0 };
	char real[PATH_BYTES];
	const char *path, *end = real;
	struct stat st;

	if (strcmp(option, "--exec") == 0 && command_pattern_parse(&p, a, value, NULL, &none) < 0)
		return ret;
	if (p.is_name) {
		ask_digest(&p.program, 1, ret.leads);
		ret.kind = ASK_KIND_PROGRAM;
		return ret;
	}
	path = p.program && !p.line ? subject_path(a, p.program) : NULL;
	if (!path || links_follow(path, NULL, NULL, real) < 0)
		return ret;
	ask_digest(&end, 1, ret.leads);
	if (lstat(real, &st) < 0)
		ret.kind = ASK_KIND_MISSING;
	else
		ret.kind = S_ISDIR(st.st_mode) ? ASK_KIND_FOLDER : ASK_KIND_FILE;
	return ret;
}

bool ask_subject_is_same(const struct ask_subject *a, const struct ask_subject *b)
{
	return a->kind != ASK_KIND_NONE && a->kind == b->kind && strcmp(a->leads, b->leads) == 0;
}

static const char *subject_article(enum ask_kind kind)
{
	return kind > ASK_KIND_MISSING ? "a " : "";
}

const char *ask_subject_difference(
	struct arena *a, const struct ask_subject *was, const struct ask_subject *is)
{
	const char *text;

	if (was->kind == is->kind)
		return "a link on the way leads elsewhere than when the command asked";
	text = arena_printf(a, "it was %s%s when the command asked, and is %s%s now",
		subject_article(was->kind), ask_kind_names[was->kind], subject_article(is->kind),
		ask_kind_names[is->kind]);
	return text ? text : "it is not what it was when the command asked";
}
