/* SPDX-License-Identifier: Apache-2.0 */
/* Ways to make the user's git run something that do not lead over .git/config and .git/hooks. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "cli/profile/runs-later.h"
#include "cli/profile/internal.h"
#include "cli/profile/profile.h"
#include "threat/threat.h"

static char folder[] = "/tmp/test-profile-git.XXXXXX";
static char work[PATH_BYTES];

static void put(const char *name, const void *data, size_t len)
{
	char path[PATH_BYTES + 64];

	(void)snprintf(path, sizeof(path), "%s/%s", work, name);
	for (char *slash = strchr(path + strlen(work) + 1, '/'); slash;
		slash = strchr(slash + 1, '/')) {
		*slash = '\0';
		assert_true(mkdir(path, 0700) == 0 || errno == EEXIST);
		*slash = '/';
	}
	assert_int_equal(file_replace(path, data, len, 0600), 0);
}

static void put_text(const char *name, const char *text)
{
	put(name, text, strlen(text));
}

/* A new working folder for each test. */
static int begin(void **state)
{
	static unsigned n;

	(void)state;
	if (n == 0 && (!mkdtemp(folder) || setenv("HOME", folder, 1) < 0))
		return -1;
	(void)unsetenv("XDG_CONFIG_HOME");
	(void)snprintf(work, sizeof(work), "%s/%u", folder, n++);
	return mkdir(work, 0700);
}

static int tear_down(void **state)
{
	char command[PATH_BYTES];

	(void)state;
	(void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
	return system(command); /* NOLINT(cert-env33-c) */
}

/* What is only reported stands with a "?". */
static int note(void *data, const char *path, const char *who, unsigned uses)
{
	assert_non_null(who);
	buffer_printf(data, "%s%s\n", path, uses & THREAT_PROTECT ? "" : "?");
	return 0;
}

static void expect_leads(const char *expected)
{
	struct profile_git_user user = { 0 };
	auto_buffer found = { 0 };

	assert_int_equal(profile_git_leads(work, work, false, &user, note, &found), 0);
	assert_string_equal(buffer_text(&found), expected);
}

/* Every setting of git's documents whose value is run. */
static void test_programs(void **state)
{
	static const char *const rows[] = { "[core]\nfsmonitor", "[core]\nsshCommand",
		"[core]\npager", "[core]\neditor", "[core]\naskPass", "[core]\ngitProxy",
		"[core]\nalternateRefsCommand", "[sequence]\neditor", "[diff]\nexternal",
		"[diff \"a\"]\ncommand", "[diff \"a\"]\ntextconv", "[merge \"a\"]\ndriver",
		"[mergetool \"a\"]\ncmd", "[mergetool \"a\"]\npath", "[difftool \"a\"]\ncmd",
		"[filter \"a\"]\nclean", "[filter \"a\"]\nsmudge", "[filter \"a\"]\nprocess",
		"[filter.a]\nclean", "[credential]\nhelper",
		"[credential \"https://a.example\"]\nhelper", "[gpg]\nprogram",
		"[gpg \"ssh\"]\nprogram", "[gpg \"ssh\"]\ndefaultKeyCommand", "[pager]\nlog",
		"[interactive]\ndiffFilter", "[uploadpack]\npackObjectsHook",
		"[remote \"a\"]\nuploadpack", "[remote \"a\"]\nreceivepack",
		"[sendemail]\nsmtpServer", "[sendemail]\nsendmailCmd", "[browser \"a\"]\ncmd",
		"[browser \"a\"]\npath", "[man \"a\"]\ncmd", "[man \"a\"]\npath", "[help]\nbrowser",
		"[web]\nbrowser", "[instaweb]\nhttpd", "[tar \"a\"]\ncommand",
		"[gc]\nrecentObjectsHook", "[svn]\nauthorsProg", "[guitool \"a\"]\ncmd",
		"[trailer \"a\"]\ncommand", "[trailer \"a\"]\ncmd", "[hook \"a\"]\ncommand",
		"[imap]\ntunnel", "[lfs \"customtransfer.a\"]\npath",
		"[lfs \"extension.a\"]\nclean", "[tig \"bind\"]\ngeneric",
		"[newer \"a\"]\nsomethingCommand", "[annex]\nfreezecontent-command" };
	char text[256];

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		(void)snprintf(text, sizeof(text), "%s = ./t/x\n", rows[i]);
		put_text(".git/config", text);
		expect_leads("t/x\n");
	}
	put_text(".git/config", "[alias]\na = !t/x\nb = t/y\n");
	expect_leads("t/x\n");
	put_text(".git/config", "[submodule \"a\"]\nupdate = !t/x\n");
	expect_leads("t/x\n");
	put_text(".git/config", "[remote \"a\"]\nurl = ext::t/x %S\npushurl = t/y\n");
	expect_leads("t/x\n");
	put_text(".git/config", "[user]\nname = t/x\n[branch \"a\"]\nremote = ./t/x\n");
	expect_leads("");
}

static void expect_environment(const char *expected)
{
	struct profile_git_user user = { 0 };
	auto_buffer found = { 0 };

	assert_int_equal(profile_git_environment(work, work, &user, note, &found), 0);
	assert_string_equal(buffer_text(&found), expected);
}

static void test_environment(void **state)
{
	char path[PATH_BYTES + 64];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/mine", work);
	put_text("mine", "[core]\npager = t/pager\n");
	assert_int_equal(setenv("GIT_CONFIG_GLOBAL", path, 1), 0);
	expect_environment("mine\nt/pager\n");
	assert_int_equal(setenv("GIT_CONFIG_GLOBAL", "", 1), 0);
	assert_int_equal(setenv("GIT_CONFIG_SYSTEM", path, 1), 0);
	expect_environment("mine\nt/pager\n");
	assert_int_equal(unsetenv("GIT_CONFIG_GLOBAL") | unsetenv("GIT_CONFIG_SYSTEM"), 0);
	assert_int_equal(setenv("GIT_SSH_COMMAND", "./t/ssh -i key", 1), 0);
	expect_environment("t/ssh\n");
	assert_int_equal(unsetenv("GIT_SSH_COMMAND"), 0);
	assert_int_equal(setenv("GIT_CONFIG_COUNT", "2", 1) | setenv("GIT_CONFIG_KEY_0", "a", 1) |
				 setenv("GIT_CONFIG_VALUE_0", "t/no", 1) |
				 setenv("GIT_CONFIG_KEY_1", "filter.a.b.clean", 1) |
				 setenv("GIT_CONFIG_VALUE_1", "t/clean %f", 1),
		0);
	expect_environment("t/clean\n");
	assert_int_equal(setenv("GIT_CONFIG_KEY_1", "core.hooksPath", 1), 0);
	expect_environment("t/clean %f\n");
	assert_int_equal(unsetenv("GIT_CONFIG_COUNT"), 0);
	expect_environment("");
}

static void test_none(void **state)
{
	(void)state;
	expect_leads("");
	put_text(".git/HEAD", "ref: refs/heads/main\n");
	put_text(".git/config", "[core]\n\tbare = false\n[remote \"path\"]\n\turl = x\n");
	expect_leads("");
}

static void test_file(void **state)
{
	(void)state;
	put_text(".git", "gitdir: ./.g\n");
	expect_leads(
		".g/hooks\n.g/config\n.g/config.worktree\n.g/commondir\n.g/modules\n"
		".g/worktrees?\n.g/remotes\n.g/branches\n.g/rebase-merge?\n.g/rebase-apply?\n.g/"
		"sequencer?\n.g/lazygit.yml\n");
	put_text(".git", "gitdir: /elsewhere\n");
	expect_leads("");
}

static void test_common(void **state)
{
	(void)state;
	put_text(".git/commondir", "../c\n");
	put_text("c/config", "[core]\nhooksPath=h\n");
	expect_leads(
		"c/hooks\nc/config\nc/config.worktree\nc/commondir\nc/modules\nc/worktrees?\nc/"
		"remotes\nc/branches\n"
		"c/rebase-merge?\nc/rebase-apply?\nc/sequencer?\nc/lazygit.yml\nh\n");
}

/* Of those in the folder, what leads git to settings; of others, all. */
static void test_worktrees(void **state)
{
	char text[2 * PATH_BYTES];

	(void)state;
	put_text(".git/config", "");
	(void)snprintf(text, sizeof(text), "%s/wt/.git\n", work);
	put_text(".git/worktrees/wt/gitdir", text);
	expect_leads(".git/worktrees/wt\n");
	put_text("wt/.git", "gitdir: ../.git/worktrees/wt\n");
	expect_leads(".git/worktrees/wt/gitdir\n.git/worktrees/wt/hooks\n.git/worktrees/wt/config\n"
		     ".git/worktrees/wt/config.worktree\n.git/worktrees/wt/commondir\n"
		     ".git/worktrees/wt/modules\n.git/worktrees/wt/worktrees?\n"
		     ".git/worktrees/wt/remotes\n.git/worktrees/wt/branches\n"
		     ".git/worktrees/wt/rebase-merge?\n.git/worktrees/wt/rebase-apply?\n"
		     ".git/worktrees/wt/sequencer?\n.git/worktrees/wt/lazygit.yml\n");
	put_text("wt/.git", "gitdir: ../.git/worktrees/another\n");
	expect_leads(".git/worktrees/wt\n");
	put_text(".git/worktrees/wt/gitdir", "/elsewhere/.git\n");
	expect_leads(".git/worktrees/wt\n");
}

static void test_settings(void **state)
{
	static const struct {
		const char *text, *expected;
	} rows[] = {
		{ "[core]\n\thooksPath = .githooks\n", ".githooks\n" },
		{ "[CORE] HooksPath=\"a b\" ; comment\n", "a b\n" },
		{ "[core]\nhookspath = a\\\nb # x\n", "ab\n" },
		{ "[core \"x\"]\nx = y\n[core]\n# hookspath = no\nhookspath=yes", "yes\n" },
		{ "[core]\nhookspath = ../up\n", "" },
		{ "[core]\nhookspath = .\n", "" },
		{ "[core]\nhookspath = /tmp/x\n", "" },
		{ "[include]\n\tpath = ../shared\n", "shared\nfrom-shared\n" },
		{ "[includeIf \"gitdir:~/]\\\"\"]\n\tpath = ../shared\n", "shared\nfrom-shared\n" },
		{ "[include]\n\tpath = loop\n", ".git/loop\n.git/loop\n.git/loop\n.git/loop\n"
						".git/loop\n.git/loop\n.git/loop\n.git/loop\n"
						".git/loop\n.git/loop\n.git/loop\n" },
		{ "[core", "" },
		{ "[core]\nhookspath", "" },
		{ "[core]\nhookspath=\"", "" },
		{ "[core]\nhookspath=\\", "\\\n" },
	};

	(void)state;
	put_text("shared", "[core]\nhooksPath = from-shared\n");
	put_text(".git/loop", "[include]\npath = loop\n");
	for (size_t i = 0; i < ROWS(rows); i++) {
		put_text(".git/config", rows[i].text);
		expect_leads(rows[i].expected);
	}
}

/* The user's own settings are read once, and mean every worktree. */
static void test_user(void **state)
{
	struct profile_git_user user = { 0 };
	auto_buffer found = { 0 };
	char config[PATH_BYTES + 32], worktree[PATH_BYTES + 32];

	(void)state;
	(void)snprintf(config, sizeof(config), "%s/.gitconfig", folder);
	assert_int_equal(file_replace(config, "[core]\nhooksPath = .mine\n", 25, 0600), 0);
	put_text(".git/config", "");
	put_text("sub/.git/config", "[core]\nhooksPath = own\n");
	(void)snprintf(worktree, sizeof(worktree), "%s/sub", work);
	assert_int_equal(profile_git_leads(work, work, false, &user, note, &found), 0);
	assert_int_equal(unlink(config), 0);
	assert_int_equal(profile_git_leads(work, worktree, false, &user, note, &found), 0);
	assert_string_equal(buffer_text(&found), ".mine\nsub/own\nsub/.mine\n");
}

/* A repository without .git; paths of .gitmodules. */
static void test_bare(void **state)
{
	struct profile_git_user user = { 0 };
	auto_buffer found = { 0 }, modules = { 0 };

	(void)state;
	put_text("config", "[include]\npath = more\n");
	put_text(
		".gitmodules", "[submodule \"a\"]\npath = sub/a\n[submodule \"b\"]\npath = ../b\n");
	assert_int_equal(profile_git_leads(work, work, true, &user, note, &found), 0);
	assert_non_null(strstr(buffer_text(&found), "hooks\n"));
	assert_non_null(strstr(buffer_text(&found), "more\n"));
	assert_int_equal(profile_git_modules(work, work, &user, note, &modules), 0);
	assert_string_equal(buffer_text(&modules), "sub/a\n");
}

/* However many repositories there are, only so much is read. */
static void test_bounds(void **state)
{
	struct profile_git_user user = { 0 };
	auto_buffer found = { 0 };
	int r = 0;

	(void)state;
	put_text(".git/config", "[core]\n");
	for (size_t i = 0; r == 0 && !user.why && i < 10000; i++)
		r = profile_git_leads(work, work, false, &user, note, &found);
	assert_int_equal(r, 0);
	assert_non_null(strstr(user.why, "too many files"));
	assert_non_null(strstr(user.missed, "/.git/config"));
}

/* What is too large is left out by its name, and the rest is read. */
static void test_large(void **state)
{
	struct profile_git_user user = { 0 };
	char path[PATH_BYTES + 32], worktree[PATH_BYTES + 32];
	auto_buffer found = { 0 };

	(void)state;
	put_text(".git/config", "[include]\npath = large\n[core]\nhooksPath = mine\n");
	put_text(".git/large", "");
	(void)snprintf(path, sizeof(path), "%s/.git/large", work);
	assert_int_equal(truncate(path, (off_t)50 << 30), 0);
	assert_int_equal(profile_git_leads(work, work, false, &user, note, &found), 0);
	assert_non_null(strstr(buffer_text(&found), "mine\n"));
	assert_string_equal(user.missed, path);
	assert_non_null(strstr(user.why, "larger than 1 MiB"));
	/* Git takes no such file for a repository. */
	user = (struct profile_git_user){ 0 };
	put_text("sub/x", "");
	(void)snprintf(path, sizeof(path), "%s/sub/.git", work);
	assert_int_equal(file_replace(path, "gitdir: ../.git\n", 16, 0600), 0);
	assert_int_equal(truncate(path, 50 << 20), 0);
	(void)snprintf(worktree, sizeof(worktree), "%s/sub", work);
	assert_int_equal(profile_git_leads(work, worktree, false, &user, note, &found), 0);
	assert_null(user.why);
}

/* A pipe in the place of a file must not keep us waiting. */
static void test_pipe(void **state)
{
	char path[PATH_BYTES + 32];

	(void)state;
	put_text(".git/HEAD", "");
	(void)snprintf(path, sizeof(path), "%s/.git/commondir", work);
	assert_int_equal(mkfifo(path, 0600), 0);
	(void)snprintf(path, sizeof(path), "%s/.git/config", work);
	assert_int_equal(mkfifo(path, 0600), 0);
	expect_leads("");
}

static void add_number(struct buffer *b, uint32_t n)
{
	const unsigned char bytes[] = { (unsigned char)(n >> 24), (unsigned char)(n >> 16),
		(unsigned char)(n >> 8), (unsigned char)n };

	buffer_add(b, bytes, sizeof(bytes));
}

static void add_zeros(struct buffer *b, size_t n)
{
	while (n-- > 0)
		buffer_addc(b, '\0');
}

static void add_header(struct buffer *b, unsigned version, unsigned n)
{
	buffer_adds(b, "DIRC");
	add_number(b, version);
	add_number(b, n);
}

/* len: of the name, as the entry has it. */
static void add_entry_len(struct buffer *b, unsigned version, size_t hash, uint32_t mode,
	const char *name, size_t len)
{
	size_t start = b->len;

	add_zeros(b, 24);
	add_number(b, mode);
	add_zeros(b, 12 + hash);
	buffer_addc(b, (char)(len >> 8));
	buffer_addc(b, (char)len);
	if (version == 4)
		buffer_addc(b, mode == 0160000); /* "a" is not in the other name */
	buffer_adds(b, name);
	buffer_addc(b, '\0');
	while (version < 4 && (b->len - start) % 8)
		buffer_addc(b, '\0');
}

static void add_entry(
	struct buffer *b, unsigned version, size_t hash, uint32_t mode, const char *name)
{
	add_entry_len(b, version, hash, mode, name, strlen(name));
}

/* An index of one file and one submodule. */
static void put_index(unsigned version, size_t hash, const char *module)
{
	auto_buffer b = { 0 };

	add_header(&b, version, 2);
	add_entry(&b, version, hash, 0100644, "a");
	add_entry(&b, version, hash, 0160000, module);
	add_zeros(&b, hash);
	put(".git/index", b.data, b.len);
}

/* An extension that names a shared index of 20 times the byte. */
static void add_link(struct buffer *b, int byte)
{
	buffer_adds(b, "link");
	add_number(b, 20);
	for (size_t i = 0; i < 20; i++)
		buffer_addc(b, (char)byte);
}

static void check_links(const char *expected)
{
	struct timespec since = { 0 };
	auto_buffer found = { 0 };

	assert_int_equal(profile_git_links(work, work, &since, note, &found), 0);
	assert_string_equal(buffer_text(&found), expected);
}

static void test_links(void **state)
{
	static const size_t hashes[] = { 20, 32 };

	(void)state;
	put_text("sub/.git/config", "");
	put_text("old/.git", "gitdir: ../.git/modules/old\n");
	for (unsigned version = 2; version <= 4; version++) {
		for (size_t i = 0; i < ROWS(hashes); i++) {
			put_text(".git/config", i ? "[extensions]\nobjectFormat = sha256\n" : "");
			put_index(version, hashes[i], "sub");
			check_links("sub/.git\n");
			put_index(version, hashes[i], "none");
			check_links("");
			put_index(version, hashes[i], "../sub");
			check_links("");
		}
	}
	put_text(".git/index", "DIRC");
	check_links(".git/index\n");
	put_text(".git/index", "");
	check_links("");
}

/* An index that is split: the submodule is in the other half. */
static void test_links_split(void **state)
{
	static const char one[] = ".git/sharedindex.1111111111111111111111111111111111111111";
	static const char two[] = ".git/sharedindex.2222222222222222222222222222222222222222";
	auto_buffer harmless = { 0 }, evil = { 0 }, split = { 0 }, twice = { 0 }, nameless = { 0 };

	(void)state;
	put_text("sub/.git/config", "");
	add_header(&harmless, 2, 1);
	add_entry(&harmless, 2, 20, 0100644, "sub");
	add_zeros(&harmless, 20);
	add_header(&evil, 2, 1);
	add_entry(&evil, 2, 20, 0160000, "sub");
	add_zeros(&evil, 20);
	add_header(&split, 2, 0);
	add_link(&split, 0x11);
	add_zeros(&split, 20);
	add_header(&twice, 2, 0);
	add_link(&twice, 0x11);
	add_link(&twice, 0x22);
	add_zeros(&twice, 20);
	add_header(&nameless, 2, 1);
	add_entry(&nameless, 2, 20, 0160000, "");
	add_link(&nameless, 0x11);
	add_zeros(&nameless, 20);

	put(".git/index", split.data, split.len);
	check_links(".git/index\n"); /* the other half is missing */
	put(one, harmless.data, harmless.len);
	check_links("");
	put(one, evil.data, evil.len);
	check_links("sub/.git\n");
	/* Git takes the last one. */
	put(one, harmless.data, harmless.len);
	put(two, evil.data, evil.len);
	put(".git/index", twice.data, twice.len);
	check_links(".git/index\n");
	/* It replaces an entry of the other half, and has its name from there. */
	put(".git/index", nameless.data, nameless.len);
	check_links("sub/.git\n");
}

/* The index is older than the command, the file that it is split from is not. */
static void test_links_shared(void **state)
{
	static const char one[] = ".git/sharedindex.1111111111111111111111111111111111111111";
	auto_buffer evil = { 0 }, split = { 0 }, found = { 0 };
	struct timespec since;
	char path[PATH_BYTES + 64];
	struct stat st;

	(void)state;
	put_text("sub/.git/config", "");
	add_header(&evil, 2, 1);
	add_entry(&evil, 2, 20, 0160000, "sub");
	add_zeros(&evil, 20);
	add_header(&split, 2, 0);
	add_link(&split, 0x11);
	add_zeros(&split, 20);
	put(".git/index", split.data, split.len);
	(void)usleep(20000);
	put(one, evil.data, evil.len);
	(void)snprintf(path, sizeof(path), "%s/%s", work, one);
	assert_int_equal(stat(path, &st), 0);
	since = st.st_ctim;
	assert_int_equal(profile_git_links(work, work, &since, note, &found), 0);
	assert_string_equal(buffer_text(&found), "sub/.git\n");
}

/* What git reads in another way than it seems. */
static void test_links_confused(void **state)
{
	auto_buffer longer = { 0 }, extended = { 0 }, end = { 0 }, blocks = { 0 };
	size_t at;

	(void)state;
	/* Git goes by the length, not by the end of the name. */
	add_header(&longer, 2, 1);
	add_entry_len(&longer, 2, 20, 0100644, "a", 40);
	add_zeros(&longer, 60);
	put(".git/index", longer.data, longer.len);
	check_links(".git/index\n");
	/* Version 2 has no more flags. */
	add_header(&extended, 2, 1);
	add_entry_len(&extended, 2, 20, 0100644, "a", 0x4001);
	add_zeros(&extended, 20);
	put(".git/index", extended.data, extended.len);
	check_links(".git/index\n");
	/* Extensions that begin elsewhere, and where they do begin. */
	for (size_t i = 0; i < 2; i++) {
		buffer_clear(&end);
		add_header(&end, 2, 1);
		add_entry(&end, 2, 20, 0100644, "a");
		at = end.len;
		buffer_adds(&end, "EOIE");
		add_number(&end, 24);
		add_number(&end, (uint32_t)(i ? at : at - 8));
		add_zeros(&end, 20 + 20);
		put(".git/index", end.data, end.len);
		check_links(i ? "" : ".git/index\n");
	}
	/* The same of blocks of entries. */
	for (size_t i = 0; i < 2; i++) {
		buffer_clear(&blocks);
		add_header(&blocks, 2, 2);
		add_entry(&blocks, 2, 20, 0100644, "a");
		at = blocks.len;
		add_entry(&blocks, 2, 20, 0100644, "b");
		buffer_adds(&blocks, "IEOT");
		add_number(&blocks, 4 + 2 * 8);
		add_number(&blocks, 1);
		add_number(&blocks, 12);
		add_number(&blocks, 1);
		add_number(&blocks, (uint32_t)(i ? at : at + 8));
		add_number(&blocks, 1);
		add_zeros(&blocks, 20);
		put(".git/index", blocks.data, blocks.len);
		check_links(i ? "" : ".git/index\n");
	}
}

/* From what happens to what is reported. */
/* A sparse index has one entry for a folder: what is in it, and a submodule too, is in a tree. */
static void test_links_sparse(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	put_text(".git/config", "");
	add_header(&b, 3, 2);
	add_entry(&b, 3, 20, 0100644, "a");
	add_entry(&b, 3, 20, 0040000, "vendor/");
	add_zeros(&b, 20);
	put(".git/index", b.data, b.len);
	check_links("");
	put_text("vendor/evil/.git/config", "");
	check_links("vendor\n");
}

/* More than was read once: what stands at its end is found all the same. */
static void test_links_large(void **state)
{
	enum { FILES = 900000 };
	auto_buffer b = { 0 };
	char name[32];

	(void)state;
	put_text(".git/config", "");
	put_text("sub/.git/config", "");
	add_header(&b, 2, FILES + 1);
	for (unsigned i = 0; i < FILES; i++) {
		(void)snprintf(name, sizeof(name), "a/folder/file%07u.c", i);
		add_entry(&b, 2, 20, 0100644, name);
	}
	assert_true(b.len > 64 << 20);
	add_entry(&b, 2, 20, 0160000, "sub");
	add_zeros(&b, 20);
	put(".git/index", b.data, b.len);
	check_links("sub/.git\n");
	/* Not as many entries as it says. */
	put(".git/index", b.data, b.len - 100);
	check_links(".git/index\n");
}

/* While it is read, it gets shorter and longer: no signal, and whatever is found is an answer. */
static void test_links_shrinking(void **state)
{
	char path[PATH_BYTES + 16];
	auto_buffer b = { 0 };
	pid_t child;

	(void)state;
	put_text(".git/config", "");
	add_header(&b, 2, 20001);
	for (unsigned i = 0; i < 20000; i++)
		add_entry(&b, 2, 20, 0100644, "some/folder/with/a/file.c");
	add_entry(&b, 2, 20, 0160000, "sub");
	add_zeros(&b, 20);
	put(".git/index", b.data, b.len);
	(void)snprintf(path, sizeof(path), "%s/.git/index", work);
	child = fork();
	assert_true(child >= 0);
	for (unsigned i = 0; child == 0; i++) {
		if (truncate(path, i % 2 ? (off_t)b.len : 4096) < 0)
			_exit(1);
	}
	for (unsigned i = 0; i < 200; i++) {
		struct timespec since = { 0 };
		auto_buffer found = { 0 };

		assert_int_equal(profile_git_links(work, work, &since, note, &found), 0);
		assert_true(found.len == 0 || strcmp(buffer_text(&found), ".git/index\n") == 0);
	}
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void test_news(void **state)
{
	const struct runs_later_news *news;
	auto_permissions *p = permissions_new();
	struct runs_later d;
	bool denied = false;

	(void)state;
	put_text(".git/config", "[core]\nhooksPath = .githooks\n");
	put_text(".githooks/pre-commit", "");
	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->fs_write, "/x/**", NULL), 0);
	assert_int_equal(runs_later_open(&d, work), 0);
	assert_int_equal(runs_later_deny(&d, p), 0);
	assert_int_equal(p->n_rules, 1);
	for (size_t i = 0; i < p->rules[0].patterns.n; i++)
		denied = denied || strstr(p->rules[0].patterns.items[i].all[0], "/.githooks/**");
	assert_true(denied);
	assert_int_equal(runs_later_check(&d, &news), 0);
	put_text(".git/commondir", "../c\n");
	put_text("sub/.git/config", "");
	put_index(2, 20, "sub");
	assert_int_equal(runs_later_check(&d, &news), 2);
	assert_string_equal(news[0].path, ".git/commondir");
	assert_true(news[0].is_new);
	assert_string_equal(news[1].path, "sub/.git");
	runs_later_close(&d);
}

/* .git as a file, as in a worktree: there at the start, or made. */
static void test_news_file(void **state)
{
	const struct runs_later_news *news;
	auto_permissions *p = permissions_new();
	struct runs_later d;

	(void)state;
	assert_int_equal(runs_later_open(&d, work), 0);
	put_text(".git", "gitdir: x\n");
	assert_int_equal(runs_later_check(&d, &news), 1);
	assert_string_equal(news[0].path, ".git");
	runs_later_close(&d);
	assert_non_null(p);
	assert_int_equal(permissions_add(p, &p->fs_write, "/x/**", NULL), 0);
	assert_int_equal(runs_later_open(&d, work), 0);
	assert_int_equal(runs_later_deny(&d, p), 0);
	assert_int_equal(p->n_rules, 1);
	assert_int_equal(p->rules[0].patterns.n, 1);
	runs_later_close(&d);
}

/* A folder that is kept, and a second name of a file in it that is not. */
static void test_news_link(void **state)
{
	const struct runs_later_news *news;
	char from[PATH_BYTES + 32], to[PATH_BYTES + 32];
	struct runs_later d;

	(void)state;
	put_text(".vscode/sub/tasks.json", "{}");
	(void)snprintf(from, sizeof(from), "%s/.vscode/sub/tasks.json", work);
	(void)snprintf(to, sizeof(to), "%s/other", work);
	assert_int_equal(link(from, to), 0);
	assert_int_equal(runs_later_open(&d, work), 0);
	assert_int_equal(runs_later_check(&d, &news), 0);
	assert_int_equal(truncate(to, 1), 0);
	/* The folder, and the other name, which was found. */
	assert_int_equal(runs_later_check(&d, &news), 2);
	assert_string_equal(news[0].path, ".vscode");
	assert_string_equal(news[1].path, "other");
	assert_false(news[0].is_new || news[1].is_new);
	runs_later_close(&d);
}

/* The last one counts, also of what is included; what would be two lines does not. */
static void test_identity(void **state)
{
	struct profile_identity who;

	(void)state;
	assert_int_equal(profile_git_identity(work, &who), 0);
	assert_string_equal(who.name, "");
	put_text(".config/git/config", "[user]\n name = First\n email = first@example.org\n");
	put_text("more", "[User]\n\tName = \"Of Include\"\n");
	put_text("other", "[user]\n\tname = Of Condition\n");
	put_text(".gitconfig",
		"[include]\n path = more\n[includeIf \"gitdir:~/x/\"]\n path = other\n"
		"[user]\n email = \"a\\nb\"\n[core]\n name = x\n");
	assert_int_equal(profile_git_identity(work, &who), 0);
	assert_string_equal(who.name, "Of Include");
	assert_string_equal(who.email, "first@example.org");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_programs, begin),
		cmocka_unit_test_setup(test_environment, begin),
		cmocka_unit_test_setup(test_worktrees, begin),
		cmocka_unit_test_setup(test_none, begin),
		cmocka_unit_test_setup(test_file, begin),
		cmocka_unit_test_setup(test_common, begin),
		cmocka_unit_test_setup(test_settings, begin),
		cmocka_unit_test_setup(test_user, begin),
		cmocka_unit_test_setup(test_identity, begin),
		cmocka_unit_test_setup(test_bare, begin),
		cmocka_unit_test_setup(test_bounds, begin),
		cmocka_unit_test_setup(test_large, begin),
		cmocka_unit_test_setup(test_pipe, begin),
		cmocka_unit_test_setup(test_links, begin),
		cmocka_unit_test_setup(test_links_split, begin),
		cmocka_unit_test_setup(test_links_shared, begin),
		cmocka_unit_test_setup(test_links_confused, begin),
		cmocka_unit_test_setup(test_links_sparse, begin),
		cmocka_unit_test_setup(test_links_large, begin),
		cmocka_unit_test_setup(test_links_shrinking, begin),
		cmocka_unit_test_setup(test_news, begin),
		cmocka_unit_test_setup(test_news_file, begin),
		cmocka_unit_test_setup(test_news_link, begin),
	};

	return cmocka_run_group_tests_name("profile-git", tests, NULL, tear_down);
}
