/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a manifest to the words of its worker: whatever a manifest says that is read at all, the
 * words made of it are read by the worker, and grant what the manifest grants and no more.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "launch/wasm.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"
#include "wasm/options.h"

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Each folder of the worker is one of the manifest, and writable only if that is. */
static void check_folders(const struct worker_options *o, const struct permissions *p)
{
	check(o->n_folders <= p->n_guest_paths);
	for (size_t i = 0; i < o->n_folders; i++) {
		const struct worker_folder *f = &o->folders[i];
		bool known = false;

		check(f->guest[0] == '/' && f->host[0] == '/');
		for (size_t k = 0; !known && k < p->n_guest_paths; k++)
			known = strcmp(p->guest_paths[k].guest, f->guest) == 0 &&
				(p->guest_paths[k].writable || !f->is_writable);
		check(known);
	}
}

static void try_manifest(
	const struct manifest *m, const struct policy *policy, const struct variables *variables)
{
	static const char *const args[] = { "--", "memory=1" };
	auto_arena a = { 0 };
	const struct launch_skill skill = { .manifest = *m };
	const struct permissions *p = m->permissions;
	const struct launch_wasm_call c = { .variables = variables,
		.limits = &p->limits,
		.policy = policy,
		.args = args,
		.n_args = 2,
		.serves = p->n_guest_paths % 2 };
	struct worker_options o;
	struct error e = { 0 };
	const char **words = NULL;
	size_t n = 0;

	if (launch_wasm_command(&skill, &c, &a, &words, &n, &e) < 0) {
		check(e.text[0]);
		return;
	}
	check(n > 2 && !words[n]);
	check(strcmp(words[1], c.serves ? "serve" : "run") == 0);
	/* The worker takes no more folders than a manifest may have. */
	if (worker_options_read(&o, words + 2, n - 2, &a, &e) < 0) {
		check(e.text[0] && p->n_guest_paths > WORKER_FOLDERS_MAX);
		return;
	}
	check_folders(&o, p);
	check(o.n_args == 3 && strcmp(o.args[0], m->wasm_file) == 0 &&
		strcmp(o.args[2], "memory=1") == 0);
	check(o.n_variables == 0 && !o.has_input);
	check(m->wasm_export ? o.export && strcmp(o.export, m->wasm_export) == 0 : !o.export);
	check(o.memory <= p->limits.values[LIMIT_WASM_MEMORY]);
	check(worker_options_grants(&o, "http") ==
		(p->network_allow.n > 0 || p->network_private.n > 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct variables variables = { .values = { [VARIABLE_SKILL_DIR] = "/skill",
						     [VARIABLE_HOME] = "/home/u",
						     [VARIABLE_TEMP] = "/tmp" } };
	const struct policy_options o = { .variables = &variables };
	const struct permissions *layer;
	auto_manifest m = { 0 };
	auto_policy *policy = NULL;
	struct error e = { 0 };

	if (manifest_read(&m, MANIFEST_UNKNOWN, "manifest.yaml", (const char *)data, size, &e) <
			0 ||
		!m.wasm_file || !m.permissions)
		return 0;
	layer = m.permissions;
	if (policy_new(&policy, &layer, 1, &o, &e) == 0)
		try_manifest(&m, policy, &variables);
	return 0;
}
