/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The smallest corral.yaml for what a project is, with comments. All of its text is ours: of the
 * project's files only facts are known here.
 */
#include <string.h>

#include "base/buffer.h"
#include "cli/project/internal.h"

struct propose_kind {
	const char *name, *pack;
	const char *install, *install_why;
	const char *test, *test_why;
	const char *build;
};

static bool propose_node(const struct facts *f, struct propose_kind *k)
{
	if (!f->package)
		return false;
	*k = (struct propose_kind){ .name = "node" };
	if (f->package_needs) {
		k->pack = "npm";
		k->install = f->package_lock ? "npm ci" : "npm install";
		k->install_why = f->package_lock ? "What package-lock.json pins."
						 : "Makes package-lock.json, which pins versions.";
	}
	if (f->package_test) {
		k->test = "npm test";
		k->test_why = "The script `test` of package.json.";
	}
	return true;
}

static const char *propose_python_test(const struct facts *f, bool has_venv)
{
	if (f->pytest)
		return has_venv ? ".venv/bin/python -m pytest" : "python3 -m pytest";
	if (f->tests_folder && !f->tests_package)
		return has_venv ? ".venv/bin/python -m unittest discover -s tests"
				: "python3 -m unittest discover -s tests";
	return has_venv ? ".venv/bin/python -m unittest" : "python3 -m unittest";
}

static bool propose_python(const struct facts *f, struct propose_kind *k)
{
	const bool needs = f->requirements || f->python_needs;

	if (!f->python)
		return false;
	*k = (struct propose_kind){ .name = "python", .test_why = "The tests of the project." };
	if (f->uv_lock) {
		k->pack = "uv";
		k->install = "uv sync --locked";
		k->install_why = "What uv.lock pins, into .venv.";
		k->test =
			f->pytest ? "uv run --locked pytest" : "uv run --locked python -m unittest";
		return true;
	}
	if (needs) {
		k->pack = "pip";
		k->install = f->requirements
				     ? "[sh, -c, 'python3 -m venv .venv && .venv/bin/pip install "
				       "-r requirements.txt']"
				     : "[sh, -c, 'python3 -m venv .venv && .venv/bin/pip install "
				       "-e .']";
		k->install_why = "Into .venv of the project.";
	}
	k->test = propose_python_test(f, needs);
	return true;
}

static bool propose_rust(const struct facts *f, struct propose_kind *k)
{
	*k = (struct propose_kind){ .name = "rust",
		.pack = "cargo",
		.test = "cargo test",
		.test_why = "From Cargo.toml." };
	return f->cargo;
}

static bool propose_go(const struct facts *f, struct propose_kind *k)
{
	*k = (struct propose_kind){
		.name = "go", .pack = "go", .test = "go test ./...", .test_why = "From go.mod."
	};
	return f->go;
}

static bool propose_make(const struct facts *f, struct propose_kind *k)
{
	static const char *const words[] = {
		[FACTS_CHECK] = "make check", [FACTS_TEST] = "make test"
	};

	*k = (struct propose_kind){ .name = "make", .test_why = "From the Makefile." };
	if (f->make == FACTS_ALL)
		k->build = "make";
	else if (f->make)
		k->test = words[f->make];
	return f->make;
}

static bool propose_cmake(const struct facts *f, struct propose_kind *k)
{
	*k = (struct propose_kind){ .name = "cmake",
		.test = "[sh, -c, 'cmake -B build && cmake --build build && ctest --test-dir build "
			"--output-on-failure']",
		.test_why = "From CMakeLists.txt." };
	return f->cmake;
}

static bool propose_meson(const struct facts *f, struct propose_kind *k)
{
	*k = (struct propose_kind){ .name = "meson",
		.test = "[sh, -c, 'test -d build || meson setup build; meson test -C build']",
		.test_why = "From meson.build." };
	return f->meson;
}

/* The first that has a test has the name `test`. A Makefile is last: many projects have one on top
 * of their tool. */
static bool (*const propose_kinds[])(const struct facts *f, struct propose_kind *k) = {
	propose_node,
	propose_python,
	propose_rust,
	propose_go,
	propose_cmake,
	propose_meson,
	propose_make,
};

static void propose_command(
	struct buffer *out, const char *why, const char *name, const char *kind, const char *words)
{
	if (why)
		buffer_printf(out, "  # %s\n", why);
	buffer_printf(out, "  %s%s%s: %s\n", name, kind ? ":" : "", kind ? kind : "", words);
}

void project_propose(const struct facts *f, struct buffer *out, struct project_proposal *ret)
{
	auto_buffer packs = { 0 }, commands = { 0 };

	*ret = (struct project_proposal){ 0 };
	for (size_t i = 0; i < sizeof(propose_kinds) / sizeof(propose_kinds[0]); i++) {
		struct propose_kind k = { 0 };

		if (!propose_kinds[i](f, &k))
			continue;
		if (k.pack)
			buffer_printf(&packs, "%s%s", packs.len ? ", " : "", k.pack);
		if (k.install)
			propose_command(&commands, k.install_why, "install",
				ret->has_install ? k.name : NULL, k.install);
		ret->has_install |= k.install != NULL;
		if (k.test)
			propose_command(&commands, k.test_why, "test",
				ret->has_test ? k.name : NULL, k.test);
		ret->has_test |= k.test != NULL;
		if (k.build)
			propose_command(&commands, "The Makefile has no target `test`.", "build",
				NULL, k.build);
		ret->has_build |= k.build != NULL;
	}
	buffer_adds(out, "# What the commands of this project get in a sandbox: see "
			 "corral-project(1).\n"
			 "version: 1\n");
	if (packs.len)
		buffer_printf(out,
			"\n# Each has the hosts of its registry, and a cache of this project's "
			"own.\nwith: [%s]\n",
			buffer_text(&packs));
	if (f->github)
		buffer_adds(out, "\n# A remote is at github.com; to reach it inside, add `github` "
				 "to `with`.\n");
	if (commands.len)
		buffer_printf(out, "\n# corral run NAME\ncommands:\n%s", buffer_text(&commands));
	out->failed |= packs.failed || commands.failed;
}
