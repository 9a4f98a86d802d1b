/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/format/test/test-manifest.h"

#include "base/array.h"
#include "policy/policy.h"

/* One pattern in a rule with one operation, and the patterns it becomes. */
struct pattern_row {
	const char *operation, *action, *pattern;
	const char *spelt; /* separated by " | "; NULL: refused */
	const char *says;
};

static const struct pattern_row pattern_rows[] = {
	/* Files */
	{ "file_read", "allow", "/srv/a", "/srv/a", NULL },
	{ "file_read", "allow", "/srv/a/", "/srv/a/**", NULL },
	{ "file_write", "allow", "~/x/*.txt", "$HOME/x/*.txt", NULL },
	{ "file_read", "allow", "$WORKSPACE/**", "$WORK_DIR/**", NULL },
	{ "file_read", "allow", "$WORKSPACE", "$WORK_DIR", NULL },
	{ "file_read", "allow", "$WORKSPACES", NULL, "unknown variable" },
	{ "file_read", "allow", "**/.env", "/**/.env", NULL },
	{ "file_read", "allow", "*", "", NULL },
	{ "file_read", "allow", "**", "/**", NULL },
	{ "file_list", "allow", "/srv/a", "", NULL },
	{ "file_read", "allow", "*.pem", NULL, "does not start with /, ~/, **/ or a variable" },
	{ "file_read", "allow", "/srv/{a,b}[c]", "/srv/\\{a,b\\}\\[c\\]", NULL },
	{ "file_read", "deny", "*.pem", "/**/*.pem", NULL },
	{ "file_read", "approval", ".ssh/**", "/**/.ssh/**", NULL },
	{ "file_list", "deny", "/srv/a", "/srv/a", NULL },
	{ "file_read", "deny", "*", "/**", NULL },
	/* A denial that cannot be exact is wider, and never refused. */
	{ "file_read", "deny", "./x", "/**/x", NULL },
	{ "file_read", "deny", "../x", "/**/x", NULL },
	{ "file_read", "deny", "", "", NULL },
	{ "file_read", "deny", "$OTHER/x", "/x", NULL },
	{ "file_read", "deny", "/a/../b", "/**", NULL },
	{ "file_read", "deny", "/srv/a?b", "/srv/a*b | /srv/a/**", NULL },
	{ "file_read", "deny", "/srv/**.pem", "/srv/**/*.pem", NULL },
	{ "file_read", "deny", "/srv/a**", "/srv/a*/**", NULL },
	{ "file_read", "deny", "/srv/a**b", "/srv/a*/**/*b | /srv/a*b", NULL },
	{ "file_read", "deny", "/srv/[a]", "/srv/\\[a\\]", NULL },
	/* Hosts */
	{ "http_request", "allow", "api.example.com", "api.example.com:443", NULL },
	{ "http_request", "allow", "API.example.com:8080", "api.example.com:8080", NULL },
	{ "http_request", "allow", "*.example.com", "*.example.com:443", NULL },
	{ "http_request", "allow", "*", "", NULL },
	{ "http_request", "allow", "**", "*:443", NULL },
	{ "http_request", "allow", "https://**", "*:443", NULL },
	{ "http_request", "allow", "https://*", "https://*/{,}", NULL },
	{ "http_request", "allow", "https://api.example.com", "api.example.com:443", NULL },
	{ "http_request", "allow", "https://api.example.com/*", "https://api.example.com/{*,}",
		NULL },
	{ "http_request", "allow", "https://api.example.com/**", "api.example.com:443", NULL },
	{ "http_request", "allow", "https://api.example.com/v1/*", "https://api.example.com/v1/*",
		NULL },
	{ "http_request", "allow", "http://localhost:3000/*", "http://localhost:3000/{*,}", NULL },
	{ "http_request", "allow", "http://localhost:*", "http://localhost:*/{,}", NULL },
	{ "http_request", "allow", "http://localhost:*/**", "localhost:*", NULL },
	{ "http_request", "allow", "*://a.example/**", "a.example:443 | a.example:80", NULL },
	{ "http_request", "allow", "https://*/**", "*:443", NULL },
	{ "http_request", "allow", "a.example/v1", "https://a.example/v1", NULL },
	{ "http_request", "deny", "a.example/v1",
		"http://a.example:*/# | http://a.example:*/v1/** | http://www.a.example:*/# | "
		"http://www.a.example:*/v1/** | udp://a.example:* | udp://www.a.example:*",
		NULL },
	{ "http_request", "deny", "https://www.a.example:8443/v1/",
		"http://www.a.example:8443/# | http://www.a.example:8443/v1/** | "
		"udp://www.a.example:8443",
		NULL },
	{ "http_request", "deny", "https://www.a.example:443/a?b/c",
		"https://www.a.example/# | udp://www.a.example:443 | www.a.example:443", NULL },
	{ "http_request", "deny", "*.a.example", "*.a.example:* | udp://*.a.example:*", NULL },
	{ "http_request", "deny", "10.0.0.0/8", "10.0.0.0/8:* | udp://10.0.0.0/8:*", NULL },
	{ "http_request", "deny", "10.*", "glob:10.*", NULL },
	{ "http_request", "deny", "*example.com", "glob:*example.com", NULL },
	{ "http_request", "deny", "ex?mple.com", "glob:ex*mple.com | glob:www.ex*mple.com", NULL },
	{ "http_request", "deny", "https://**", "*:* | udp://*:*", NULL },
	{ "http_request", "deny", "*", "*:* | udp://*:*", NULL },
	{ "http_request", "deny", "*://*/*", "*:* | udp://*:*", NULL },
	{ "http_request", "deny", "https://*/admin", "http://*:*/admin/**", NULL },
	{ "http_request", "deny", "**/.env", "http://*:*/**/.env/**", NULL },
	{ "http_request", "deny", "u:p@evil.com",
		"evil.com:* | udp://evil.com:* | "
		"udp://www.evil.com:* | www.evil.com:*",
		NULL },
	{ "http_request", "deny", "a b", "", NULL },
	{ "http_request", "allow", "unix:/run/x.sock", NULL, "port" },
	{ "http_request", "allow", "udp://a.example:1", NULL, "no URL of http or https" },
	{ "http_request", "allow", "10.0.0.0/8", NULL, "could be a path" },
	{ "http_request", "allow", "api-*.example.com", NULL, "star" },
	{ "http_request", "allow", "gopher://a.example/", NULL, "no URL of http or https" },
	{ "http_request", "allow", "", NULL, "no host" },
	/* Commands */
	{ "exec", "allow", "git", "git:", NULL },
	{ "exec", "allow", "git:*", "git", NULL },
	{ "exec", "allow", "git *", NULL, "no wildcards but `:*` at its end" },
	{ "exec", "allow", "git push:*", "git push:*", NULL },
	{ "exec", "allow", "git push", "git push:", NULL },
	{ "exec", "allow", " git  push ", "git push:", NULL },
	{ "exec", "allow", "*", "/**", NULL },
	{ "exec", "allow", "/usr/bin/jq:*", "/usr/bin/jq", NULL },
	{ "exec", "allow", "/usr/sbin/scutil --get Name", "/usr/sbin/scutil --get Name:", NULL },
	{ "exec", "allow", "a:b c:*", "a:b c:*", NULL },
	{ "exec", "allow", "find ?:*", "find ?:*", NULL },
	{ "exec", "allow", "x \\y", "x \\\\y:", NULL },
	{ "exec", "allow", "curl * | sh", NULL, "no wildcards but `:*` at its end" },
	{ "exec", "deny", "curl * | sh", "glob:curl * | sh", NULL },
	{ "exec", "deny", "shutdown*", "glob:shutdown*", NULL },
	{ "exec", "deny", "rm -rf /*", "glob:rm -rf /*", NULL },
	{ "exec", "deny", "mkfs.*", "glob:mkfs.*", NULL },
	{ "exec", "deny", "nc *", "glob:nc * | nc", NULL },
	{ "exec", "deny", "/usr/bin/git:*", "/usr/bin/git | glob:git *", NULL },
	{ "exec", "deny", "git push:*", "glob:git push *", NULL },
	{ "exec", "deny", "git  push", "glob:git push", NULL },
	{ "exec", "deny", "/opt/[ab]", "glob:[ab]", NULL },
	{ "exec", "deny", ":*", NULL, "needs a program" },
	{ "exec", "allow", "", NULL, "needs a program" },
	/* Pages */
	{ "open_url", "allow", "https://docs.example.com/**", "browser.open:docs.example.com",
		NULL },
	{ "open_url", "allow", "*.Example.com", "browser.open:*.example.com", NULL },
	{ "open_url", "allow", "*://a.example/**", "browser.open:a.example", NULL },
	{ "open_url", "allow", "*", "", NULL },
	{ "open_url", "allow", "**", "browser.open", NULL },
	{ "open_url", "allow", "https://a.example/guide/*", NULL, "by domain only" },
	{ "open_url", "allow", "http://a.example:8080/", NULL, "by domain only" },
	{ "open_url", "deny", "https://a.example/guide/*",
		"browser.open:a.example | browser.open:www.a.example", NULL },
	{ "open_url", "deny", "10.*", "browser.open:glob:10.*", NULL },
	{ "open_url", "deny", "udp://a.example",
		"browser.open:a.example | browser.open:www.a.example", NULL },
	{ "open_url", "deny", "a b", "", NULL },
	/* Secrets */
	{ "secret_inject", "allow", "GITHUB_TOKEN", "vault:GITHUB_TOKEN", NULL },
	{ "secret_inject", "allow", "AWS_*", "vault:AWS_*", NULL },
	{ "secret_inject", "allow", "*", "vault", NULL },
	{ "secret_inject", "allow", "/etc/x", NULL, "is no name of a secret" },
	{ "secret_inject", "allow", "", NULL, "a name is missing" },
};

/* The printed patterns of the first rule, in one line. */
static void join_patterns(const struct permissions *p, struct buffer *out)
{
	auto_arena a = { 0 };
	const struct node *rules = node_get(permissions_to_node(p, &a), "rules");
	const struct node *patterns = node_get(rules ? rules->first : NULL, "patterns");

	for (const struct node *n = patterns ? patterns->first : NULL; n; n = n->next)
		buffer_printf(out, "%s%s", out->len ? " | " : "", node_text(n));
}

static void check_pattern(const struct pattern_row *row)
{
	auto_buffer text = { 0 }, spelt = { 0 };
	auto_manifest m = { 0 };
	struct error e = { 0 };
	int r;

	buffer_printf(&text,
		"{\"version\": 1, \"rules\": [{\"id\": \"r\", \"action\": \"%s\","
		"\"operations\": [\"%s\"], \"patterns\": [",
		row->action, row->operation);
	json_print_string(&text, row->pattern, strlen(row->pattern));
	buffer_adds(&text, "]}]}");
	r = manifest_read(&m, MANIFEST_UNKNOWN, "x.json", buffer_text(&text), text.len, &e);
	if (!row->spelt) {
		if (r != -EINVAL || !strstr(e.text, row->says))
			fail_msg("<%s>: %d, %s", row->pattern, r, e.text);
		return;
	}
	if (r < 0)
		fail_msg("<%s>: %s", row->pattern, e.text);
	join_patterns(m.permissions, &spelt);
	assert_string_equal(buffer_text(&spelt), row->spelt);
	check_round_trip(m.permissions);
}

static void test_patterns(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(pattern_rows); i++)
		check_pattern(&pattern_rows[i]);
}

/* clang-format off */
#define RULE(rest) "{\"rules\": [{\"id\": \"r\", " rest "}]}"
#define FILES "    operations:\n      - fs.read\n      - fs.write\n"
#define CONSTRAINT(name, priority, action, operations, patterns) \
	"  - id: " name "\n    priority: -" priority "\n    action: " action "\n" operations \
	"    patterns:\n" patterns
#define NET "    operations:\n      - net.connect\n"
#define SERVICE "    operations:\n      - service\n"
#define ELSE_PAGES                                                      \
	CONSTRAINT("networkConstraints", "2147483648", "deny", SERVICE, "      - browser.open\n")
#define ELSE_FILES CONSTRAINT("fsConstraints", "2147483648", "deny", FILES, "      - /**\n")
#define ELSE_NET                                                        \
	CONSTRAINT("networkConstraints", "2147483648", "deny", NET,     \
		"      - \"*:*\"\n      - udp://*:*\n")

static const struct reading readings[] = {
	{ "{}", "exec: []\n" },
	{ "{\"version\": \"1.0.0\", \"defaultAction\": \"allow\", \"mode\": \"monitor\"}",
		"exec: []\ndefault: allow\nmode: monitor\n" },
	{ "{\"defaultAction\": \"approval\", \"mode\": \"audit\", \"$schema\": \"x\", \"tags\": []}",
		"exec: []\ndefault: ask\nmode: audit\n" },
	/* Both spellings of the action; harmless keys. */
	{ RULE("\"name\": \"Name\", \"type\": \"allowlist\", \"action\": \"allow\", \"priority\": 7,"
	       "\"operations\": [\"file_read\"], \"patterns\": [\"/a\"], \"description\": \"d\","
	       "\"createdAt\": 1, \"tags\": [\"x\"], \"preset\": null"),
		"exec: []\nrules:\n  - id: r\n    name: Name\n    priority: 7\n    action: allow\n"
		"    operations:\n      - fs.read\n    patterns:\n      - /a\n" },
	/* Operations from the target */
	{ RULE("\"type\": \"denylist\", \"target\": \"filesystem\", \"patterns\": [\"/a\"],"
	       "\"operations\": [], \"enabled\": false, \"name\": \"\""),
		"exec: []\nrules:\n  - id: r\n    action: deny\n" FILES
		"    patterns:\n      - /a\n    enabled: false\n" },
	{ RULE("\"type\": \"denylist\", \"target\": \"command\", \"patterns\": [\"a\"]"),
		"exec: []\nrules:\n  - id: r\n    action: deny\n    operations:\n      - exec\n"
		"    patterns:\n      - glob:a\n" },
	/* Each operation takes the patterns that it understands. Methods are about hosts. */
	{ RULE("\"action\": \"allow\", \"target\": \"url\", \"methods\": [\"GET\"],"
	       "\"patterns\": [\"http://a.example:8080/**\", \"b.example\"]"),
		"exec: []\nrules:\n"
		"  - id: r\n    action: allow\n" NET
		"    patterns:\n      - a.example:8080\n      - b.example:443\n    methods:\n      - GET\n"
		"  - id: r\n    action: allow\n    operations:\n      - service\n"
		"    patterns:\n      - browser.open:b.example\n" },
	{ RULE("\"action\": \"allow\", \"operations\": [\"file_read\", \"exec\"], \"methods\": [],"
	       "\"patterns\": [\"/opt/tool\", \"git:*\"]"),
		"exec: []\nrules:\n"
		"  - id: r\n    action: allow\n    operations:\n      - fs.read\n"
		"    patterns:\n      - /opt/tool\n"
		"  - id: r\n    action: allow\n    operations:\n      - exec\n"
		"    patterns:\n      - \"/opt/tool:\"\n      - git\n" },
	{ RULE("\"action\": \"deny\", \"operations\": [\"*\"], \"patterns\": [\"*\"]"),
		"exec: []\nrules:\n"
		"  - id: r\n    action: deny\n" FILES "    patterns:\n      - /**\n"
		"  - id: r\n    action: deny\n" NET
		"    patterns:\n      - \"*:*\"\n      - udp://*:*\n"
		"  - id: r\n    action: deny\n    operations:\n      - exec\n"
		"    patterns:\n      - /**\n"
		"  - id: r\n    action: deny\n    operations:\n      - env\n"
		"    patterns:\n      - \"*\"\n"
		"  - id: r\n    action: deny\n    operations:\n      - service\n"
		"    patterns:\n      - \"*\"\n      - browser.open\n      - vault\n" },
	{ RULE("\"action\": \"deny\", \"operations\": [\"*\"], \"patterns\": [\"/etc/**\"]"),
		"exec: []\nrules:\n"
		"  - id: r\n    action: deny\n" FILES "    patterns:\n      - /etc/**\n"
		"  - id: r\n    action: deny\n    operations:\n      - exec\n"
		"    patterns:\n      - glob:/etc/**\n" },
	/* What the broker does for itself is governed by nobody; no patterns match nothing. */
	{ RULE("\"action\": \"allow\", \"operations\": [\"ping\", \"policy_check\"],"
	       "\"patterns\": [\"*\"]"), "exec: []\n" },
	{ RULE("\"action\": \"allow\", \"operations\": [\"exec\"], \"patterns\": []"),
		"exec: []\n" },
	/* A scope that is none, one that would allow more than it says, one that denies. */
	{ RULE("\"action\": \"allow\", \"operations\": [\"exec\"], \"patterns\": [\"a\"],"
	       "\"scope\": \"global\""),
		"exec: []\nrules:\n  - id: r\n    action: allow\n    operations:\n      - exec\n"
		"    patterns:\n      - \"a:\"\n" },
	{ RULE("\"action\": \"allow\", \"operations\": [\"exec\"], \"patterns\": [\"a\"],"
	       "\"scope\": \"skill:x\""),
		"exec: []\nrules:\n  - id: r\n    action: allow\n    operations:\n      - exec\n"
		"    patterns:\n      - \"a:\"\n    enabled: false\n" },
	{ RULE("\"action\": \"deny\", \"operations\": [\"exec\"], \"patterns\": [\"a\"],"
	       "\"scope\": \"skill:x\""),
		"exec: []\nrules:\n  - id: r\n    action: deny\n    operations:\n      - exec\n"
		"    patterns:\n      - glob:a\n" },
	/* Constraints on files */
	{ "{\"fsConstraints\": {}}", "exec: []\n" },
	{ "{\"fsConstraints\": {\"deniedPatterns\": [\"*.key\", \"~/.ssh/**\"]}}",
		"exec: []\nrules:\n" CONSTRAINT("fsConstraints.deniedPatterns", "2147483646", "deny",
			FILES, "      - $HOME/.ssh/**\n      - /**/*.key\n") },
	/* What is allowed is left to the default action. */
	{ "{\"fsConstraints\": {\"allowedPaths\": [\"/srv/a\", \"/srv/b/\", \"~/c/**\"]}}",
		"exec: []\n" },
	{ "{\"fsConstraints\": {\"allowedPaths\": [\"/srv/a\"]}, \"mode\": \"audit\"}",
		"exec: []\nrules:\n" ELSE_FILES "mode: audit\n" },
	{ "{\"fsConstraints\": {\"allowedPaths\": [\"/srv/a\", \"/srv/b/\", \"~/c/**\"]},"
	  "\"defaultAction\": \"allow\"}",
		"exec: []\nrules:\n" CONSTRAINT("fsConstraints.allowedPaths", "2147483647", "allow",
			FILES, "      - $HOME/c/**\n      - /srv/a/**\n      - /srv/b/**\n")
			ELSE_FILES "default: allow\n" },
	{ "{\"fsConstraints\": {\"allowedPaths\": [\"/\"], \"deniedPatterns\": []},"
	  "\"defaultAction\": \"approval\"}",
		"exec: []\nrules:\n" CONSTRAINT("fsConstraints.allowedPaths", "2147483647", "ask",
			FILES, "      - /**\n") ELSE_FILES "default: ask\n" },
	/* Constraints on the network */
	{ "{\"networkConstraints\": {\"allowedHosts\": [], \"deniedHosts\": [], \"allowedPorts\": []}}",
		"exec: []\n" },
	{ "{\"networkConstraints\": {\"deniedHosts\": [\"*\"]}}", "exec: []\n" },
	{ "{\"networkConstraints\": {\"deniedHosts\": [\"*\"]}, \"mode\": \"audit\"}",
		"exec: []\nrules:\n" ELSE_NET "mode: audit\n" },
	{ "{\"networkConstraints\": {\"allowedHosts\": [\"a.example\"]}}", "exec: []\n" },
	{ "{\"networkConstraints\": {\"allowedHosts\": [\"a.example\"]}, \"defaultAction\": \"allow\"}",
		"exec: []\nrules:\n" CONSTRAINT("networkConstraints.allowedHosts", "2147483647",
			"allow", NET, "      - a.example:*\n")
		CONSTRAINT("networkConstraints.allowedHosts", "2147483647", "allow", SERVICE,
			"      - browser.open:a.example\n") ELSE_NET ELSE_PAGES "default: allow\n" },
	{ "{\"networkConstraints\": {\"deniedHosts\": [\"*\", \"www.b.example\"],"
	  "\"allowedHosts\": [\"a.example\", \"c.example:8000-9000\"], \"allowedPorts\": [8443, 443]},"
	  "\"defaultAction\": \"allow\"}",
		"exec: []\nrules:\n"
		CONSTRAINT("networkConstraints.deniedHosts", "2147483646", "deny", NET,
			"      - udp://www.b.example:*\n      - www.b.example:*\n")
		CONSTRAINT("networkConstraints.deniedHosts", "2147483646", "deny", SERVICE,
			"      - browser.open:www.b.example\n")
		CONSTRAINT("networkConstraints.allowedHosts", "2147483647", "allow", NET,
			"      - a.example:443\n      - a.example:8443\n      - c.example:8443\n")
		ELSE_NET ELSE_PAGES "default: allow\n" },
	/* Ports alone allow nothing that would not be allowed anyway. */
	{ "{\"networkConstraints\": {\"allowedPorts\": [443]}}", "exec: []\n" },
	{ "{\"networkConstraints\": {\"allowedPorts\": [443]}, \"defaultAction\": \"allow\"}",
		"exec: []\nrules:\n" CONSTRAINT("networkConstraints.allowedHosts", "2147483647",
			"allow", NET, "      - \"*:443\"\n      - udp://*:443\n") ELSE_NET ELSE_PAGES
		"default: allow\n" },
	{ "{\"networkConstraints\": {\"allowedPorts\": [443], \"deniedHosts\": [\"*\"]},"
	  "\"defaultAction\": \"allow\"}",
		"exec: []\nrules:\n" ELSE_NET ELSE_PAGES "default: allow\n" },
};
/* clang-format on */

static void test_readings(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(readings); i++)
		check_manifest(MANIFEST_RULES, "policy.json", &readings[i]);
}

static void test_refusals(void **state)
{
	static const struct refusal rows[] = {
		{ "[]", 1, 1, "the document must be a map", NULL },
		{ "{\"fsConstrants\": {}}", 1, 2, "did you mean `fsConstraints`?", NULL },
		{ "{\"envInjection\": []}", 1, 2, "unknown key `envInjection`", "valid keys" },
		{ "{\"defaultAction\": \"permit\"}", 1, 19,
			"`permit` is not one of deny, approval, allow", NULL },
		{ "{\"mode\": \"off\"}", 1, 10, "`off` is not one of enforce, audit, monitor",
			NULL },
		{ "{\"rules\": {}}", 1, 11, "`rules` must be a list, not a map", NULL },
		{ RULE("\"patterns\": []"), 1, 12, "the key `action` is missing", NULL },
		{ RULE("\"action\": \"deny\", \"patterns\": []"), 1, 12,
			"the key `operations` is missing", NULL },
		{ RULE("\"action\": \"deny\", \"operations\": []"), 1, 12,
			"the key `patterns` is missing", NULL },
		{ RULE("\"action\": \"deny\", \"type\": \"allowlist\""), 1, 50,
			"`type` and `action` contradict each other", NULL },
		{ RULE("\"type\": \"list\""), 1, 32, "`list` is not one of denylist, allowlist",
			"" },
		{ RULE("\"action\": \"ask\""), 1, 34, "`ask` is not one of deny, approval, allow",
			NULL },
		{ RULE("\"action\": \"deny\", \"patterns\": [], \"target\": \"disk\""), 1, 68,
			"`disk` is not one of url, command, filesystem", NULL },
		{ RULE("\"action\": \"deny\", \"patterns\": [], \"operations\": [\"file_raed\"]"),
			1, 73, "`file_raed` is not one of", "did you mean `file_read`?" },
		{ RULE("\"networkAccess\": \"none\""), 1, 24, "unknown key `rules.networkAccess`",
			"valid keys" },
		{ RULE("\"priority\": -2147483648"), 1, 36, "is not between -2147483632 and",
			NULL },
		{ RULE("\"priority\": 1.5"), 1, 36, "is not a valid whole number", NULL },
		{ RULE("\"enabled\": \"no\""), 1, 35, "must be true or false", NULL },
		{ RULE("\"methods\": [\"FETCH\"]"), 1, 36, "is no HTTP method", NULL },
		{ RULE("\"scope\": []"), 1, 33, "must be text", NULL },
		{ RULE("\"name\": []"), 1, 32, "must be text", NULL },
		{ "{\"rules\": [{\"id\": \"\"}]}", 1, 19, "`rules.id`: is empty", NULL },
		{ RULE("\"action\": \"deny\", \"operations\": [\"exec\"], \"patterns\": \"git\""),
			1, 78, "`rules.patterns` must be a list", NULL },
		{ RULE("\"action\": \"deny\", \"operations\": [\"exec\"], \"patterns\": [[]]"), 1,
			79, "`rules.patterns` must be text", NULL },
		{ RULE("\"action\": \"allow\", \"operations\": [\"file_read\", \"http_request\"],"
		       "\"patterns\": [\"a b\"]"),
			1, 100, "does not start with /", NULL },
		{ "{\"fsConstraints\": {\"allowedPath\": []}}", 1, 20,
			"did you mean `fsConstraints.allowedPaths`?", NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [\"\"]}}", 1, 37, "must be a folder",
			NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [\"/a*\"]}}", 1, 37, "must be a folder",
			NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [\"a\"]}}", 1, 37, "does not start with",
			NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [\"/a/?\"]}}", 1, 37, "must be a folder",
			NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [1, {}]}}", 1, 37, "does not start with",
			NULL },
		{ "{\"fsConstraints\": {\"allowedPaths\": [{}]}}", 1, 37, "must be text", NULL },
		{ "{\"fsConstraints\": {\"deniedPatterns\": [{}]}}", 1, 39, "must be text", NULL },
		{ "{\"networkConstraints\": {\"deniedHosts\": [{}]}}", 1, 41, "must be text",
			NULL },
		{ "{\"networkConstraints\": {\"allowedHosts\": [{}]}}", 1, 42, "must be text",
			NULL },
		{ "{\"networkConstraints\": {\"allowedHosts\": [\"a b\"]}}", 1, 42,
			"not a host name", "write" },
		{ "{\"networkConstraints\": {\"allowedHosts\": [\"a b\"], \"allowedPorts\": [1]}}",
			1, 42, "not a host name", "write" },
		{ "{\"networkConstraints\": {\"allowedPorts\": [0]}}", 1, 42,
			"is not between 1 and 65535", NULL },
		{ "{\"networkConstraints\": {\"allowedHosts\": 1}}", 1, 41, "must be a list",
			"write" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		check_refused(MANIFEST_RULES, "policy.json", &rows[i]);
}

static void test_too_many_ports(void **state)
{
	auto_buffer text = { 0 };
	struct error e = { 0 };
	struct manifest m;

	(void)state;
	buffer_adds(&text, "{\"networkConstraints\": {\"allowedHosts\": [\"a\"");
	for (int i = 0; i < 100; i++)
		buffer_printf(&text, ", \"h%d.example\"", i);
	buffer_adds(&text, "], \"allowedPorts\": [1");
	for (int i = 2; i < 100; i++)
		buffer_printf(&text, ", %d", i);
	buffer_adds(&text, "]}}");
	assert_int_equal(
		manifest_read(&m, MANIFEST_RULES, NULL, buffer_text(&text), text.len, &e), -EINVAL);
	assert_non_null(strstr(e.text, "hosts times ports are more than 4096"));
}

static void read_default_json(struct manifest *m)
{
	auto_buffer text = { 0 };

	load_sample("default.json", &text);
	assert_int_equal(manifest_read(m, MANIFEST_UNKNOWN, "default.json", buffer_text(&text),
				 text.len, NULL),
		0);
	assert_int_equal(m->kind, MANIFEST_RULES);
}

static void test_sample(void **state)
{
	auto_manifest m = { 0 };
	const struct node *scopes;

	(void)state;
	read_default_json(&m);
	assert_string_equal(m.version, "1.0.0");
	scopes = node_get(m.extra, "scopes");
	assert_int_equal(scopes->count, 1);
	assert_string_equal(node_text(node_get(scopes->first, "id")), "curl-only");
	assert_string_equal(node_text(node_get(scopes->first, "scope")), "command:curl");
	check_round_trip(m.permissions);
}

static const struct rule *find_rule(const struct manifest *m, const char *id)
{
	for (size_t i = 0; i < m->permissions->n_rules; i++) {
		if (strcmp(m->permissions->rules[i].id, id) == 0)
			return &m->permissions->rules[i];
	}
	return NULL;
}

static void test_add_rules(void **state)
{
	auto_buffer custom = { 0 };
	auto_manifest m = { 0 };
	size_t before;

	(void)state;
	read_default_json(&m);
	before = m.permissions->n_rules;
	load_sample("custom.json", &custom);
	assert_int_equal(
		manifest_add_rules(&m, "custom/a.json", buffer_text(&custom), custom.len, NULL), 0);
	assert_int_equal(m.permissions->n_rules, before + 1);
	assert_string_equal(find_rule(&m, "no-force")->where.file, "custom/a.json");
	assert_int_equal(m.permissions->fallback, VERDICT_DENY);
	check_round_trip(m.permissions);
}

/* What a further file leaves out changes nothing; what it says can only make things stricter. */
static void test_add_is_stricter(void **state)
{
	static const struct {
		const char *first, *second;
		enum verdict fallback;
		enum mode mode;
	} rows[] = {
		{ "{\"defaultAction\": \"allow\", \"mode\": \"monitor\"}", "{\"rules\": []}",
			VERDICT_ALLOW, MODE_MONITOR },
		{ "{\"defaultAction\": \"allow\", \"mode\": \"monitor\"}",
			"{\"defaultAction\": \"deny\", \"mode\": \"audit\"}", VERDICT_DENY,
			MODE_AUDIT },
		{ "{\"defaultAction\": \"deny\", \"mode\": \"enforce\"}",
			"{\"defaultAction\": \"allow\", \"mode\": \"monitor\"}", VERDICT_DENY,
			MODE_ENFORCE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_manifest m = { 0 };

		assert_int_equal(manifest_read(&m, MANIFEST_RULES, "a.json", rows[i].first,
					 strlen(rows[i].first), NULL),
			0);
		assert_int_equal(manifest_add_rules(&m, "b.json", rows[i].second,
					 strlen(rows[i].second), NULL),
			0);
		assert_int_equal(m.permissions->fallback, rows[i].fallback);
		assert_int_equal(m.permissions->mode, rows[i].mode);
	}
}

static void test_add_refusals(void **state)
{
	static const char skill[] = "name: x", bad[] = "{\"rules\": [{}]}", broken[] = "{";
	auto_manifest m = { 0 }, other = { 0 };
	struct error e = { 0 };
	size_t before;

	(void)state;
	assert_int_equal(
		manifest_read(&other, MANIFEST_SKILL, NULL, skill, strlen(skill), NULL), 0);
	assert_int_equal(manifest_add_rules(&other, "b.json", "{}", 2, &e), -EINVAL);
	assert_string_equal(e.text, "rules can only be added to rules");
	read_default_json(&m);
	before = m.permissions->n_rules;
	assert_int_equal(manifest_add_rules(&m, "b.json", bad, strlen(bad), &e), -EINVAL);
	assert_int_equal(manifest_add_rules(&m, "b.json", broken, strlen(broken), &e), -EINVAL);
	assert_int_equal(m.permissions->n_rules, before);
}

/* What the sample means, asked of the engine. */
static void test_decisions(void **state)
{
	static const struct {
		enum operation op;
		const char *target, *arg, *method;
		enum verdict verdict;
	} rows[] = {
		{ OPERATION_FS_READ, "/srv/agent", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_WRITE, "/srv/agent/a/b", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/srv/agentx", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/srv/agent/../x", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/srv/agent/a.key", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/srv/agent/.env", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/srv/agent/x/id_rsa", NULL, NULL, VERDICT_DENY },
		{ OPERATION_FS_READ, "/etc/hosts", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "https://docs.example.com/x", NULL, "GET", VERDICT_ALLOW },
		{ OPERATION_NET_CONNECT, "https://docs.example.com/x", NULL, "POST", VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "docs.example.com:80", NULL, "GET", VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "https://api.example.com/x", NULL, "GET", VERDICT_ALLOW },
		{ OPERATION_NET_CONNECT, "https://api.example.com/x/y", NULL, "GET", VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "api.example.com:443", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "api.example.com:8443", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "evil.example.com:443", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "other.example:443", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "localhost:3000", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "http://localhost:3000/", NULL, NULL, VERDICT_ALLOW },
		{ OPERATION_NET_CONNECT, "http://localhost:3000/x", NULL, NULL, VERDICT_DENY },
		{ OPERATION_NET_CONNECT, "127.0.0.1:3000", NULL, NULL, VERDICT_ALLOW },
		{ OPERATION_NET_CONNECT, "mirror.example.net:443", NULL, NULL, VERDICT_DENY },
		{ OPERATION_EXEC, "git", "push", NULL, VERDICT_ALLOW },
		{ OPERATION_EXEC, "ls", NULL, NULL, VERDICT_ALLOW },
		{ OPERATION_EXEC, "ls", "-l", NULL, VERDICT_DENY },
		{ OPERATION_EXEC, "git-evil", NULL, NULL, VERDICT_DENY },
		{ OPERATION_SERVICE, "browser.open:docs.example.com", NULL, NULL, VERDICT_ALLOW },
		{ OPERATION_SERVICE, "browser.open:a.example.org", NULL, NULL, VERDICT_ALLOW },
		{ OPERATION_SERVICE, "browser.open:evilexample.org", NULL, NULL, VERDICT_DENY },
		{ OPERATION_SERVICE, "vault.read:GITHUB_TOKEN", NULL, NULL, VERDICT_ASK },
		{ OPERATION_SERVICE, "vault.read:OTHER", NULL, NULL, VERDICT_DENY },
		{ OPERATION_ENV, "LANG", NULL, NULL, VERDICT_DENY },
	};
	const struct variables vars = { .values = { [VARIABLE_HOME] = "/home/a" } };
	const struct policy_options options = { .variables = &vars };
	auto_manifest m = { 0 };
	auto_policy *policy = NULL;
	const struct permissions *layer;

	(void)state;
	read_default_json(&m);
	layer = m.permissions;
	assert_int_equal(policy_new(&policy, &layer, 1, &options, NULL), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct request r = {
			.op = rows[i].op,
			.target = rows[i].target,
			.args = &rows[i].arg,
			.n_args = rows[i].arg ? 1 : 0,
			.method = rows[i].method,
		};
		struct decision d;

		assert_int_equal(policy_decide(policy, &r, &d), 0);
		if (d.verdict != rows[i].verdict)
			fail_msg("%s: %s", rows[i].target, verdict_name(d.verdict));
	}
}

/* What grants nothing, or less than it seems to, is said with its place. */
static void test_notes(void **state)
{
	static const struct {
		const char *rule, *note; /* NULL: none */
		unsigned line;
	} rows[] = {
		{ "\"action\": \"allow\", \"operations\": [\"exec\"], \"patterns\": [\"*\"]", NULL,
			0 },
		{ "\"action\": \"allow\", \"operations\": [\"ping\"], \"patterns\": [\"*\"]", NULL,
			0 },
		{ "\"action\": \"allow\",\n\"operations\": [\"skill_install\"], \"patterns\": "
		  "[\"*\"]",
			"the rule r grants nothing for `skill_install`", 2 },
		{ "\"action\": \"allow\", \"operations\": [\"file_raed\"], \"patterns\": [\"/a\"]",
			"no such operation; did you mean `file_read`?", 1 },
		{ "\"action\": \"deny\", \"operations\": [\"package_install\"], \"patterns\": []",
			"the rule r needs to deny nothing for `package_install`", 1 },
		{ "\"action\": \"allow\", \"target\": \"skill\", \"patterns\": [\"x\"]",
			"the rule r grants nothing: Corral has no rules about the target", 1 },
		{ "\"action\": \"allow\", \"target\": \"process\", \"patterns\": [\"x\"]",
			"the rule r grants nothing", 1 },
		{ "\"action\": \"allow\", \"operations\": [\"file_read\"],\n\"patterns\": [\"*\"]",
			"the rule r grants no path by `*`: `*` is one segment", 2 },
		{ "\"action\": \"allow\", \"operations\": [\"*\"], \"patterns\": [\"*\"]",
			"the rule r grants no path by `*`", 1 },
		{ "\"action\": \"allow\", \"operations\": [\"file_list\"], \"patterns\": [\"/a\"]",
			"the rule r grants nothing for `file_list` alone", 1 },
		{ "\"action\": \"deny\", \"operations\": [\"http_request\"], \"patterns\": [\"a "
		  "b\"]",
			"the rule r denies no host by `a b`", 1 },
		{ "\"action\": \"deny\", \"operations\": [\"exec\"],\n\"patterns\": "
		  "[\"rm:*\", \"/bin/true\", \"git\"]",
			"the rule r denies `/bin/true` without arguments only: "
			"`/bin/true:*` denies it with any",
			2 },
		{ "\"action\": \"approval\", \"target\": \"command\", \"patterns\": [\"git "
		  "push\", \"git\"]",
			"the rule r asks about `git` without arguments only", 1 },
		{ "\"action\": \"deny\", \"operations\": [\"exec\"], \"patterns\": "
		  "[\"git:*\", \"rm *\", \"*\"]",
			NULL, 0 },
		{ "\"action\": \"deny\", \"operations\": [\"exec\"], \"patterns\": [\"git\"], "
		  "\"enabled\": false",
			NULL, 0 },
		{ "\"action\": \"allow\", \"operations\": [\"exec\"], \"patterns\": [\"git\"]",
			NULL, 0 },
		/* The file itself is denied, too. */
		{ "\"action\": \"deny\", \"operations\": [\"*\"], \"patterns\": "
		  "[\"/bin/true\"]",
			NULL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_manifest m = { 0 }, first = { 0 };
		auto_buffer text = { 0 };

		buffer_printf(
			&text, "{\"version\": 1, \"rules\": [{\"id\": \"r\", %s}]}", rows[i].rule);
		assert_int_equal(manifest_read(&m, MANIFEST_UNKNOWN, "x.json", buffer_text(&text),
					 text.len, NULL),
			0);
		assert_int_equal(m.n_notes, rows[i].note ? 1 : 0);
		assert_int_equal(manifest_read(&first, MANIFEST_RULES, "a.json", "{}", 2, NULL), 0);
		assert_int_equal(
			manifest_add_rules(&first, "x.json", buffer_text(&text), text.len, NULL),
			0);
		assert_int_equal(first.n_notes, m.n_notes);
		if (!rows[i].note)
			continue;
		if (!strstr(m.notes[0].text, rows[i].note))
			fail_msg("%s", m.notes[0].text);
		assert_int_equal(first.notes[0].where.line, rows[i].line);
		assert_string_equal(first.notes[0].where.file, "x.json");
	}
}

/* A further file's constraints only deny, and a stricter default is that of constraints as well. */
static void test_add_constraints(void **state)
{
	static const char first[] = "{\"defaultAction\": \"allow\", \"fsConstraints\":"
				    "{\"allowedPaths\": [\"/srv/a\"]}}";
	static const char second[] = "{\"fsConstraints\": {\"allowedPaths\": [\"/srv/b\"]},"
				     "\"defaultAction\": \"allow\"}";
	static const char third[] = "{\"defaultAction\": \"deny\"}";
	const char *const files[] = { second, third };
	const enum verdict in_a[] = { VERDICT_ALLOW, VERDICT_DENY };
	auto_manifest m = { 0 };

	(void)state;
	assert_int_equal(
		manifest_read(&m, MANIFEST_RULES, "a.json", first, strlen(first), NULL), 0);
	for (size_t i = 0; i < ROWS(files); i++) {
		const struct permissions *layer = m.permissions;
		auto_policy *policy = NULL;
		struct decision d;

		assert_int_equal(
			manifest_add_rules(&m, "b.json", files[i], strlen(files[i]), NULL), 0);
		assert_int_equal(policy_new(&policy, &layer, 1, NULL, NULL), 0);
		assert_int_equal(
			policy_decide(policy,
				&(struct request){ .op = OPERATION_FS_READ, .target = "/srv/a/x" },
				&d),
			0);
		assert_int_equal(d.verdict, in_a[i]);
		assert_int_equal(
			policy_decide(policy,
				&(struct request){ .op = OPERATION_FS_READ, .target = "/srv/b/x" },
				&d),
			0);
		assert_int_equal(d.verdict, VERDICT_DENY);
	}
}

/* The file that AgenShield ships, as its documents describe it. */
static void test_shipped(void **state)
{
	auto_buffer text = { 0 };
	auto_manifest m = { 0 };
	struct error e = { 0 };

	(void)state;
	load_sample("shield-default.json", &text);
	if (manifest_read(&m, MANIFEST_UNKNOWN, "default.json", buffer_text(&text), text.len, &e) <
		0)
		fail_msg("%u: %s", e.line, e.text);
	assert_int_equal(m.n_notes, 3);
	check_round_trip(m.permissions);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_patterns),
		cmocka_unit_test(test_readings),
		cmocka_unit_test(test_refusals),
		cmocka_unit_test(test_too_many_ports),
		cmocka_unit_test(test_sample),
		cmocka_unit_test(test_decisions),
		cmocka_unit_test(test_add_rules),
		cmocka_unit_test(test_add_is_stricter),
		cmocka_unit_test(test_add_refusals),
		cmocka_unit_test(test_add_constraints),
		cmocka_unit_test(test_notes),
		cmocka_unit_test(test_shipped),
	};

	return cmocka_run_group_tests_name("manifest-rules", tests, NULL, NULL);
}
