/* SPDX-License-Identifier: Apache-2.0 */
/* Which format it is, and the formats of skills. The others have files of their own. */
#include "base/array.h"
#include "policy/format/test/test-manifest.h"

static void test_kinds(void **state)
{
	enum manifest_kind kind = MANIFEST_UNKNOWN;

	(void)state;
	for (int k = MANIFEST_PERMISSIONS; k <= MANIFEST_ENCLAVE; k++) {
		assert_int_equal(
			manifest_kind_parse(manifest_kind_name((enum manifest_kind)k), &kind), 0);
		assert_int_equal(kind, k);
	}
	assert_string_equal(manifest_kind_name(MANIFEST_UNKNOWN), "unknown");
	assert_int_equal(manifest_kind_parse("unknown", &kind), -EINVAL);
	assert_int_equal(manifest_kind_parse("SKILL", &kind), -EINVAL);
}

static void test_detection(void **state)
{
	static const struct {
		const char *file, *text;
		enum manifest_kind kind;
	} rows[] = {
		/* By name */
		{ "a/SKILL.md", "---\nname: x\n---\n", MANIFEST_SKILL_MD },
		{ "skill.MD", "---\n{}\n---\n", MANIFEST_SKILL_MD },
		{ "skill.yaml", "{}", MANIFEST_SKILL },
		{ "/skills/x/Skill.yml", "author: me", MANIFEST_SKILL },
		/* By keys */
		{ NULL, "{}", MANIFEST_PERMISSIONS },
		{ "x.yaml", "fs: {}", MANIFEST_PERMISSIONS },
		{ "x.yaml", "mode: audit\ndefault: allow", MANIFEST_PERMISSIONS },
		{ "x.yaml", "permissions: {}", MANIFEST_PERMISSIONS },
		{ "x.yaml", "permissions: {}\nname: x", MANIFEST_SKILL },
		{ "x.yaml", "name: x", MANIFEST_SKILL },
		{ "x.json", "{\"name\": \"x\", \"permissions\": {}}", MANIFEST_SKILL },
		{ "manifest.yaml", "name: x\nwasm: {}", MANIFEST_NANOCRAB },
		{ "manifest.yaml", "capabilities: {}", MANIFEST_NANOCRAB },
		{ "manifest.yaml", "name: x\npermissions: {}", MANIFEST_SKILL },
		{ "x.json", "{\"defaultAction\": \"deny\"}", MANIFEST_RULES },
		{ "x.json", "{\"version\": \"1\", \"rules\": []}", MANIFEST_RULES },
		{ "x.yaml", "fsConstraints: {}", MANIFEST_RULES },
		{ "x.yaml", "networkConstraints: {}\nmode: audit", MANIFEST_RULES },
		{ "x.yaml", "rules: [{id: a, type: denylist, operations: [exec], patterns: []}]",
			MANIFEST_RULES },
		{ "x.yaml", "rules: [{id: a, action: deny, target: command, patterns: []}]",
			MANIFEST_RULES },
		{ "x.yaml", "rules: [{id: a, action: deny, operations: [file_read], patterns: []}]",
			MANIFEST_RULES },
		{ "x.yaml", "rules: [{id: a, action: deny, operations: [exec], patterns: [x]}]",
			MANIFEST_PERMISSIONS },
		{ "x.yaml", "rules: []", MANIFEST_PERMISSIONS },
		{ "x.json", "{\"allowed_roots\": []}", MANIFEST_ENCLAVE },
		{ "x.yaml", "allowed_hosts: []\nsession_id: x", MANIFEST_ENCLAVE },
		{ "x.yaml", "allowed_commands: []", MANIFEST_ENCLAVE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_manifest m = { 0 };
		struct error e = { 0 };
		int r = manifest_read(
			&m, MANIFEST_UNKNOWN, rows[i].file, rows[i].text, strlen(rows[i].text), &e);

		if (r < 0 || m.kind != rows[i].kind)
			fail_msg("<%s>: %d, %s: %s", rows[i].text, r, manifest_kind_name(m.kind),
				e.text);
		assert_true(same_text(m.permissions->origin, rows[i].file));
	}
}

static void test_undetected(void **state)
{
	static const char hint[] = "expected permissions (fs, network, exec …), a skill";
	static const char project[] = "this is the file of a project, not a policy";
	static const char show[] = "`corral project show` in its folder shows what it grants";
	static const struct refusal by_name[] = {
		{ "version: 1\n", 1, 1, project, show },
		{ "version: 1\nrules: []\n", 1, 1, project, show },
		{ "with: [npm]\n", 1, 1, project, show },
	};
	static const struct refusal rows[] = {
		{ "", 1, 1, "unknown policy format", hint },
		{ "# nothing\n", 1, 1, "unknown policy format", hint },
		{ "text", 1, 1, "unknown policy format", hint },
		{ "[fs]", 1, 1, "unknown policy format", hint },
		{ "foo: 1\nbar: 2\n", 1, 1, "unknown policy format", hint },
		{ "version: 1\npreset: workspace\nfs: {}\n", 1, 1, project, show },
		{ "commands: {test: make}\n", 1, 1, project, show },
		/* Something beside permissions would be lost on us. */
		{ "network: {}\nfilesystem: {}\n", 2, 1, "unknown key `filesystem`",
			"valid keys: fs" },
		{ "netwrok: {}\nfs: {}\n", 1, 1, "did you mean `network`?", NULL },
		{ "name: x\nfs: {}\n", 1, 1, "unknown key `name`",
			"in a skill, put the grants below `permissions:`" },
		/* Two formats */
		{ "permissions: {}\ncapabilities: {}\n", 2, 15,
			"`capabilities`: cannot be used with `permissions`", NULL },
		{ "defaultAction: deny\nallowed_roots: []\n", 2, 16,
			"`allowed_roots`: cannot be used with `defaultAction`", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_UNKNOWN, "x.yaml", &rows[i]);
	for (size_t i = 0; i < ROWS(by_name); i++)
		check_refused(MANIFEST_UNKNOWN, "a/corral.yaml", &by_name[i]);
}

static void test_bad_languages(void **state)
{
	static const struct {
		const char *file, *text;
	} rows[] = {
		{ "x.yaml", "fs: [" },
		{ "x.json", "fs: {}" },
		{ "x.json", "{\"fs\": {},}" },
		{ "SKILL.md", "---\nname: x\n" },
	};
	struct manifest m;
	struct error e;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, rows[i].file, rows[i].text,
					 strlen(rows[i].text), &e),
			-EINVAL);
		assert_true(e.text[0] && e.line);
		assert_null(m.permissions);
	}
}

static void read_sample(struct manifest *m, const char *sample, const char *file)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };

	load_sample(sample, &text);
	if (manifest_read(m, MANIFEST_UNKNOWN, file, buffer_text(&text), text.len, &e) < 0)
		fail_msg("%s:%u:%u: %s", sample, e.line, e.column, e.text);
	check_round_trip(m->permissions);
	if (m->body)
		assert_true(m->body <= text.len);
}

static void test_skill_yaml(void **state)
{
	auto_manifest m = { 0 };

	(void)state;
	read_sample(&m, "skill.yaml", "skill.yaml");
	assert_string_equal(m.name, "shopping-list");
	assert_string_equal(m.version, "1.2.0");
	assert_string_equal(m.description, "Keeps a shopping list in Reminders");
	assert_string_equal(m.author, "A. Shopper");
	assert_string_equal(m.entry, "run.sh");
	assert_string_equal(m.runtime, "bash");
	assert_string_equal(
		node_text(node_get(m.extra, "homepage")), "https://example.com/shopping-list");
	assert_int_equal(m.extra->count, 1);
	assert_int_equal(m.permissions->fs_read.n, 2);
	assert_int_equal(m.permissions->n_services, 5);
}

static void test_skill_md(void **state)
{
	auto_manifest m = { 0 };

	(void)state;
	read_sample(&m, "web-fetch.SKILL.md", "SKILL.md");
	assert_int_equal(m.kind, MANIFEST_SKILL_MD);
	assert_int_equal(m.n_requires_bins, 1);
	assert_string_equal(m.requires_bins[0], "curl");
	assert_int_equal(m.n_requires_env, 0);
	assert_int_equal(m.permissions->exec.n, 2);
	assert_null(m.extra);
	assert_int_equal(m.body, 244);
}

/* What other agents read from the same file is a need, never a grant. */
static void test_openclaw(void **state)
{
	auto_manifest m = { 0 };

	(void)state;
	read_sample(&m, "openclaw.SKILL.md", "SKILL.md");
	assert_int_equal(m.n_requires_bins, 1);
	assert_string_equal(m.requires_bins[0], "gh");
	assert_int_equal(m.n_requires_env, 1);
	assert_string_equal(m.requires_env[0], "GH_TOKEN");
	assert_true(permissions_is_empty(m.permissions));
	assert_non_null(node_get(node_get(m.extra, "metadata"), "openclaw"));
	assert_non_null(node_get(m.extra, "allowed-tools"));
}

static void test_bom_and_crlf(void **state)
{
	auto_manifest m = { 0 };

	(void)state;
	read_sample(&m, "bom-crlf.SKILL.md", "SKILL.md");
	assert_string_equal(m.name, "bom-and-crlf");
	assert_int_equal(m.n_requires_bins, 2);
	assert_string_equal(m.requires_bins[1], "ffprobe");
	assert_string_equal(m.requires_env[0], "MEDIA_KEY");
	assert_int_equal(m.permissions->fs_read.n, 1);
}

/* The many shapes of metadata; the names that are needed, in order. */
static void test_metadata(void **state)
{
	static const struct {
		const char *text, *bins;
	} rows[] = {
		{ "metadata: {openclaw: {requires: {bins: [a, b, a]}}}", "a b " },
		{ "metadata: {moltbot: {requires: {bins: [a]}}, clawdis: {requires: {bins: [b]}}}",
			"a b " },
		{ "requires: {bins: [b], tools: [x]}\nmetadata: {clawdbot: {requires: {bins: "
		  "[a]}}}",
			"b a " },
		{ "metadata: \"{clawdbot: {requires: {bins: [a]}}}\"", "a " },
		{ "metadata: '{\"openclaw\": {\"requires\": {\"bins\": [\"a\",],},},}'", "a " },
		/* Not ours, and no error. */
		{ "metadata: {author: me, version: \"1.0\"}", "" },
		{ "metadata: some text", "" },
		{ "metadata: \"{not: [closed\"", "" },
		{ "metadata: 7", "" },
		{ "metadata: null", "" },
		{ "metadata: [a, b]", "" },
		{ "metadata: {openclaw: text}", "" },
		{ "metadata: {openclaw: {requires: [a]}}", "" },
		{ "metadata: {openclaw: {requires: {bins: a}}}", "" },
		{ "metadata: {openclaw: {requires: {anyBins: [a]}}}", "" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_manifest m = { 0 };
		auto_buffer bins = { 0 };
		struct error e = { 0 };

		if (manifest_read(&m, MANIFEST_SKILL, "skill.yaml", rows[i].text,
			    strlen(rows[i].text), &e) < 0)
			fail_msg("<%s>: %s", rows[i].text, e.text);
		for (size_t k = 0; k < m.n_requires_bins; k++)
			buffer_printf(&bins, "%s ", m.requires_bins[k]);
		assert_string_equal(buffer_text(&bins), rows[i].bins);
		assert_non_null(node_get(m.extra, "metadata"));
		assert_true(permissions_is_empty(m.permissions));
	}
}

static void test_fields(void **state)
{
	static const char text[] = "name: x\nversion: 1.0\ndescription:\nauthor: {name: me}\n"
				   "license: MIT\nenv: [not, ours]\n";
	auto_manifest m = { 0 };

	(void)state;
	assert_int_equal(
		manifest_read(&m, MANIFEST_SKILL, "skill.yaml", text, strlen(text), NULL), 0);
	assert_string_equal(m.version, "1.0");
	assert_null(m.description);
	assert_null(m.author);
	assert_non_null(node_get(m.extra, "author"));
	assert_non_null(node_get(m.extra, "license"));
	assert_non_null(node_get(m.extra, "env"));
	assert_int_equal(m.permissions->env.n, 0);
}

static void test_skill_refusals(void **state)
{
	static const struct refusal rows[] = {
		{ "name: []", 1, 7, "`name` must be text, not a list", NULL },
		{ "entry: {}", 1, 8, "`entry` must be text, not a map", NULL },
		{ "text", 1, 1, "the document must be a map, not text", NULL },
		{ "name: x\npermision: {}", 2, 1, "did you mean `permissions`?", NULL },
		{ "name: x\nnetwork: {allow: []}", 2, 10,
			"`network`: is outside of `permissions` and would be ignored",
			"indent it" },
		{ "permissions: {}\nlimits: {}", 2, 9, "`limits`: is outside", "indent it" },
		{ "permissions: {fs: {raed: []}}", 1, 20, "did you mean `permissions.fs.read`?",
			NULL },
		{ "requires: [curl]", 1, 11, "`requires` must be a map, not a list", NULL },
		{ "requires: {bins: curl}", 1, 18, "`requires.bins` must be a list", "write" },
		{ "requires: {env: [[]]}", 1, 18, "`requires.env` must be text", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_SKILL, "skill.yaml", &rows[i]);
}

static void test_too_many_needs(void **state)
{
	auto_buffer text = { 0 };
	struct refusal row = { .line = 1, .column = 2321, .says = "more than 256 names" };

	(void)state;
	buffer_adds(&text, "requires: {bins: [");
	for (int i = 0; i < 300; i++)
		buffer_printf(&text, "p%06d, ", i);
	buffer_adds(&text, "]}");
	row.text = buffer_text(&text);
	row.column = 1 + 18 + 256 * 9;
	check_refused(MANIFEST_SKILL, "skill.yaml", &row);
}

static void test_skill_md_refusals(void **state)
{
	static const struct refusal rows[] = {
		{ "# No frontmatter\n", 1, 1, "no frontmatter was found", "start the file with" },
		{ "---\nname: x\npermissions:\n  network: {alow: []}\n---\nBody\n", 4, 13,
			"unknown key `permissions.network.alow`", NULL },
		{ "---\n---\n", 2, 1, "the document must be a map, not nothing", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_UNKNOWN, "SKILL.md", &rows[i]);
}

/* Reads the example that starts at `text`, and returns where the page goes on. */
static const char *check_example(const char *text, const char *file)
{
	const char *end = strstr(text, "```\n");
	struct error e = { 0 };
	auto_manifest m = { 0 };

	assert_non_null(end);
	if (manifest_read(&m, MANIFEST_UNKNOWN, file, text, (size_t)(end - text), &e) < 0)
		fail_msg("%.*s: %u:%u: %s", (int)(end - text), text, e.line, e.column, e.text);
	check_round_trip(m.permissions);
	return end + 3;
}

/* Every example of the documentation is read. */
static void test_documentation(void **state)
{
	static const char *const pages[] = { "permissions.md", "formats.md" };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(pages); i++) {
		auto_buffer page = { 0 };
		char path[4096];

		(void)snprintf(path, sizeof(path), "%s/%s", getenv("CORRAL_TEST_DOCS"), pages[i]);
		assert_int_equal(file_read(path, 1 << 20, &page), 0);
		for (const char *at = buffer_text(&page); (at = strstr(at, "```")); n++) {
			if (strncmp(at, "```json\n", 8) == 0)
				at = check_example(at + 8, "x.json");
			else if (strncmp(at, "```yaml\n", 8) == 0)
				at = check_example(at + 8, "x.yaml");
			else
				fail_msg("%s: an example in no language: %.40s", pages[i], at);
		}
	}
	assert_true(n > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_detection),
		cmocka_unit_test(test_undetected),
		cmocka_unit_test(test_bad_languages),
		cmocka_unit_test(test_skill_yaml),
		cmocka_unit_test(test_skill_md),
		cmocka_unit_test(test_openclaw),
		cmocka_unit_test(test_bom_and_crlf),
		cmocka_unit_test(test_metadata),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_skill_refusals),
		cmocka_unit_test(test_too_many_needs),
		cmocka_unit_test(test_skill_md_refusals),
		cmocka_unit_test(test_documentation),
	};

	return cmocka_run_group_tests_name("manifest", tests, NULL, NULL);
}
