/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is shown of files with credentials, and which are refused as a whole. Each row is one that a
 * program wrote, or one that was made so that a secret stays in it.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "mask/mask.h"
#include "policy/baseline.h"

#define TOKEN "gho_0123456789abcdefghijklmnopqrstuvwxyz"
#define OTHER "gho_zyxwvutsrqponmlkjihgfedcba9876543210"
/* "me:" TOKEN, and TOKEN. */
#define PAIR "bWU6Z2hvXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg=="
#define BASE64 "Z2hvXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9wcXJzdHV2d3h5eg=="

/* "A" for TOKEN, "B" for all others. */
static int stand_in(void *data, const struct mask_secret *s, struct buffer *out)
{
	(void)data;
	buffer_adds(out, strcmp(s->value, TOKEN) == 0 ? "stands-A" : "stands-B");
	return 0;
}

struct row {
	const char *file, *text;
	const char *shown; /* NULL: refused */
};

static void check(const struct row *row)
{
	const struct mask_file *file = mask_file_find(row->file, strlen(row->file));
	auto_buffer out = { 0 };
	struct error e = { 0 };
	auto_mask m = { 0 };
	int r;

	assert_non_null(file);
	r = mask_read(&m, file, row->text, strlen(row->text), &e);
	if (r == 0)
		r = mask_print(&m, stand_in, NULL, &out, &e);
	if (!row->shown) {
		if (r == 0)
			fail_msg("%s: shown as\n%s", row->text, buffer_text(&out));
		assert_int_equal(r, -EINVAL);
		assert_true(e.text[0] != '\0');
		assert_null(strstr(e.text, TOKEN));
		assert_null(strstr(e.hint, TOKEN));
		assert_int_equal(out.len, 0);
		return;
	}
	if (r < 0)
		fail_msg("%s: %s", row->text, e.text);
	assert_string_equal(buffer_text(&out), row->shown);
}

static void test_files(void **state)
{
	static const struct row rows[] = {
		{ "gh",
			"github.com:\n    users:\n        me:\n            oauth_token: " TOKEN
			"\n    git_protocol: https\n    oauth_token: " TOKEN "\n    user: me\n",
			"github.com:\n  users:\n    me:\n      oauth_token: stands-A\n  "
			"git_protocol: https\n  oauth_token: stands-A\n  user: me\n" },
		/* The token is in a keyring. */
		{ "gh", "github.com:\n  users:\n    me:\n  user: me\n",
			"github.com:\n  users:\n    me: {}\n  user: me\n" },
		{ "gh",
			"# was " OTHER "\n\"github.com\": {oauth_token: '" TOKEN "', extra: " OTHER
			"} # " OTHER "\n",
			"github.com:\n  oauth_token: stands-A\n" },
		{ "gh", "github.com:\n  oauth_token: >-\n    " TOKEN "\n  user: |-\n    me\n",
			"github.com:\n  oauth_token: stands-A\n  user: me\n" },
		{ "gh",
			"github.com: &a\n  oauth_token: &t " TOKEN
			"\nghe.example: {oauth_token: *t}\n",
			"github.com:\n  oauth_token: stands-A\nghe.example:\n  oauth_token: "
			"stands-A\n" },
		{ "gh", "github.com:\r\n  oauth_token: " TOKEN "\r\n",
			"github.com:\n  oauth_token: stands-A\n" },
		{ "netrc",
			"# old: password " OTHER "\nmachine api.github.com login me password " TOKEN
			"\nmachine b.example\n\tlogin you\n\tpassword " OTHER "\ndefault login x "
			"password y@z.org!\n",
			"machine api.github.com\n  login me\n  password stands-A\nmachine "
			"b.example\n  login you\n  password stands-B\ndefault\n  login x\n  "
			"password stands-B\n" },
		{ "npm",
			"; " OTHER "\n//registry.npmjs.org/:_authToken=" TOKEN
			"\n@me:registry=https://npm.example/\nsave-exact = true\nunknown=" OTHER
			"\n//n.example/:_auth=\"" PAIR "\"\n//p.example/:_password=" BASE64
			"\n//v.example/:_authToken=${NPM_TOKEN}\n",
			"//registry.npmjs.org/:_authToken=stands-A\n@me:registry=https://"
			"npm.example/\nsave-exact=true\n//n.example/"
			":_auth=bWU6c3RhbmRzLUE=\n//p.example/"
			":_password=c3RhbmRzLUE=\n//v.example/:_authToken=${NPM_TOKEN}\n" },
		/* Long names in paths are none. */
		{ "npm",
			"registry=https://d-111122223333.d.codeartifact.eu-west-1.amazonaws.com/"
			"npm/"
			"my-repo/\n@a:registry=https://gitlab.example/api/v4/projects/"
			"1234567890123456/packages/npm/\n//r.example/:_authToken=" TOKEN "\n",
			"registry=https://d-111122223333.d.codeartifact.eu-west-1.amazonaws.com/"
			"npm/"
			"my-repo/\n@a:registry=https://gitlab.example/api/v4/projects/"
			"1234567890123456/packages/npm/\n//r.example/:_authToken=stands-A\n" },
		{ "docker",
			"{\"auths\":{\"https://index.docker.io/v1/\":{\"auth\":\"" PAIR
			"\",\"identitytoken\":\"" OTHER
			"\"},\"ghcr.io\":{}},\"credsStore\":\"desktop\",\"HttpHeaders\":{\"X\":"
			"\"" OTHER "\"}}",
			"{\n  \"auths\": {\n    \"https://index.docker.io/v1/\": {\n      "
			"\"auth\": \"bWU6c3RhbmRzLUE=\",\n      \"identitytoken\": "
			"\"stands-B\"\n    },\n    \"ghcr.io\": {}\n  }\n}\n" },
		/* "gho_…" by escapes, and a name so. */
		{ "docker",
			"{\"auths\":{\"ghcr.io\":{\"p\\u0061ssword\":\"\\u0067ho_"
			"0123456789abcdefghijklmnopqrstuvwxyz\"}}}",
			"{\n  \"auths\": {\n    \"ghcr.io\": {\n      \"password\": "
			"\"stands-A\"\n    }\n  }\n}\n" },
		/* A token of Azure has a user beside it, and a key file of Google is a password. */
		{ "docker",
			"{\"auths\":{\"x.azurecr.io\":{\"auth\":\"MDAwMDo=\","
			"\"identitytoken\":\"" TOKEN "\"},\"gcr.io\":{\"auth\":"
			"\"X2pzb25fa2V5OnsKICJwcml2YXRlX2tleSI6ICJ4IHkifQo=\"}}}",
			"{\n  \"auths\": {\n    \"x.azurecr.io\": {\n      \"auth\": "
			"\"MDAwMDo=\",\n      \"identitytoken\": \"stands-A\"\n    },\n    "
			"\"gcr.io\": {\n      \"auth\": \"X2pzb25fa2V5OnN0YW5kcy1C\"\n    }\n  "
			"}\n}\n" },
		{ "aws",
			"# " OTHER "\n[default]\naws_access_key_id = AKIAIOSFODNN7EXAMPLE\n"
			"aws_secret_access_key=" TOKEN "\nRegion = eu-west-1\ncustom = " OTHER
			"\n\n[prod]\naws_session_token: " OTHER "\n",
			"[default]\naws_access_key_id = stands-B\naws_secret_access_key = "
			"stands-A\nregion = eu-west-1\n[prod]\naws_session_token = stands-B\n" },
		/* `aws configure --profile "my own"`. */
		{ "aws", "[my own]\naws_secret_access_key = " TOKEN "\n",
			"[my own]\naws_secret_access_key = stands-A\n" },
		{ "gcloud",
			"{\"client_id\":\"764086051850-6qr4p6gpi6hn506pt8ejuq83di341hur.apps."
			"googleusercontent.com\",\"client_secret\":\"" OTHER
			"\",\"refresh_token\":\"" TOKEN "\",\"type\":\"authorized_user\"}",
			"{\n  \"client_id\": "
			"\"764086051850-6qr4p6gpi6hn506pt8ejuq83di341hur.apps."
			"googleusercontent.com\",\n  \"client_secret\": \"stands-B\",\n  "
			"\"refresh_token\": \"stands-A\",\n  \"type\": \"authorized_user\"\n}\n" },
		{ "pypi",
			"[distutils]\nindex-servers =\n    pypi\n    testpypi\n\n[pypi]\nusername "
			"= "
			"__token__\npassword = " TOKEN "\n",
			"[distutils]\nindex-servers = pypi testpypi\n[pypi]\nusername = "
			"__token__\npassword = stands-A\n" },
		{ "git", "https://me:" TOKEN "@github.com\nhttps://you:a%3Ab%40c-d@ex.org/x\n",
			"https://me:stands-A@github.com\nhttps://you:stands-B@ex.org/x\n" },
		{ "cargo",
			"[registry]\ntoken = \"" TOKEN "\" # " OTHER
			"\n[registries.\"my-own\"]\ntoken = 'Bearer " OTHER "'\n",
			"[\"registry\"]\n\"token\" = \"stands-A\"\n[\"registries\"]\n["
			"\"registries\".\"my-own\"]\n\"token\" = \"stands-B\"\n" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check(&rows[i]);
}

static void test_refused(void **state)
{
	static const struct row rows[] = {
		{ "gh", "", NULL },
		{ "gh", "\xef\xbb\xbfgithub.com:\n  oauth_token: " TOKEN "\n", NULL },
		{ "gh", "github.com:\n  oauth_token: " TOKEN "\n  user: " OTHER "\n", NULL },
		/* The same value as a name. */
		{ "gh", "github.com:\n  oauth_token: short\n  user: short\n", NULL },
		{ "gh", "github.com:\n  oauth_token: c2hvcnQ\n  user: c2hvcnQ\n", NULL },
		{ "gh", "short:\n  oauth_token: c2hvcnQ=\nc2hvcnQ:\n  oauth_token: short\n", NULL },
		{ "gh", TOKEN ":\n  oauth_token: " OTHER "\n", NULL },
		{ "gh", "github.com:\n  users:\n    " TOKEN ":\n", NULL },
		{ "gh", "0123456789abcdef0123456789abcdef01234567:\n  user: x\n", NULL },
		{ "gh", "github.com:\n  oauth_token: [" TOKEN "]\n", NULL },
		{ "gh", "github.com: " TOKEN "\n", NULL },
		{ "gh", "github.com:\n  oauth_token: " TOKEN "\n---\nb: {}\n", NULL },
		{ "gh", "github.com:\n  oauth_token: a\n  oauth_token: " TOKEN "\n", NULL },
		{ "gh", "github.com:\n  oauth_token: \"" TOKEN "\\n\\tx\"\n", NULL },
		{ "gh", "github.com:\n  oauth_token: " TOKEN "\rx\n", NULL },
		{ "gh", "github.com:\n  oauth_token: \xff" TOKEN "\n", NULL },
		{ "gh", "<<: {}\ngithub.com:\n  oauth_token: " TOKEN "\n", NULL },
		{ "netrc", "machine a.org login me password " TOKEN " macdef init\nls\n\n", NULL },
		{ "netrc", "macdef init\nput " TOKEN "\n\nmachine a.org login me\n", NULL },
		{ "netrc", "machine a.org login me password \"" TOKEN "\"\n", NULL },
		{ "netrc", "machine a.org login me password a\\ " TOKEN "\n", NULL },
		{ "netrc", "machine a.org login me # " TOKEN "\n", NULL },
		{ "netrc", "machine a.org login me password\n# " TOKEN "\n" OTHER "\n", NULL },
		{ "netrc", "machine a.org login me password\n", NULL },
		{ "netrc", "machine a.org login " TOKEN " password x\n", NULL },
		{ "netrc", "password " TOKEN "\n", NULL },
		{ "netrc", "machine a.org password " TOKEN " password " OTHER "\n", NULL },
		{ "netrc", "machine a.org\nmachine a.org password " TOKEN "\n", NULL },
		{ "netrc", "machine me:" OTHER "@a.org password " TOKEN "\n", NULL },
		{ "npm", "//a.org/:_authToken=${NPM_TOKEN}" TOKEN "\n", NULL },
		{ "npm", "//a.org/:_authToken=" TOKEN " ; " OTHER "\n", NULL },
		{ "npm", "//a.org/:_authToken='" TOKEN "'\n", NULL },
		{ "npm", "//me:hunter2@a.org/:_authToken=" TOKEN "\n", NULL },
		{ "npm", "registry=https://me:hunter2@a.org/\n", NULL },
		{ "npm", "registry=https://a.org/?token=" TOKEN "\n", NULL },
		/* Tokens in paths, as of MyGet and Cloudsmith. */
		{ "npm",
			"registry=https://www.myget.org/F/x/auth/"
			"01234567-89ab-cdef-0123-456789abcdef/npm/\n",
			NULL },
		{ "npm", "@a:registry=https://dl.cloudsmith.io/aB3dE5gH7jK9mN1p/me/own/npm/\n",
			NULL },
		{ "npm", "//dl.cloudsmith.io/aB3dE5gH7jK9mN1p/me/own/:email=me@a.org\n", NULL },
		{ "pypi", "[x]\nrepository = https://a.org/01234567-89AB-cdef-0123-456789abcdef\n",
			NULL },
		{ "npm", "[x]\n_authToken=" TOKEN "\n", NULL },
		{ "npm", "_auth=" BASE64 "\n", NULL },
		{ "npm", "_auth=" PAIR "x\n", NULL },
		{ "npm", "_authToken=" TOKEN "\\\n" OTHER "\n", NULL },
		{ "npm", "//" TOKEN "/:_authToken=" OTHER "\n", NULL },
		{ "docker", "{\"auths\":{\"a.org\":{\"auth\":\"" PAIR "\"}}", NULL },
		{ "docker", "{\"auths\":{\"a.org\":{\"auth\":\"" PAIR "\",\"auth\":\"" PAIR "\"}}}",
			NULL },
		{ "docker", "{\"auths\":{\"https://me:hunter2@a.org/\":{\"auth\":\"" PAIR "\"}}}",
			NULL },
		{ "docker", "{\"auths\":{\"a.org\":{\"username\":\"" TOKEN "\"}}}", NULL },
		{ "docker",
			"{\"auths\":{\"a.org\":{\"auth\":\"bWU6bWU=\"}, \"b\":{\"email\":\"me\"}}}",
			NULL },
		/* "gho_…:", and no password. */
		{ "docker",
			"{\"auths\":{\"a.org\":{\"auth\":\"Z2hvXzAxMjM0NTY3ODlhYmNkZWZnaGlqa2xtbm9"
			"wcXJzdHV2d3h5ejo=\"}}}",
			NULL },
		{ "docker", "{\"auths\":[\"" TOKEN "\"]}", NULL },
		{ "docker", "[\"" TOKEN "\"]", NULL },
		{ "aws", "[default]\naws_secret_access_key = " TOKEN "\n  " OTHER "\n", NULL },
		{ "aws", "aws_secret_access_key = " TOKEN "\n", NULL },
		{ "aws", "[default]\naws_secret_access_key = " TOKEN " # " OTHER "\n", NULL },
		{ "aws", "[default]\n[default]\naws_secret_access_key = " TOKEN "\n", NULL },
		{ "aws", "[default]\nregion = " TOKEN "\n", NULL },
		{ "aws", "[" TOKEN "]\nregion = x\n", NULL },
		{ "aws", "[my " TOKEN "]\nregion = x\n", NULL },
		{ "aws", "[default\naws_secret_access_key = " TOKEN "\n", NULL },
		{ "aws", "[a]\nA=x\na=" TOKEN "\n", NULL },
		{ "pypi", "[pypi]\npassword = %(other)s" TOKEN "\n", NULL },
		{ "pypi", "[pypi]\npassword =\n  " TOKEN "\n  x\n", NULL },
		{ "pypi", "[distutils]\nindex-servers =\n  " TOKEN "\n", NULL },
		{ "git", "https://" TOKEN ":x-oauth-basic@github.com\n", NULL },
		{ "git", "https://" TOKEN "@github.com\n", NULL },
		{ "git", "https://me:" TOKEN "@github.com\nx " OTHER "\n", NULL },
		{ "git", "https://me:" TOKEN "@" OTHER "@github.com\n", NULL },
		{ "git", "https://me:a%0a" TOKEN "@github.com\n", NULL },
		{ "git", "https://me:a%00" TOKEN "@github.com\n", NULL },
		{ "git", "https://me:a%zz" TOKEN "@github.com\n", NULL },
		{ "git", "https://me:" TOKEN "@github.com/?x=" OTHER "\n", NULL },
		{ "git", "https://me:github@github.com\n", NULL },
		{ "cargo", "[registry]\ntoken = \"" TOKEN "\n", NULL },
		{ "cargo", "[registry]\ntoken = [\"" TOKEN "\"]\n", NULL },
		{ "cargo", "registry = \"" TOKEN "\"\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check(&rows[i]);
}

static void test_bytes(void **state)
{
	static char text[MASK_FILE_MAX + 2];
	const struct mask_file *gh = mask_file_find("gh", 2);
	static const char nul[] = "github.com:\n  user: me\0" TOKEN "\n";
	struct error e = { 0 };
	auto_mask m = { 0 };

	(void)state;
	assert_int_equal(mask_read(&m, gh, nul, sizeof(nul) - 1, &e), -EINVAL);
	memset(text, '#', sizeof(text));
	memcpy(text, "a: {}\n", 6);
	assert_int_equal(mask_read(&m, gh, text, MASK_FILE_MAX + 1, &e), -EINVAL);
	assert_int_equal(mask_read(&m, gh, text, MASK_FILE_MAX, &e), 0);
	assert_null(mask_file_find("nothing", 7));
}

static void test_find(void **state)
{
	static const char text[] =
		"github.com:\n  users:\n    me: {oauth_token: " TOKEN "}\n  oauth_token: " TOKEN
		"\nghe.example:\n  oauth_token: " OTHER "\n";
	static const struct {
		const char *key, *value;
		int r;
	} rows[] = {
		{ "github.com", TOKEN, 0 },
		{ "ghe.example", OTHER, 0 },
		{ "ghe.example/oauth_token", OTHER, 0 },
		{ "", NULL, -EEXIST },
		{ "oauth_token", NULL, -EEXIST },
		{ "hub.com", NULL, -ENOENT },
		{ "github.co", NULL, -ENOENT },
	};
	struct error e = { 0 };
	auto_mask m = { 0 };

	(void)state;
	assert_int_equal(mask_read(&m, mask_file_find("gh", 2), text, sizeof(text) - 1, &e), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct mask_secret *s = NULL;

		assert_int_equal(mask_find(&m, rows[i].key, &s, &e), rows[i].r);
		assert_true(rows[i].r < 0 || strcmp(s->value, rows[i].value) == 0);
	}
}

/* Whoever is not lent the secret of a file does not see it. */
static void test_baseline(void **state)
{
	const struct baseline_home home = baseline_paths_home("/home/me");

	(void)state;
	for (size_t i = 0; i < mask_files_n; i++) {
		const struct baseline_path *entry;
		char path[256];

		(void)snprintf(path, sizeof(path), "/home/me/%s", mask_files[i].path);
		entry = baseline_paths_match(&home, false, path, strlen(path));
		assert_non_null(entry);
		assert_true(entry->secret);
	}
}

/* What stands for a secret must not be it, nor break the form. */
static int bad_stand_in(void *data, const struct mask_secret *s, struct buffer *out)
{
	const char *const *text = data;

	buffer_adds(out, *text ? *text : s->value);
	return 0;
}

static void test_stand_ins(void **state)
{
	static const char text[] = "machine a.org login me password " TOKEN "\n";
	static const char *const rows[] = { NULL, "", "a b", "a\nmachine b", ("x" TOKEN), "\"x\"" };
	struct error e = { 0 };
	auto_mask m = { 0 };

	(void)state;
	assert_int_equal(mask_read(&m, mask_file_find("netrc", 5), text, sizeof(text) - 1, &e), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };

		assert_int_equal(mask_print(&m, bad_stand_in, (void *)&rows[i], &out, &e), -EINVAL);
		assert_int_equal(out.len, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_stand_ins),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
