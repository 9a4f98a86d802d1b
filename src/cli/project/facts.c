/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/project/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "codec/json.h"

enum { FACTS_ABSENT, FACTS_READ, FACTS_UNUSABLE };

/* Unusable: it is no regular file of a bearable size, or cannot be opened. */
static int facts_read(int folder, const char *name, struct buffer *out)
{
	auto_fd fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return FACTS_ABSENT;
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return FACTS_UNUSABLE;
	buffer_clear(out);
	r = file_read_fd(fd, FACTS_BYTES_MAX, out);
	return r == -ENOMEM ? r : r == 0 ? FACTS_READ : FACTS_UNUSABLE;
}

static bool facts_is_there(int folder, const char *name)
{
	struct stat st;

	return fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	       (S_ISREG(st.st_mode) || S_ISDIR(st.st_mode));
}

void facts_read_package(const char *text, size_t len, struct facts *f)
{
	static const char *const needs[] = { "dependencies", "devDependencies",
		"optionalDependencies" };
	auto_document d = { 0 };
	struct error e = { 0 };
	const char *test;

	if (json_read(&d, NULL, text, len, &e) < 0) {
		f->package_fault = "is not valid JSON";
		f->package_line = e.line;
		return;
	}
	if (d.root->type != NODE_MAP) {
		f->package_fault = "is not a JSON object";
		return;
	}
	f->package = true;
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++) {
		const struct node *n = node_get(d.root, needs[i]);

		f->package_needs |= n && n->type == NODE_MAP && n->count;
	}
	test = node_get_text(node_get(d.root, "scripts"), "test");
	/* What `npm init` writes, and which fails. */
	f->package_test = *test && !strstr(test, "no test specified");
}

/* A line "NAME ... :" that is no assignment; the names before the colon. */
static enum facts_target facts_read_rule(const char *line, size_t len)
{
	static const struct {
		const char *name;
		enum facts_target target;
	} known[] = { { "test", FACTS_TEST }, { "check", FACTS_CHECK } };
	const char *colon = memchr(line, ':', len), *end;
	enum facts_target best = FACTS_NONE;

	if (!colon || colon == line || strchr("\t #.", line[0]) ||
		(colon + 1 < line + len && colon[1] == '=') ||
		memchr(line, '=', (size_t)(colon - line)))
		return FACTS_NONE;
	for (; line < colon; line = end + (end < colon)) {
		end = memchr(line, ' ', (size_t)(colon - line));
		end = end ? end : colon;
		for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
			if ((size_t)(end - line) == strlen(known[i].name) &&
				memcmp(line, known[i].name, (size_t)(end - line)) == 0 &&
				known[i].target > best)
				best = known[i].target;
	}
	return best ? best : FACTS_ALL;
}

enum facts_target facts_read_make(const char *text, size_t len)
{
	enum facts_target best = FACTS_NONE;

	while (len) {
		const char *end = memchr(text, '\n', len);
		const size_t n = end ? (size_t)(end - text) : len;
		const enum facts_target found = n ? facts_read_rule(text, n) : FACTS_NONE;

		best = found > best ? found : best;
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	return best;
}

static bool facts_is_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool facts_has_word(const char *text, size_t len, const char *word)
{
	const size_t n = strlen(word);
	const char *at = text;

	while ((at = memmem(at, len - (size_t)(at - text), word, n))) {
		const bool starts = at == text || !facts_is_letter(at[-1]);

		if (starts && (at + n == text + len || !facts_is_letter(at[n])))
			return true;
		at += n;
	}
	return false;
}

/* Of git's configuration: url = https://HOST/…, git@HOST:… or ssh://git@HOST/… */
bool facts_has_remote(const char *text, size_t len, const char *host)
{
	const size_t n = strlen(host);
	const char *at = text;

	while ((at = memmem(at, len - (size_t)(at - text), host, n))) {
		const char *behind = at + n;

		if (at > text && strchr("/@", at[-1]) && behind < text + len &&
			strchr("/:", *behind))
			return true;
		at = behind;
	}
	return false;
}

/* Files that are read for a word or two. */
static int facts_read_python(int folder, struct facts *f)
{
	static const char *const files[] = { "pyproject.toml", "setup.cfg", "tox.ini",
		"requirements.txt", "requirements-dev.txt" };
	auto_buffer text = { 0 };
	int r = 0;

	for (size_t i = 0; r >= 0 && i < sizeof(files) / sizeof(files[0]); i++) {
		r = facts_read(folder, files[i], &text);
		if (r != FACTS_READ)
			continue;
		f->python |= i < 2 || i > 2;
		f->pytest |= facts_has_word(buffer_text(&text), text.len, "pytest");
		f->python_needs |=
			i == 0 && facts_has_word(buffer_text(&text), text.len, "dependencies");
	}
	f->requirements = facts_is_there(folder, "requirements.txt");
	f->uv_lock = facts_is_there(folder, "uv.lock");
	f->python |= f->requirements || facts_is_there(folder, "setup.py");
	f->pytest |= facts_is_there(folder, "pytest.ini") || facts_is_there(folder, "conftest.py");
	f->tests_folder = facts_is_there(folder, "tests");
	f->tests_package = facts_is_there(folder, "tests/__init__.py");
	return r < 0 ? r : 0;
}

int facts_find(int folder, struct facts *ret)
{
	static const char *const makefiles[] = { "GNUmakefile", "makefile", "Makefile" };
	struct facts f = { 0 };
	auto_buffer text = { 0 };
	int r = facts_read(folder, "package.json", &text);

	if (r == FACTS_READ)
		facts_read_package(buffer_text(&text), text.len, &f);
	else if (r == FACTS_UNUSABLE)
		f.package_fault = "is not a regular file of at most 1 MiB";
	f.package_lock = facts_is_there(folder, "package-lock.json");
	if (r >= 0)
		r = facts_read_python(folder, &f);
	f.cargo = facts_is_there(folder, "Cargo.toml");
	f.go = facts_is_there(folder, "go.mod");
	for (size_t i = 0; r >= 0 && i < sizeof(makefiles) / sizeof(makefiles[0]); i++) {
		r = facts_read(folder, makefiles[i], &text);
		if (r == FACTS_READ && !f.make)
			f.make = facts_read_make(buffer_text(&text), text.len);
	}
	f.cmake = facts_is_there(folder, "CMakeLists.txt");
	f.meson = facts_is_there(folder, "meson.build");
	if (r >= 0)
		r = facts_read(folder, ".git/config", &text);
	if (r == FACTS_READ)
		f.github = facts_has_remote(buffer_text(&text), text.len, "github.com");
	if (r < 0)
		return r;
	*ret = f;
	return 0;
}
