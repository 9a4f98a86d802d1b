/* SPDX-License-Identifier: Apache-2.0 */
/* The engine by example: request -> verdict, and every way in which a policy can fail to compile.
 */
#include "policy/test/test-policy.h"

#include <stdlib.h>

#include "base/array.h"
#include "policy/algebra/algebra.h"
#include "policy/layer.h"

#define RULE(id, priority, action, op, pattern)                                     \
	"{id: " id ", priority: " priority ", action: " action ", operations: [" op \
	"], patterns: [" pattern "]}"

static void test_files(void **state)
{
	static const struct test_row rows[] = {
		{ "{}", NULL, NULL, "fs.read /|fs.write /a|fs.read /tmp" },
		{ "fs: {read: [/a/**]}", "fs.read /a|fs.read /a/b|fs.read /a/.b/c|fs.read //a/./b/",
			NULL, "fs.write /a|fs.read /ab|fs.read /|fs.read /a/../b" },
		{ "fs: {write: [/a/**]}", "fs.read /a/b|fs.write /a|fs.write /a/b", NULL,
			"fs.read /b" },
		{ "fs: {read: [/**], deny: [/s, /t/**]}", "fs.read /|fs.read /s/x|fs.read /ts",
			NULL, "fs.read /s|fs.read /t|fs.read /t/x|fs.read /u/../s" },
		{ "fs: {write: [/**], deny: [/s]}", "fs.write /x", NULL, "fs.write /s|fs.read /s" },
		{ "fs: {read: [{all: [/a*, '/*b']}]}", "fs.read /ab|fs.read /axb", NULL,
			"fs.read /a|fs.read /b" },
		{ "fs: {read: [~/x, $TEMP/**, '$WORK_DIR']}",
			"fs.read /home/me/x|fs.read /tmp/y|fs.read /tmp|fs.read /work", NULL,
			"fs.read /home/me|fs.read /work/x" },
		{ "guest_paths: [{guest: /g, host: /h, mode: ro}, {guest: /w, host: /w, mode: rw}]",
			"fs.read /h/x|fs.read /h|fs.write /w/x|fs.read /w", NULL,
			"fs.write /h/x|fs.read /g" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_baseline(void **state)
{
	static const struct test_row rows[] = {
		/* Secrets are neither read nor written, system files not written. */
		{ "fs: {write: [/**]}",
			"fs.read /etc/hosts|fs.write /srv/x|fs.read /home/me/.bashrc", NULL,
			"fs.read /home/me/.ssh/id|fs.write /home/you/.ssh/id|fs.read /root/.netrc|"
			"fs.read /Users/a/.aws/x|fs.read /etc/shadow|fs.write /etc/hosts|"
			"fs.write /home/me/.bashrc|fs.write /usr/bin/x|exec /root/.netrc" },
		{ "{fs: {write: [/**]}, dangerously_allow: [~/.ssh/**, /etc/hosts]}",
			"fs.read /home/me/.ssh/id|fs.write /home/me/.ssh/id|fs.write /etc/hosts",
			NULL, "fs.read /home/you/.ssh/id|fs.write /etc/passwd" },
		/* Lifting is no grant. */
		{ "dangerously_allow: [/**]", NULL, NULL, "fs.read /home/me/.ssh/id|fs.read /x" },
		/* Every layer must lift it. */
		{ "all_of: [{fs: {read: [/**]}, dangerously_allow: [/**]}, {fs: {read: [/**]}}]",
			"fs.read /x", NULL, "fs.read /etc/shadow" },
		{ "all_of: [{fs: {read: [/**]}, dangerously_allow: [/**]}, {fs: {read: [/**]}, "
		  "dangerously_allow: [/etc/**]}]",
			"fs.read /etc/shadow", NULL, "fs.read /home/me/.netrc" },
		{ "network: {allow: ['*', 169.254.0.0/16, '*.internal']}", "net.connect h.com",
			NULL,
			"net.connect 169.254.169.254|net.connect metadata.google.internal|"
			"net.connect 127.0.0.1|net.connect x.local" },
	};
	auto_policy *p = test_compile("network: {allow: ['169.254.169.254']}");
	struct decision d;

	(void)state;
	test_check_rows(rows, ROWS(rows));
	assert_int_equal(test_decide(p, "net.connect 169.254.169.254:80", &d), 0);
	assert_int_equal(d.why, DECISION_BASELINE);
	assert_true(d.baseline_never);
	assert_non_null(d.baseline_why);
	assert_null(d.layer);
	assert_int_equal(test_decide(p, "fs.read /home/me/.ssh", &d), 0);
	assert_int_equal(d.why, DECISION_BASELINE);
	assert_false(d.baseline_never);
	assert_string_equal(d.baseline, "~/.ssh/**");
}

static void test_hosts(void **state)
{
	static const struct test_row rows[] = {
		{ "network: {allow: [h.com]}",
			"net.connect h.com|net.connect H.com.:1|net.connect "
			"https://h.com/x",
			NULL, "net.connect a.h.com|net.connect udp://h.com:1|net.connect xh.com" },
		{ "network: {allow: ['h.com:443']}",
			"net.connect h.com:443|net.connect https://h.com", NULL,
			"net.connect h.com|net.connect h.com:80|net.connect http://h.com" },
		{ "network: {allow: ['*'], deny: ['*.bad.com', bad.com]}",
			"net.connect h.com:1|net.connect 8.8.8.8", NULL,
			"net.connect bad.com|net.connect x.bad.com:1|net.connect 10.0.0.1" },
		{ "network: {allow: ['https://h.com/v1/**']}", "net.connect https://h.com/v1/x",
			NULL, "net.connect h.com:443|net.connect https://h.com/v2" },
		{ "network: {allow: [localhost]}",
			"net.connect localhost:1|net.connect 127.0.0.1:1|net.connect [::1]:1", NULL,
			"net.connect 127.0.0.2|net.connect a.localhost" },
		{ "network: {allow: ['unix:/run/x']}", "net.connect unix:/run/x", NULL,
			"net.connect unix:/run/y|net.connect unix:/run//x" },
		{ "rules: [{id: a, action: allow, operations: [net.connect], patterns: [h.com], "
		  "methods: "
		  "[GET, HEAD]}]",
			"net.connect https://h.com/ GET", NULL,
			"net.connect https://h.com/ POST|net.connect h.com:443|net.connect "
			"https://h.com/ X" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_exec(void **state)
{
	static const struct test_row rows[] = {
		/* Absent: what can be read may run. A name is some file. */
		{ "fs: {read: [/bin/**], write: [/opt/x]}",
			"exec /bin/ls|exec /opt/x|exec /bin/a -l", NULL,
			"exec /opt/y|exec ls|exec /bin/../x" },
		{ "fs: {read: [/**]}", "exec /bin/ls|exec ls", NULL, NULL },
		{ "fs: {read: [/**], deny: [/bin/ls]}", "exec /bin/sh|exec ls", NULL,
			"exec /bin/ls" },
		{ "fs: {read: [/**], deny: [/**]}", NULL, NULL, "exec ls|exec /bin/ls" },
		{ "default: allow", "exec ls|exec /x", NULL, NULL },
		{ "exec: []", NULL, NULL, "exec ls|exec /bin/ls|exec ls ?" },
		{ "{fs: {read: [/**]}, exec: []}", "fs.read /bin/ls", NULL,
			"exec /bin/ls|exec ls" },
		{ "exec: [git]", "exec git|exec git push|exec git ?", NULL,
			"exec /bin/git|exec gi" },
		{ "exec: [/bin/git]", "exec /bin/git|exec //bin/./git x", NULL,
			"exec git|exec /bin/gitk" },
		{ "exec: ['*']", "exec git|exec /x/y z|exec a ?", NULL, "exec x/y" },
		{ "exec: ['* --version:']", "exec git --version|exec /a/b --version", NULL,
			"exec git|exec git --version x|exec git ?" },
		{ "exec: [/opt/]", "exec /opt/a|exec /opt/b/c", NULL, "exec opt|exec /op" },
		{ "exec: ['git push:*']", "exec git push|exec git push -f", NULL,
			"exec git|exec git pull|exec git ?|exec git pushx" },
		{ "exec: ['git push:']", "exec git push", NULL, "exec git push x|exec git" },
		{ "exec: ['git:']", "exec git", NULL, "exec git x|exec git ?" },
		{ "exec: ['/opt/* push:*']", "exec /opt/a push|exec /opt/b push x", NULL,
			"exec /opt/a|exec /opt/a ?|exec opt push" },
		{ "exec: [{all: [/opt/**, '/**/x']}]", "exec /opt/x|exec /opt/a/x", NULL,
			"exec /x" },
		{ "exec: [{all: [git, '*']}]", "exec git", NULL, "exec ls" },
		{ "exec: [{all: [git, /bin/**]}]", NULL, NULL, "exec git|exec /bin/git" },
		{ "exec: [{all: [git, ls]}, {all: ['git a:', 'git b:']}]", NULL, NULL,
			"exec git|exec ls|exec git a" },
		/* A file that is denied does not run, whatever the list says. */
		{ "{fs: {deny: [/bin/git]}, exec: [/bin/git, git]}", "exec git", NULL,
			"exec /bin/git" },
		{ "{exec: [git], rules: [" RULE("a", "1", "deny", "exec", "'git push:*'") "]}",
			"exec git|exec git pull|exec git ?", NULL,
			"exec git push|exec git push -f" },
		/* Rules about programs are a list, too. */
		{ "{fs: {read: [/**]}, rules: [" RULE("a", "1", "ask", "exec", "git") "]}", NULL,
			"exec git", "exec /bin/ls" },
		{ "{fs: {read: [/**]}, rules: [" RULE("a", "1", "ask", "fs.read", "/bin/**") "]}",
			"exec /usr/x", "exec /bin/ls", NULL },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_env(void **state)
{
	static const struct test_row rows[] = {
		{ "env: [A, B*, C=1, D=]", "env A|env A=x|env BX|env B|env C=1|env D=|env A=", NULL,
			"env C|env C=2|env D|env D=x|env AB|env E" },
		{ "env: [{all: [A*, '*B']}]", "env AB|env AXB=1", NULL, "env A|env B" },
		{ "env: [{all: [A*, AB=1]}]", "env AB=1", NULL, "env AB|env AB=2|env A" },
		{ "env: [{all: [B*, AB=1]}, {all: [A=1, A=2]}]", NULL, NULL,
			"env AB=1|env A=1|env A=2" },
		{ "env: [{all: [A=1, A=1]}]", "env A=1", NULL, "env A" },
		{ "{env: [A], rules: [" RULE("x", "1", "deny", "env", "A=1") "]}", "env A|env A=2",
			NULL, "env A=1" },
		{ "env: ['P=/x/y/']", "env P=/x/y/", NULL, "env P=/x/y|env P" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_secrets(void **state)
{
	static const struct test_row rows[] = {
		{ "secrets: {A: {hosts: [x.example:443], in: [header, form]}}",
			"secret A=x.example:443|secret A=X.example.:443,header|secret "
			"A=x.example:443,form",
			NULL,
			"secret A=x.example:443,query|secret A=x.example:80|secret "
			"A=y.x.example:443|secret B=x.example:443|secret a=x.example:443" },
		{ "secrets: {A: {hosts: [x.example:443], programs: [/usr/bin/gh, /usr/bin/curl]}}",
			"secret A=x.example:443,header,/usr/bin/gh|secret "
			"A=X.example:443,header,/usr/bin/curl",
			NULL,
			"secret A=x.example:443|secret A=x.example:443,header,/usr/bin/wget|secret "
			"A=x.example:443,query,/usr/bin/gh" },
		{ "all_of: [{secrets: {A: {hosts: [x.example:443]}}}, {secrets: {A: {hosts: "
		  "[x.example:443], programs: [/a]}}}]",
			"secret A=x.example:443,header,/a", NULL,
			"secret A=x.example:443|secret A=x.example:443,header,/b" },
		/* Nothing but an entry lets one go. */
		{ "{default: allow, mode: monitor}", NULL, NULL, "secret A=x.example:443" },
		{ "{default: ask, mode: audit}", NULL, NULL, "secret A=x.example:443" },
		{ "{secrets: {A: {hosts: ['[2001:db8::1]:443']}}, mode: monitor}",
			"secret A=[2001:db8:0:0::1]:443", NULL, "secret A=[2001:db8::2]:443" },
		{ "all_of: [{secrets: {A: {hosts: [x.example:443]}}}, {env: [A]}]", NULL, NULL,
			"secret A=x.example:443" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_services(void **state)
{
	static const struct test_row rows[] = {
		{ "services: {reminders: {access: read}}",
			"service reminders.read|service reminders.read:x", NULL,
			"service reminders.write|service reminders.readwrite|service "
			"calendar.read" },
		{ "services: {reminders: {access: readwrite, lists: [Work, 'P*']}}",
			"service reminders.read:Work|service reminders.readwrite:Pq|service "
			"reminders.read:P",
			NULL,
			"service reminders.read|service reminders.read:Wor|service "
			"reminders.read:lists=Work|"
			"service reminders.read:X,lists=Work" },
		{ "services: {reminders: {access: read, lists: []}}", NULL, NULL,
			"service reminders.read|service reminders.read:|service reminders.read:x" },
		/* A rule against one of two accesses holds for both. */
		{ "{services: {reminders: true}, rules: ["
		  "{id: a, action: deny, operations: [service], patterns: "
		  "['reminders.read:Work']}]}",
			"service reminders.write:Work|service reminders.read:X|service "
			"reminders.readwrite:X",
			NULL, "service reminders.read:Work|service reminders.readwrite:Work" },
		{ "rules: [{id: a, action: ask, operations: [service], patterns: [{all: "
		  "[reminders, "
		  "'reminders:W*']}]}, {id: b, action: allow, operations: [service], patterns: "
		  "['*']}]",
			"service vault.read|service reminders.read:X", "service reminders.read:W1",
			NULL },
		{ "default: ask", NULL, "service vault.read", "service vault|service vault.fly" },
		/* Domains are hosts, however they are written. */
		{ "services: {browser: {access: open, domains: [example.com, '*.a.example']}}",
			"service browser.open:example.com|service "
			"browser.open:EXAMPLE.com.|service "
			"browser.open:https://example.com:8443/x?y#z|service "
			"browser.open:b.A.example:80",
			NULL,
			"service browser.open:https://evil.example/.a.example|service "
			"browser.open:https://example.com@evil.example/|service "
			"browser.open:a.example|service "
			"browser.open:evil.example#example.com|service "
			"browser.open:http://evil.example/example.com|service browser.open|service "
			"browser.navigate:example.com|service browser.open:|service "
			"browser.open:unix:/run/x|service browser.open:8.8.8.8" },
		{ "services: {browser: {access: [navigate, eval], domains: [8.8.8.8, "
		  "'[2001:4860::1]']}}",
			"service browser.navigate:8.8.8.8|service browser.eval:0x08080808|service "
			"browser.eval:http://134744072/|service "
			"browser.navigate:https://[2001:4860:0::0:1]/",
			NULL,
			"service browser.navigate:8.8.8.9|service browser.screenshot:8.8.8.8" },
		/* Private places only by their names, metadata never. */
		{ "services: {browser: {access: open, domains: ['*']}}",
			"service browser.open:example.com|service browser.open:8.8.8.8", NULL,
			"service browser.open:10.0.0.1|service browser.open:http://localhost:8080/|"
			"service browser.open:169.254.169.254" },
		{ "services: {browser: true}", "service browser.open:example.com", NULL,
			"service browser.open:127.1|service "
			"browser.open:http://169.254.169.254/x" },
		{ "services: {browser: {access: open, domains: ['*', 10.0.0.1, localhost, "
		  "169.254.169.254]}}",
			"service browser.open:10.0.0.1|service browser.open:http://localhost:8080/",
			NULL,
			"service browser.open:10.0.0.2|service browser.open:169.254.169.254" },
		{ "default: allow", "service browser.open:example.com", NULL,
			"service browser.open:192.168.1.1" },
		/* A denial holds for every way to write it. */
		{ "{services: {browser: true, email: true}, rules: [{id: a, action: deny, "
		  "operations: "
		  "[service], patterns: ['browser:evil.example', 'browser:8.8.8.8', "
		  "'email:*@evil.example', 'email:mallory@example.com']}]}",
			"service browser.open:example.com|service email.send:a@example.com", NULL,
			"service browser.open:https://EVIL.example./|service "
			"browser.eval:0x8080808|service email.send:x@EVIL.example|service "
			"email.send:MALLORY@Example.com." },
		{ "services: {email: {access: send, recipients: ['Alice@Example.com']}}",
			"service email.send:alice@example.com|service email.send:Alice@EXAMPLE.COM",
			NULL, "service email.send:bob@example.com|service email.send" },
		{ "{services: {browser: true}, rules: [{id: a, action: deny, operations: "
		  "[service], "
		  "patterns: ['browser:glob:8.8.*', 'browser.eval:glob:*']}]}",
			"service browser.open:8.9.8.8|service browser.open:glob.example", NULL,
			"service browser.open:8.8.1.1|service browser.open:0x08080101|service "
			"browser.eval:example.com" },
		/* Who splits it sends it to others, too. */
		{ "services: {email: {access: send, recipients: ['*@corp.example']}}",
			"service email.send:bob@corp.example", NULL,
			"service email.send:eve@evil.example,bob@corp.example|service "
			"email.send:eve@evil.example;bob@corp.example|service "
			"email.send:eve@evil.example bob@corp.example|service "
			"email.send:eve@evil.example>, <bob@corp.example|service "
			"email.send:\"eve@evil.example\"@corp.example|service "
			"email.send:eve@evil.example@corp.example|service "
			"email.send:bcc:eve@corp.example|service "
			"email.send:@evil.example:bob@corp.example" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

/* Priority first, then the strictest; deny lists before all, grants after. */
static void test_rules(void **state)
{
	static const struct test_row rows[] = {
		{ "rules: [" RULE("a", "1", "allow", "fs.read", "/a/**") ", " RULE("b", "2", "deny",
			  "fs.read", "/a/b") ", " RULE("c", "3", "ask", "fs.read", "/a/b/c") "]",
			"fs.read /a/x|fs.read /a/b/d", "fs.read /a/b/c",
			"fs.read /a/b|fs.write /a/x" },
		{ "rules: [" RULE("a", "0", "allow", "fs.read", "/a") ", " RULE(
			  "b", "0", "ask", "fs.read", "/a") "]",
			NULL, "fs.read /a", NULL },
		{ "rules: [" RULE("a", "0", "ask", "fs.read", "/a") ", " RULE(
			  "b", "0", "deny", "fs.read", "/a") "]",
			NULL, NULL, "fs.read /a" },
		{ "rules: [" RULE("a", "-2147483648", "deny", "fs.read", "/a") ", " RULE(
			  "b", "2147483647", "allow", "fs.read", "/a") "]",
			"fs.read /a", NULL, NULL },
		{ "{fs: {deny: [/a]}, rules: [" RULE(
			  "a", "2147483647", "allow", "fs.read", "/a") "]}",
			NULL, NULL, "fs.read /a" },
		{ "{fs: {read: [/a, /b]}, rules: [" RULE("a", "-5", "deny", "fs.read", "/a") "]}",
			"fs.read /b", NULL, "fs.read /a" },
		{ "{default: ask, rules: [{id: a, action: allow, enabled: false, operations: "
		  "[fs.read], "
		  "patterns: [/a]}]}",
			NULL, "fs.read /a|fs.write /b|net.connect h.com|env A", NULL },
		{ "rules: [{id: a, action: allow, operations: [fs.read, fs.write], patterns: [/a, "
		  "/b]}]",
			"fs.read /a|fs.write /b", NULL, "fs.read /c" },
	};

	(void)state;
	test_check_rows(rows, ROWS(rows));
}

static void test_modes(void **state)
{
	static const struct test_row rows[] = {
		{ "{mode: audit, fs: {deny: [/s]}, rules: [" RULE("a", "1", "ask", "env", "A") "]}",
			"fs.read /x|exec ls|net.connect h.com|service vault.read", "env A",
			"fs.read /s" },
		{ "{mode: monitor, fs: {deny: [/s]}, rules: [" RULE(
			  "a", "1", "ask", "env", "A") "]}",
			"fs.read /x|exec ls|fs.read /s|env A", NULL, "fs.read /etc/shadow" },
		{ "{default: deny, mode: enforce}", NULL, NULL, "fs.read /x" },
		/* Where TLS is opened, a connection is allowed if some requests are. */
		{ "network: {allow: ['https://h.com/v1/**', 'https://g.com/v1/**'], inspect: "
		  "[h.com:443]}",
			"net.connect h.com:443|net.connect https://h.com/v1/x", NULL,
			"net.connect g.com:443|net.connect h.com:80|net.connect udp://h.com:443|"
			"net.connect https://h.com/v2|net.connect x.h.com:443|net.connect "
			"h.com:443 GET" },
		{ "network: {allow: [h.com:443], deny: ['https://h.com/a/**', 'https://h.com/#'], "
		  "inspect: [h.com:443]}",
			"net.connect h.com:443|net.connect https://h.com/b", NULL,
			"net.connect https://h.com/a/x" },
		{ "network: {allow: [h.com:443], deny: ['https://h.com/a/**', 'https://h.com/#']}",
			"net.connect https://h.com/b", NULL,
			"net.connect h.com:443|net.connect https://h.com/a/x" },
		{ "network: {allow: ['https://h.com/v1/**'], deny: [h.com], inspect: [h.com:443]}",
			NULL, NULL, "net.connect h.com:443|net.connect https://h.com/v1/x" },
		{ "network: {inspect: [h.com:443]}", NULL, NULL, "net.connect h.com:443" },
		{ "{network: {inspect: ['10.1.2.3:443', '10.1.2.4:443'], allow: "
		  "['https://10.1.2.3/v1/**', 'https://10.0.0.0/8/v1/**']}}",
			"net.connect 10.1.2.3:443|net.connect https://10.1.2.3/v1/x", NULL,
			"net.connect 10.1.2.5:443|net.connect https://10.1.2.3/v2" },
		{ "{network: {inspect: [h.com:443]}, rules: [{id: a, action: allow, operations: "
		  "[net.connect], patterns: [h.com], methods: [GET]}]}",
			"net.connect h.com:443|net.connect https://h.com/ GET", NULL,
			"net.connect https://h.com/ POST|net.connect h.com:80" },
		{ "{network: {inspect: [h.com:443], allow: [h.com]}, rules: [{id: a, action: ask, "
		  "operations: [net.connect], patterns: ['https://h.com/a/**']}]}",
			"net.connect h.com:443|net.connect https://h.com/b",
			"net.connect https://h.com/a/b", NULL },
		/* Watching is not blocking, whatever a list of methods says. */
		{ "{mode: monitor, network: {allow: [h.com], methods: [GET]}}",
			"net.connect https://h.com/ POST|net.connect i.com", NULL,
			"net.connect 10.0.0.1|net.connect unix:/x" },
		{ "network: {allow: [h.com], methods: [GET]}",
			"net.connect https://h.com/ GET|net.connect h.com:443", NULL,
			"net.connect https://h.com/ POST|net.connect https://h.com/ get" },
		/* What is guarded needs a grant that names it. */
		{ "{default: allow}", "net.connect h.com|net.connect 8.8.8.8", NULL,
			"net.connect 10.0.0.1|net.connect localhost|net.connect unix:/x" },
		{ "{default: allow, network: {allow: [10.0.0.1]}}", "net.connect 10.0.0.1", NULL,
			"net.connect 10.0.0.2" },
		/* The baseline is no layer's to watch. */
		{ "all_of: [{mode: monitor}, {fs: {read: [/a]}}]", "fs.read /a", NULL,
			"fs.read /b" },
	};
	auto_policy *p = test_compile("{mode: monitor, fs: {read: [/a]}}");
	struct decision d;

	(void)state;
	test_check_rows(rows, ROWS(rows));
	assert_int_equal(test_decide(p, "fs.read /b", &d), 0);
	assert_true(d.monitored);
	assert_int_equal(d.would, VERDICT_DENY);
	assert_int_equal(test_decide(p, "fs.read /a", &d), 0);
	assert_false(d.monitored);
	assert_int_equal(d.would, VERDICT_ALLOW);
}

/* Audit: what nothing matches passes, and is reported; what is denied by a rule does not. */
static void test_audit(void **state)
{
	auto_policy *p = test_compile("{mode: audit, fs: {read: [/a], deny: [/c]}}");
	struct decision d;

	(void)state;
	assert_int_equal(test_decide(p, "fs.read /b", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_true(d.monitored);
	assert_int_equal(d.would, VERDICT_DENY);
	assert_int_equal(test_decide(p, "fs.read /a", &d), 0);
	assert_false(d.monitored);
	assert_int_equal(test_decide(p, "fs.read /c", &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_false(d.monitored);
}

/* The strictest of all counts, and is the one that is reported. */
static void test_layers(void **state)
{
	auto_permissions *a = test_read("{fs: {read: [/a/**]}, limits: {memory: 1G, pids: 5}}");
	auto_permissions *b = test_read("{fs: {read: [/a/b]}, limits: {memory: 2G}, default: ask}");
	const struct permissions *layers[20] = { a, b };
	auto_policy *p = NULL, *none = NULL, *many = NULL;
	struct limits limits;
	struct decision d;

	(void)state;
	assert_int_equal(policy_new(&p, layers, 2, NULL, NULL), 0);
	assert_int_equal(policy_layers(p), 2);
	assert_int_equal(test_decide(p, "fs.read /a/b", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_int_equal(d.n_deny, 0);
	assert_int_equal(test_decide(p, "fs.read /a/c", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ASK);
	assert_int_equal(d.n_deny, 1);
	assert_ptr_equal(d.layer, policy_layer(p, 1));
	assert_int_equal(test_decide(p, "fs.read /b", &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_int_equal(d.n_deny, 2);
	assert_ptr_equal(d.layer, policy_layer(p, 0));
	policy_limits(p, &limits);
	assert_int_equal(limits.values[LIMIT_MEMORY], 1 << 30);
	assert_int_equal(limits.values[LIMIT_PIDS], 5);
	assert_true(limits.values[LIMIT_FUEL] == LIMIT_NONE);

	assert_int_equal(policy_new(&none, NULL, 0, NULL, NULL), 0);
	assert_int_equal(test_decide(none, "fs.read /a", &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
	assert_int_equal(d.why, DECISION_NO_LAYER);
	policy_limits(none, &limits);
	assert_true(limits.values[LIMIT_MEMORY] == LIMIT_NONE);
	assert_int_equal(test_decide(none, "fs.read /etc/shadow", &d), 0);
	assert_int_equal(d.why, DECISION_BASELINE);

	for (size_t i = 2; i < ROWS(layers); i++)
		layers[i] = a;
	assert_int_equal(policy_new(&many, layers, ROWS(layers), NULL, NULL), 0);
	assert_int_equal(test_decide(many, "fs.read /a/b", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_int_equal(test_decide(many, "fs.read /b", &d), 0);
	assert_int_equal(d.n_deny, 20);
}

/* What the layers were made from may be gone. */
static void test_copies(void **state)
{
	struct permissions *a =
		test_read("all_of: [{all_of: [{fs: {read: [/a]}}]}, {fs: {read: [/**]}}]");
	const struct permissions *layer = a;
	auto_policy *p = NULL;
	struct decision d;

	(void)state;
	assert_int_equal(policy_new(&p, &layer, 1, NULL, NULL), 0);
	permissions_free(a);
	assert_int_equal(policy_layers(p), 2);
	assert_int_equal(test_decide(p, "fs.read /a", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_string_equal(d.source->grant->all[0], "/a");
	assert_string_equal(d.source->in->name, "fs.read");
	assert_string_equal(d.source->grant->where.file, "test.yaml");
}

static void test_bad_targets(void **state)
{
	static const struct {
		enum operation op;
		const char *target;
		int code;
	} rows[] = {
		{ OPERATION_FS_READ, "", -EINVAL },
		{ OPERATION_FS_READ, "a/b", -EINVAL },
		{ OPERATION_FS_WRITE, "~/x", -EINVAL },
		{ OPERATION_EXEC, "", -EINVAL },
		{ OPERATION_EXEC, "bin/ls", -EINVAL },
		{ OPERATION_EXEC, "./ls", -EINVAL },
		{ OPERATION_ENV, "", -EINVAL },
		{ OPERATION_ENV, "=x", -EINVAL },
		{ OPERATION_ENV, "A/B", -EINVAL },
		{ OPERATION_SERVICE, "", -EINVAL },
		{ OPERATION_SERVICE, ".read", -EINVAL },
		{ OPERATION_SERVICE, "vault", -EINVAL },
		{ OPERATION_SERVICE, "vault:x", -EINVAL },
		{ OPERATION_SERVICE, "vault.", -EINVAL },
		{ OPERATION_NET_CONNECT, "", -EINVAL },
		{ OPERATION_NET_CONNECT, "h.com:0", -EINVAL },
		{ OPERATION_NET_CONNECT, "h.com:65536", -EINVAL },
		{ OPERATION_NET_CONNECT, "http:80", -EINVAL },
		{ (enum operation)77, "/x", -EINVAL },
		{ OPERATION_FS_READ, NULL, -EINVAL },
	};
	auto_policy *p = test_compile("default: allow");

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct request q = { .op = rows[i].op, .target = rows[i].target };
		struct decision d;
		int r = policy_decide(p, &q, &d);

		if (r != rows[i].code || d.verdict != VERDICT_DENY || d.why != DECISION_BAD_TARGET)
			fail_msg("<%s>: %d", rows[i].target ? rows[i].target : "NULL", r);
		assert_int_equal(policy_decide_layer(p, 0, &q, &d), r);
		assert_int_equal(d.verdict, VERDICT_DENY);
	}
}

/* Paths of 4095 bytes are judged, longer ones are not; so are long values and arguments. */
static void test_lengths(void **state)
{
	static char text[70000];
	auto_policy *p = test_compile("{fs: {read: [/a**, '/a*/**']}, env: [A], exec: [git]}");
	const char *args[] = { text };
	struct request q = { .op = OPERATION_FS_READ, .target = text };
	struct decision d;

	(void)state;
	memset(text, 'a', sizeof(text) - 1);
	text[0] = '/';
	text[4095] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	text[4094] = '/';
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	text[4095] = 'a';
	text[4096] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), -ENAMETOOLONG);
	assert_int_equal(d.verdict, VERDICT_DENY);

	q.op = OPERATION_ENV;
	memset(text, 'a', sizeof(text) - 1);
	memcpy(text, "A=", 2);
	text[4094] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	text[4094] = 'a';
	text[4095] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), -EINVAL);

	q.op = OPERATION_SERVICE;
	memcpy(text, "vault.read:", 11);
	assert_int_equal(policy_decide(p, &q, &d), 0);
	text[4095] = 'a';
	text[4096] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), -ENAMETOOLONG);

	q.op = OPERATION_EXEC;
	q.target = "git";
	q.args = args;
	q.n_args = 1;
	text[4095] = 'a';
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	q.target = text;
	text[0] = '/';
	assert_int_equal(policy_decide(p, &q, &d), -ENAMETOOLONG);
}

/* Names of 253 bytes are names, longer ones are not; case and a dot at the end make no difference.
 */
static void test_long_hosts(void **state)
{
	char name[300];
	auto_policy *p = test_compile("network: {allow: ['*']}");
	struct request q = { .op = OPERATION_NET_CONNECT, .target = name };
	struct decision d;

	(void)state;
	memset(name, 'a', sizeof(name));
	for (size_t i = 62; i < sizeof(name); i += 62)
		name[i] = '.';
	name[253] = '\0';
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	name[253] = 'a';
	name[254] = '\0';
	assert_true(policy_decide(p, &q, &d) < 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
}

/* A request is not taken for another one by what it holds. */
static void test_bytes(void **state)
{
	static const struct test_row rows[] = {
		{ "fs: {read: [/a]}", NULL, NULL, "fs.read /a\x01|fs.read /A|fs.read /a\xc2\xad" },
		{ "exec: ['git a:']", NULL, NULL, "exec git a/|exec git \x01|exec git/a" },
		{ "exec: ['/bin/sh \\/x:*']", "exec /bin/sh /x|exec /bin/sh /x y", NULL,
			"exec /bin/sh|exec /bin|exec /bin/sh/x|exec /bin/sh x" },
	};
	auto_policy *p = test_compile("exec: ['git a']");
	const char *const empty[] = { "", "a" }, *const split[] = { "a", "" };
	struct request q = { .op = OPERATION_EXEC, .target = "git", .args = empty, .n_args = 2 };
	struct decision d;

	(void)state;
	test_check_rows(rows, ROWS(rows));
	/* Empty arguments count. */
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
	q.args = split;
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);
	q.n_args = 1;
	assert_int_equal(policy_decide(p, &q, &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
}

/* Compiling */

static int compile(const char *yaml, const struct policy_options *o, struct error *e)
{
	auto_permissions *p = test_read(yaml);
	const struct permissions *layer = p;
	auto_policy *policy = NULL;

	*e = (struct error){ 0 };
	return policy_new(&policy, &layer, 1, o, e);
}

static void test_variables_unknown(void **state)
{
	static const char *const rows[] = {
		"fs:\n  read: [$SKILL_DIR/x]",
		"fs:\n  write: ['$SKILL_DIR']",
		"fs:\n  deny: ['$SKILL_DIR']",
		"exec:\n  [$SKILL_DIR/x]",
		"exec:\n  [{all: [git, $SKILL_DIR/x]}]",
		"dangerously_allow:\n  [$SKILL_DIR/x]",
		"guest_paths:\n  [{guest: /g, host: $SKILL_DIR, mode: ro}]",
		"rules:\n  [{id: a, action: deny, operations: [fs.read], patterns: [$SKILL_DIR]}]",
		"all_of: [{}, {fs:\n  {read: [$SKILL_DIR/x]}}]",
	};
	struct variables some = { .values = { [VARIABLE_HOME] = "/h" } };
	const struct policy_options o = { .variables = &some };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct error e;

		assert_int_equal(compile(rows[i], NULL, &e), -ENOENT);
		assert_int_equal(compile(rows[i], &o, &e), -ENOENT);
		assert_non_null(strstr(e.text, "$SKILL_DIR has no value"));
		assert_string_equal(e.file, "test.yaml");
		assert_int_equal(e.line, 2);
		some.values[VARIABLE_SKILL_DIR] = "relative";
		assert_int_equal(compile(rows[i], &o, &e), -EINVAL);
		assert_int_equal(e.line, 2);
		some.values[VARIABLE_SKILL_DIR] = NULL;
		assert_int_equal(compile(rows[i], &test_options, &e), 0);
	}
}

/* A home folder that a link leads to: its secrets are such under both names. */
static void test_real_home(void **state)
{
	static const struct {
		const char *request;
		enum verdict with, without;
	} rows[] = {
		{ "fs.read /users/a/.ssh/id_rsa", VERDICT_DENY, VERDICT_DENY },
		{ "fs.read /disk/a/.ssh/id_rsa", VERDICT_DENY, VERDICT_ALLOW },
		{ "fs.read /disk/a/notes", VERDICT_ALLOW, VERDICT_ALLOW },
		{ "fs.read /disk/b/.ssh/id_rsa", VERDICT_ALLOW, VERDICT_ALLOW },
	};
	const struct variables vars = { .values = { [VARIABLE_HOME] = "/users/a" } };
	struct policy_options o = { .variables = &vars, .real_home = "/disk/a" };
	auto_permissions *p = test_read("fs: {read: [/**]}");
	const struct permissions *layer = p;
	auto_policy *with = NULL, *without = NULL;
	struct decision d;

	(void)state;
	assert_int_equal(policy_new(&with, &layer, 1, &o, NULL), 0);
	o.real_home = NULL;
	assert_int_equal(policy_new(&without, &layer, 1, &o, NULL), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(test_decide(with, rows[i].request, &d), 0);
		assert_int_equal(d.verdict, rows[i].with);
		assert_int_equal(test_decide(without, rows[i].request, &d), 0);
		assert_int_equal(d.verdict, rows[i].without);
	}
}

/* Patterns that no reader lets through, made by code: they are refused, not skipped. */
static void test_bad_patterns(void **state)
{
	static const struct {
		size_t list;
		const char *pattern;
		int code;
	} rows[] = {
		{ offsetof(struct permissions, fs_read), "", -EINVAL },
		{ offsetof(struct permissions, fs_read), "a", -EINVAL },
		{ offsetof(struct permissions, fs_read), "/a/..", -EINVAL },
		{ offsetof(struct permissions, fs_write), "/[", -EINVAL },
		{ offsetof(struct permissions, fs_deny), "/{", -EINVAL },
		{ offsetof(struct permissions, fs_read), "$NOPE/x", -EINVAL },
		{ offsetof(struct permissions, fs_read), "/a$HOME", -EINVAL },
		{ offsetof(struct permissions, dangerously_allow), "x", -EINVAL },
		{ offsetof(struct permissions, network_allow), "", -EINVAL },
		{ offsetof(struct permissions, network_allow), "h..com", -EINVAL },
		{ offsetof(struct permissions, network_deny), "h.com:0", -EINVAL },
		{ offsetof(struct permissions, exec), "", -EINVAL },
		{ offsetof(struct permissions, exec), "a*", -EINVAL },
		{ offsetof(struct permissions, exec), "/[", -EINVAL },
		{ offsetof(struct permissions, env), "[", -EINVAL },
		{ offsetof(struct permissions, fs_read),
			"/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", -E2BIG },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = permissions_new();
		const struct permissions *layer = p;
		const struct location where = { "f.yaml", 7, 3 };
		auto_policy *policy = NULL;
		struct error e = { 0 };
		int r;

		assert_int_equal(permissions_add(p, (struct grant_list *)((char *)p + rows[i].list),
					 rows[i].pattern, &where),
			0);
		r = policy_new(&policy, &layer, 1, &test_options, &e);
		if (r != rows[i].code || e.line != 7 || strcmp(e.file, "f.yaml") != 0 || !e.text[0])
			fail_msg("<%s>: %d %s:%u: %s", rows[i].pattern, r, e.file, e.line, e.text);
		assert_null(policy);
	}
}

/* An entry with no names at all, with too many, with a command that is too long. */
static void test_odd_entries(void **state)
{
	static char word[5000];
	auto_permissions *p = permissions_new(), *q = permissions_new();
	const struct permissions *layers[] = { p, q };
	const char *patterns[70];
	auto_policy *policy = NULL;
	struct error e = { 0 };
	struct decision d;

	(void)state;
	for (size_t i = 0; i < ROWS(patterns); i++)
		patterns[i] = i % 2 ? "/a*" : "/*b";
	assert_int_equal(permissions_add_all(p, &p->fs_read, patterns, 65, NULL), 0);
	assert_int_equal(permissions_add_all(p, &p->env, patterns, 65, NULL), 0);
	assert_int_equal(policy_new(&policy, layers, 1, NULL, &e), 0);
	assert_int_equal(test_decide(policy, "fs.read /axb", &d), 0);
	assert_int_equal(d.verdict, VERDICT_ALLOW);
	assert_int_equal(test_decide(policy, "fs.read /ax", &d), 0);
	assert_int_equal(d.verdict, VERDICT_DENY);

	memset(word, 'a', sizeof(word) - 1);
	q->exec_listed = true;
	assert_int_equal(permissions_add(q, &q->exec, word, NULL), 0);
	policy_free(policy);
	policy = NULL;
	assert_int_equal(policy_new(&policy, layers, 2, NULL, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too long"));
}

/* Patterns that explode are bounded in number, and so is what a few groups can stand for. */
static void test_too_complex(void **state)
{
	auto_permissions *p = permissions_new(), *q = permissions_new();
	const struct permissions *layer = p;
	auto_policy *policy = NULL;
	struct error e = { 0 };

	(void)state;
	for (unsigned i = 0; i < 300; i++) {
		char text[64];

		(void)snprintf(
			text, sizeof(text), "/f%u/*a????????????????????????????????%u", i, i);
		assert_int_equal(permissions_add(p, &p->fs_read, text, NULL), 0);
	}
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too complex"));

	for (unsigned i = 0; i < 1500; i++) {
		char text[64];

		(void)snprintf(
			text, sizeof(text), "/{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}*%u", i);
		assert_int_equal(permissions_add(q, &q->fs_read, text, NULL), 0);
	}
	layer = q;
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, &e), -E2BIG);
	assert_non_null(strstr(e.text, "too many"));
}

/* Programs by name, with links */

static int find_nothing(
	void *context, const char *name, int (*found)(void *data, const char *path), void *data)
{
	(void)name;
	(void)found;
	(void)data;
	return *(int *)context;
}

static int find_hops(
	void *context, const char *name, int (*found)(void *data, const char *path), void *data)
{
	int r = 0;

	(void)context;
	if (strcmp(name, "python") == 0 || strcmp(name, "/usr/bin/python") == 0) {
		r = found(data, "/usr/bin/python");
		if (r == 0)
			r = found(data, "/usr/bin/python3");
		if (r == 0)
			r = found(data, "/opt/python/bin/python3");
		return r;
	}
	return -ENOENT;
}

static void test_resolver(void **state)
{
	static const struct {
		const char *yaml, *allowed, *denied;
	} rows[] = {
		{ "exec: [python, nope]",
			"exec python|exec nope|exec /usr/bin/python|exec /usr/bin/python3|"
			"exec /opt/python/bin/python3",
			"exec /usr/bin/nope|exec python3" },
		{ "exec: ['python -c:*']", "exec /usr/bin/python3 -c x|exec python -c",
			"exec /usr/bin/python3" },
		{ "exec: [/usr/bin/python]", "exec /opt/python/bin/python3|exec /usr/bin/python",
			"exec python" },
		{ "exec: ['/usr/bin/{python,perl}']",
			"exec /opt/python/bin/python3|exec /usr/bin/perl", "exec /opt/python" },
		{ "exec: [{all: [python, /usr/**]}]", "exec /usr/bin/python3",
			"exec python|exec /opt/python/bin/python3" },
		{ "exec: [{all: [python, '*']}]", "exec python|exec /opt/python/bin/python3",
			"exec ls" },
		{ "exec: [/usr/bin/*]", "exec /usr/bin/python", "exec /opt/python/bin/python3" },
	};
	const struct resolver resolver = { .programs = find_hops };
	const struct policy_options o = { .variables = &test_variables, .resolver = &resolver };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = test_read(rows[i].yaml);
		const struct permissions *layer = p;
		auto_policy *policy = NULL;

		assert_int_equal(policy_new(&policy, &layer, 1, &o, NULL), 0);
		test_check_requests(policy, rows[i].yaml, rows[i].allowed, VERDICT_ALLOW);
		test_check_requests(policy, rows[i].yaml, rows[i].denied, VERDICT_DENY);
	}
}

static void test_resolver_fails(void **state)
{
	int code = -EIO;
	const struct resolver resolver = { .context = &code, .programs = find_nothing };
	const struct policy_options o = { .variables = &test_variables, .resolver = &resolver };
	struct error e;

	(void)state;
	assert_int_equal(compile("exec: [git]", &o, &e), -EIO);
	assert_int_equal(compile("exec: [/bin/git]", &o, &e), -EIO);
	code = -ENOENT;
	assert_int_equal(compile("exec: [git, /bin/git]", &o, &e), 0);
	code = 0;
	assert_int_equal(compile("exec: [git, /bin/git]", &o, &e), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_baseline),
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_env),
		cmocka_unit_test(test_secrets),
		cmocka_unit_test(test_services),
		cmocka_unit_test(test_rules),
		cmocka_unit_test(test_modes),
		cmocka_unit_test(test_audit),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_copies),
		cmocka_unit_test(test_bad_targets),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_long_hosts),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_variables_unknown),
		cmocka_unit_test(test_bad_patterns),
		cmocka_unit_test(test_odd_entries),
		cmocka_unit_test(test_too_complex),
		cmocka_unit_test(test_resolver),
		cmocka_unit_test(test_real_home),
		cmocka_unit_test(test_resolver_fails),
	};

	return cmocka_run_group_tests_name("policy", tests, NULL, NULL);
}
