/* SPDX-License-Identifier: Apache-2.0 */
/* The tables as they were generated: what is in them, and that nothing in them is in vain. */
#include "policy/network/test/test-host.h"

#include "base/array.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"

static struct host_request request(const char *text)
{
	struct host_request r;

	check_code(text, host_request_parse(&r, text, NULL), 0);
	return r;
}

static const struct {
	const char *target;
	const char *never, *guard; /* the entry's text; NULL: none */
} nets[] = {
	{ "example.com:443", NULL, NULL },
	{ "8.8.8.8:53", NULL, NULL },
	{ "[2606:4700::1]:443", NULL, NULL },
	{ "unix:/run/x", NULL, NULL },
	{ "169.254.169.254:80", "169.254.169.254", "169.254.0.0/16" },
	{ "[::ffff:169.254.169.254]:80", "169.254.169.254", "169.254.0.0/16" },
	{ "[64:ff9b::169.254.169.254]:80", "169.254.169.254", "169.254.0.0/16" },
	{ "[2002:a9fe:a9fe::]:80", "169.254.169.254", "169.254.0.0/16" },
	{ "http://2852039166/", "169.254.169.254", "169.254.0.0/16" },
	{ "http://0xA9.0376.43518/", "169.254.169.254", "169.254.0.0/16" },
	{ "udp://169.254.169.254:53", "169.254.169.254", "169.254.0.0/16" },
	{ "169.254.169.253:53", NULL, "169.254.0.0/16" },
	{ "169.254.170.2:80", "169.254.170.2", "169.254.0.0/16" },
	{ "[fd00:ec2::254]:80", "fd00:ec2::254", "fc00::/7" },
	{ "[fd20:ce::254]:80", "fd20:ce::254", "fc00::/7" },
	{ "100.100.100.200:80", "100.100.100.200", "100.64.0.0/10" },
	{ "192.0.0.192:80", "192.0.0.192", "192.0.0.0/24" },
	{ "168.63.129.16:80", "168.63.129.16", NULL },
	{ "168.63.129.17:80", NULL, NULL },
	{ "metadata.google.internal", "metadata.google.internal", "internal" },
	{ "METADATA.google.internal.", "metadata.google.internal", "internal" },
	{ "x.metadata.google.internal", "metadata.google.internal", "internal" },
	{ "metadata.goog", "metadata.goog", NULL },
	{ "xmetadata.goog", NULL, NULL },
	{ "instance-data:80", "instance-data", NULL },
	{ "instance-data.ec2.internal:80", "instance-data.ec2.internal", "internal" },
	{ "127.0.0.1", NULL, "127.0.0.0/8" },
	{ "127.255.255.255", NULL, "127.0.0.0/8" },
	{ "126.255.255.255", NULL, NULL },
	{ "128.0.0.0", NULL, NULL },
	{ "0.0.0.0", NULL, "0.0.0.0/8" },
	{ "[::]", NULL, "::" },
	{ "[::1]", NULL, "::1" },
	{ "[::2]", NULL, "0.0.0.0/8" },
	{ "10.0.0.0", NULL, "10.0.0.0/8" },
	{ "9.255.255.255", NULL, NULL },
	{ "11.0.0.0", NULL, NULL },
	{ "172.15.255.255", NULL, NULL },
	{ "172.16.0.0", NULL, "172.16.0.0/12" },
	{ "172.31.255.255", NULL, "172.16.0.0/12" },
	{ "172.32.0.0", NULL, NULL },
	{ "192.168.0.0", NULL, "192.168.0.0/16" },
	{ "192.169.0.0", NULL, NULL },
	{ "100.63.255.255", NULL, NULL },
	{ "100.64.0.0", NULL, "100.64.0.0/10" },
	{ "100.128.0.0", NULL, NULL },
	{ "192.0.2.1", NULL, "192.0.2.0/24" },
	{ "198.18.0.1", NULL, "198.18.0.0/15" },
	{ "198.51.100.1", NULL, "198.51.100.0/24" },
	{ "203.0.113.1", NULL, "203.0.113.0/24" },
	{ "223.255.255.255", NULL, NULL },
	{ "224.0.0.1", NULL, "224.0.0.0/4" },
	{ "239.255.255.255", NULL, "224.0.0.0/4" },
	{ "240.0.0.0", NULL, "240.0.0.0/4" },
	{ "255.255.255.255", NULL, "240.0.0.0/4" },
	{ "[fe80::1]", NULL, "fe80::/10" },
	{ "[fec0::1]", NULL, "fec0::/10" },
	{ "[fc00::]", NULL, "fc00::/7" },
	{ "[fdff::1]", NULL, "fc00::/7" },
	{ "[ff02::1]", NULL, "ff00::/8" },
	{ "[2001:db8::1]", NULL, "2001:db8::/32" },
	{ "[2001:0:1::1]", NULL, "2001::/23" },
	{ "[2001:200::1]", NULL, NULL },
	{ "[64:ff9b:1:a00:0:100:808:808]", NULL, "64:ff9b:1::/48" },
	{ "[100::1]", NULL, "100::/64" },
	{ "localhost", NULL, "localhost" },
	{ "a.b.localhost", NULL, "localhost" },
	{ "notlocalhost", NULL, NULL },
	{ "localhost.com", NULL, NULL },
	{ "printer.local", NULL, "local" },
	{ "x.internal", NULL, "internal" },
	{ "localhost.localdomain", NULL, "localdomain" },
	{ "x.home.arpa", NULL, "home.arpa" },
	{ "home.arpa", NULL, "home.arpa" },
	{ "1.in-addr.arpa", NULL, NULL },
	{ "x.lan", NULL, "lan" },
	{ "x.corp", NULL, "corp" },
	{ "x.intranet", NULL, "intranet" },
	{ "x.intranet.com", NULL, NULL },
};

static const char *text_of(const struct baseline_net *net)
{
	return net ? baseline_net_text(net) : "(none)";
}

static void places_are_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(nets); i++) {
		struct host_request r = request(nets[i].target);

		check_text(nets[i].target, text_of(baseline_never(&r)),
			nets[i].never ? nets[i].never : "(none)");
		check_text(nets[i].target, text_of(baseline_guard(&r)),
			nets[i].guard ? nets[i].guard : "(none)");
	}
}

/* Every entry is found by what it names; a lookup that only works for some would be a hole. */
static void every_entry_is_found(void **state)
{
	(void)state;
	for (size_t i = 0; i < baseline_n_nets; i++) {
		const struct baseline_net *net = &baseline_nets[i];
		struct host_request r = { .transport = TRANSPORT_TCP };
		struct prefix ignored;

		if (net->is_name) {
			(void)snprintf(r.name, sizeof(r.name), "%s", baseline_net_text(net));
		} else {
			r.is_address = true;
			r.address = net->prefix.address;
			assert_false(prefix_plain(&net->prefix, &ignored));
		}
		check_text(baseline_net_text(net),
			text_of(net->never ? baseline_never(&r) : baseline_guard(&r)),
			baseline_net_text(net));
		assert_true(baseline_net_why(net)[0] != '\0');
	}
}

/* host_pattern_meet() rests on these. */
static void localhost_is_guarded(void **state)
{
	static const char *const targets[] = { "localhost", "127.0.0.1", "[::1]" };

	(void)state;
	for (size_t i = 0; i < ROWS(targets); i++) {
		struct host_request r = request(targets[i]);

		assert_non_null(baseline_guard(&r));
	}
}

static const struct {
	const char *path;
	bool secret, system;
} paths[] = {
	{ "~/.ssh/id_ed25519", true, false },
	{ "~/.ssh/authorized_keys", true, false },
	{ "~/.aws/credentials", true, false },
	{ "~/.config/gcloud/x/y", true, false },
	{ "~/.npmrc", true, false },
	{ "~/.npmrc.bak", false, false },
	{ "~/.config/Bitwarden CLI/data.json", true, false },
	{ "~/Library/Application Support/Google/Chrome/Default/Cookies", true, false },
	{ "/etc/shadow", true, true },
	{ "/etc/ssh/ssh_host_ed25519_key", true, true },
	{ "/etc/ssh/ssh_host_ed25519_key.pub", false, true },
	{ "/proc/1/environ", true, true },
	{ "/proc/self/task/7/mem", true, true },
	{ "/proc/self/status", false, true },
	{ "/etc/hosts", false, true },
	{ "/usr", false, true },
	{ "/usr/local/bin/x", false, true },
	{ "/lib64/ld.so", false, true },
	{ "/library", false, false },
	{ "~/.bashrc", false, true },
	{ "~/.config/autostart/x.desktop", false, true },
	{ "~/.config/systemd/user/x.service", false, true },
	{ "~/.config/corral/policy.yaml", false, true },
	{ "~/.local/state/corral/audit.db.key", true, false },
	{ "/var/lib/corral/audit.db", true, true },
	{ "~/src/project/.bashrc", false, false },
	{ "~/notes.txt", false, false },
	{ "/dev/sda1", false, true },
	{ "/dev/tty1", false, true },
	{ "/dev/input/event0", false, true },
	{ "/dev/mem", true, false },
	/* What programs write to all the time. */
	{ "/dev/null", false, false },
	{ "/dev/zero", false, false },
	{ "/dev/full", false, false },
	{ "/dev/random", false, false },
	{ "/dev/urandom", false, false },
	{ "/dev/tty", false, false },
	{ "/dev/ptmx", false, false },
	{ "/dev/pts/3", false, false },
	{ "/dev/shm/x", false, false },
	{ "/dev/fd/1", false, false },
	{ "/dev/stdin", false, false },
	{ "/dev/stdout", false, false },
	{ "/dev/stderr", false, false },
	{ "/tmp/x", false, false },
	{ "/var/tmp/x", false, false },
	{ "/home/x/y", false, false },
};

/* "~/" as a folder of its own is enough here: what it expands to is the policy's matter. */
static bool covers(const char *pattern, const char *path)
{
	bool home = pattern[0] == '~';

	return home == (path[0] == '~') && glob_match_text(pattern + home, path + home);
}

static void paths_are_covered(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(paths); i++) {
		bool secret = false, system = false;

		for (size_t j = 0; j < baseline_n_paths; j++) {
			bool covered =
				covers(baseline_path_pattern(&baseline_paths[j]), paths[i].path);

			secret |= covered && baseline_paths[j].secret;
			system |= covered && !baseline_paths[j].secret;
		}
		check_yes(paths[i].path, "secret", secret, paths[i].secret);
		check_yes(paths[i].path, "system", system, paths[i].system);
	}
}

/* The homes of agents are not the system's; what lies beside them is. */
static void free_folders(void **state)
{
	static const struct {
		const char *path;
		bool system;
	} rows[] = {
		{ "/var/lib/agenshield/agent/workspace/x", false },
		{ "/var/lib/agenshield/agent", false },
		{ "/var/lib/agenshield/agentx", true },
		{ "/var/lib/agenshield/broker/x", true },
		{ "/var/lib/agenshield", true },
		{ "/var/lib/corral-agent/work", false },
		{ "/var/lib/dpkg/status", true },
	};
	const struct baseline_home none = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct baseline_path *found =
			baseline_paths_match(&none, true, rows[i].path, strlen(rows[i].path));

		check_yes(rows[i].path, "system", found != NULL, rows[i].system);
	}
}

static void patterns_are_globs(void **state)
{
	(void)state;
	for (size_t i = 0; i < baseline_n_paths; i++) {
		const char *pattern = baseline_path_pattern(&baseline_paths[i]);

		check_code(pattern, glob_check(pattern + (pattern[0] == '~'), NULL), 0);
		assert_true(baseline_path_why(&baseline_paths[i])[0] != '\0');
	}
}

static const struct {
	const char *path;
	bool here, below;
} reaches[] = {
	{ "/", false, true },
	{ "/home", false, true },
	{ "/home/x", false, true },
	{ "/home/x/.config", false, true },
	{ "/home/x/.config/gcloud", true, false },
	{ "/home/x/.config/gcloud/a", true, false },
	{ "/home/x/.netrc", true, false },
	{ "/home/x/.netrcs", false, false },
	{ "/home/x/src", false, false },
	{ "/root", false, true },
	{ "/root/.aws", true, false },
	/* The user's own home, and what leads to it. */
	{ "/srv", false, true },
	{ "/srv/me", false, true },
	{ "/srv/me/.ssh", true, false },
	{ "/srv/you", false, false },
	{ "/etc", false, true },
	{ "/etc/shadow", true, false },
	{ "/etc/ssh", false, true },
	{ "/etc/ssh/ssh_host_new_key", true, false },
	{ "/etc/ssh/sshd_config", false, false },
	{ "/run/user", false, true },
	{ "/run/user/7", false, true },
	{ "/run/user/7/corral", true, false },
	/* What may be read and not written is of no interest. */
	{ "/home/x/.ssh/known_hosts", false, false },
	{ "/usr", false, false },
	{ "/home/x/.bashrc", false, false },
};

static void reach_is_told(void **state)
{
	const struct baseline_home home = baseline_paths_home("/srv/me");

	(void)state;
	for (size_t i = 0; i < ROWS(reaches); i++) {
		const char *path = reaches[i].path;
		unsigned found = baseline_paths_reach(&home, path, strlen(path));

		check_yes(path, "here", found & BASELINE_HERE, reaches[i].here);
		check_yes(path, "below", found & BASELINE_BELOW, reaches[i].below);
	}
}

/* Is this name among the children? */
struct wanted {
	const char *name;
	size_t len;
	bool is_there;
};

static int note_child(void *data, const char *name, size_t len)
{
	struct wanted *w = data;

	w->is_there = w->is_there || (len == w->len && memcmp(name, w->name, len) == 0);
	return 0;
}

/* Who goes down from the root by the children's names comes by every secret. */
static void children_lead_everywhere(void **state)
{
	static const char *const homes[] = { "/home/x", "/root", "/srv/me" };
	const struct baseline_home home = baseline_paths_home("/srv/me");

	(void)state;
	for (size_t i = 0; i < baseline_n_paths * ROWS(homes); i++) {
		const struct baseline_path *entry = &baseline_paths[i / ROWS(homes)];
		bool is_home = baseline_path_pattern(entry)[0] == '~';
		size_t len;
		char path[256];

		(void)snprintf(path, sizeof(path), "%s%s", is_home ? homes[i % ROWS(homes)] : "",
			baseline_path_pattern(entry) + is_home);
		len = strlen(path);
		if (len > 3 && strcmp(path + len - 3, "/**") == 0)
			len -= 3;
		path[len] = '\0';
		if (!entry->secret || strpbrk(path, "*?["))
			continue;
		assert_true(baseline_paths_reach(&home, path, len) & BASELINE_HERE);
		for (char *slash = path; slash; slash = strchr(slash + 1, '/')) {
			size_t n = slash == path ? 1 : (size_t)(slash - path);
			struct wanted w = { slash + 1, strcspn(slash + 1, "/"), false };
			unsigned found = baseline_paths_reach(&home, path, n);
			int r = baseline_paths_children(&home, path, n, note_child, &w);

			check_yes(path, "leads", found != 0, true);
			check_yes(
				path, "child", w.is_there || r == 1 || found & BASELINE_HERE, true);
		}
	}
}

/* Single files in a secret folder that may be read, and never written. */
static void public_files(void **state)
{
	static const struct {
		const char *path;
		bool may_read;
	} rows[] = {
		{ "/home/x/.ssh/known_hosts", true },
		{ "/root/.ssh/known_hosts", true },
		{ "/srv/me/.ssh/known_hosts", true },
		{ "/srv/other/.ssh/known_hosts", true },
		{ "/home/x/.ssh/known_hosts/x", false },
		{ "/home/x/.ssh/known_hosts2", false },
		{ "/home/x/.ssh/id_ed25519", false },
		{ "/home/x/.ssh", false },
		/* Below a folder that is secret for another reason. */
		{ "/run/secrets/.ssh/known_hosts", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *path = rows[i].path;
		struct baseline_home home =
			baseline_paths_home(path[1] == 'r' ? "/run/secrets" : "/srv/me");
		const struct baseline_path *read =
			baseline_paths_match(&home, false, path, strlen(path));

		check_yes(path, "read", !read, rows[i].may_read);
		check_yes(path, "write", !baseline_paths_match(&home, true, path, strlen(path)),
			strcmp(path, "/srv/other/.ssh/known_hosts") == 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_found),
		cmocka_unit_test(every_entry_is_found),
		cmocka_unit_test(localhost_is_guarded),
		cmocka_unit_test(paths_are_covered),
		cmocka_unit_test(free_folders),
		cmocka_unit_test(public_files),
		cmocka_unit_test(patterns_are_globs),
		cmocka_unit_test(reach_is_told),
		cmocka_unit_test(children_lead_everywhere),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
