/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of Anthropic's sandbox runtime (srt): ~/.srt-settings.json. Its `network` and
 * `filesystem` are also what Claude Code has below `sandbox`. */
#include "base/array.h"
#include "cli/import/srt.h"

static void srt_allow_host(struct importing *im, const struct node *n)
{
	import_host(im, LIST_NETWORK_ALLOW, n);
}

static void srt_deny_host(struct importing *im, const struct node *n)
{
	import_host(im, LIST_NETWORK_DENY, n);
}

static void srt_allowed_hosts(struct importing *im, const struct node *n)
{
	import_each(im, n, srt_allow_host);
}

static void srt_denied_hosts(struct importing *im, const struct node *n)
{
	import_each(im, n, srt_deny_host);
}

static void srt_socket(struct importing *im, const struct node *n)
{
	import_note(im, n,
		"the socket `%s`: srt does not allow it on Linux. A program behind a socket acts "
		"with "
		"your rights; add network: {allow: [\"unix:%s\"]} if that is meant",
		n->text, n->text);
}

static void srt_sockets(struct importing *im, const struct node *n)
{
	import_each(im, n, srt_socket);
}

static void srt_all_sockets(struct importing *im, const struct node *n)
{
	bool is_set = false;

	if (node_boolean(n, &is_set) < 0 || is_set)
		import_note(
			im, n, "all Unix sockets cannot be granted: name those that are needed");
}

static void srt_local_binding(struct importing *im, const struct node *n)
{
	bool is_set = false;

	if (node_boolean(n, &is_set) < 0 || is_set)
		import_note(im, n,
			"ports can always be opened inside; to reach one from this machine add "
			"network: {listen: [PORT]}");
}

void import_srt_network(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "allowedDomains", srt_allowed_hosts, NULL },
		{ "deniedDomains", srt_denied_hosts, NULL },
		{ "allowUnixSockets", srt_sockets, NULL },
		{ "allowAllUnixSockets", srt_all_sockets, NULL },
		{ "allowLocalBinding", srt_local_binding, NULL },
		{ "strictAllowlist", NULL, NULL },
		{ "allowManagedDomainsOnly", NULL, NULL },
		{ "deniedDomainReasons", NULL, "reasons of denied hosts are not kept" },
		{ "deniedResolvedAddresses", NULL,
			"private addresses are denied without it; others: network: {deny: "
			"[ADDRESS/BITS]}" },
		{ "allowMachLookup", NULL, NULL },
		{ "httpProxyPort", NULL, "Corral needs no proxy inside" },
		{ "socksProxyPort", NULL, "Corral needs no proxy inside" },
		{ "mitmProxy", NULL, "Corral does not send hosts through another proxy" },
		{ "filterRequest", NULL, "requests inside TLS are not filtered" },
		{ "tlsTerminate", NULL, "TLS stays end to end" },
		{ "parentProxy", NULL,
			"Corral does not connect through a proxy: grant its host instead" },
	};

	import_map(im, n, "network", keys, ROWS(keys));
}

static void srt_read(struct importing *im, const struct node *n)
{
	import_path(im, LIST_FS_READ, n->text, true, n);
}

static void srt_write(struct importing *im, const struct node *n)
{
	import_path(im, LIST_FS_WRITE, n->text, true, n);
}

static void srt_deny_read(struct importing *im, const struct node *n)
{
	import_deny_path(im, OPERATION_FS_READ, n->text, false, n);
}

static void srt_deny_write(struct importing *im, const struct node *n)
{
	import_deny_path(im, OPERATION_FS_WRITE, n->text, false, n);
}

static void srt_reads(struct importing *im, const struct node *n)
{
	import_each(im, n, srt_read);
}

static void srt_writes(struct importing *im, const struct node *n)
{
	import_each(im, n, srt_write);
}

static void srt_disabled(struct importing *im, const struct node *n)
{
	bool is_set = false;

	if (node_boolean(n, &is_set) < 0 || is_set)
		import_note(im, n, "files are never left open: the project and what is granted");
}

void import_srt_filesystem(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "allowRead", srt_reads, NULL },
		{ "allowWrite", srt_writes, NULL },
		{ "denyRead", NULL, NULL },
		{ "denyWrite", NULL, NULL },
		{ "disabled", srt_disabled, NULL },
		{ "allowManagedReadPathsOnly", NULL, NULL },
		{ "allowGitConfig", NULL,
			"add fs: {write: [$WORK_DIR/.git/config]} if commands may change it" },
	};
	const struct node *denied;

	import_map(im, n, "filesystem", keys, ROWS(keys));
	import_choose_profile(im);
	im->denying++;
	denied = node_get(n, "denyRead");
	if (denied)
		import_each(im, denied, srt_deny_read);
	denied = node_get(n, "denyWrite");
	if (denied)
		import_each(im, denied, srt_deny_write);
	im->denying--;
}

void import_srt_reads_note(struct importing *im, const struct node *root)
{
	import_note(im, root,
		"reading is not open: commands see the project, the system's programs and what "
		"fs.read grants; `corral run --explain` names what else a command looks for");
}

static bool srt_matches(const struct node *root)
{
	const struct node *files = node_get(root, "filesystem"), *net = node_get(root, "network");

	return (files && (node_get(files, "allowWrite") || node_get(files, "denyRead"))) ||
	       (net && node_get(net, "allowedDomains"));
}

static void srt_take(struct importing *im, const struct node *root)
{
	static const struct import_key keys[] = {
		{ "network", import_srt_network, NULL },
		{ "filesystem", import_srt_filesystem, NULL },
		{ "credentials", NULL,
			"secrets are in the vault: `corral vault set NAME`, then `corral vault "
			"grant NAME HOST`" },
		{ "ignoreViolations", NULL, NULL },
		{ "enableWeakerNestedSandbox", NULL, "a sandbox inside Corral is not weakened" },
		{ "enableWeakerNetworkIsolation", NULL, "the network is not weakened" },
		{ "ripgrep", NULL, NULL },
		{ "mandatoryDenySearchDepth", NULL, NULL },
		{ "allowPty", NULL, NULL },
		{ "allowAppleEvents", NULL, NULL },
		{ "seccomp", NULL, NULL },
		{ "bwrapPath", NULL, NULL },
		{ "socatPath", NULL, NULL },
		{ "javaAgentJarPath", NULL, NULL },
		{ "windows", NULL, NULL },
		{ "git", NULL, "git's settings are the user's own" },
		{ "$schema", NULL, NULL },
	};

	import_choose_profile(im);
	import_srt_reads_note(im, root);
	import_map(im, root, "", keys, ROWS(keys));
}

const struct import_format import_srt = {
	.name = "srt",
	.title = "settings of srt",
	.places = "~/.srt-settings.json",
	.matches = srt_matches,
	.take = srt_take,
};
