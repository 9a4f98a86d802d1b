/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/file.h"
#include "cli/output.h"
#include "cli/preset/preset.h"
#include "cli/run/internal.h"
#include "cli/run/run.h"
#include "cli/stored/stored.h"
#include "host/links.h"
#include "host/planted.h"
#include "host/system-links.h"
#include "host/runtime.h"

static int run_layers_too_many(struct run *r)
{
	return error_set(r->call->error, -E2BIG, NULL,
		"too many policies: at most %d layers are supported", RUN_LAYERS_MAX);
}

/* Variables */

int run_real_folder(struct run *r, const char *option, const char *path, const char **ret)
{
	char real[PATH_BYTES];
	struct stat st;
	int err = links_follow(path, NULL, NULL, real);

	if (err == 0 && stat(real, &st) < 0)
		err = -errno;
	if (err == 0 && !S_ISDIR(st.st_mode))
		err = -ENOTDIR;
	if (err < 0)
		return error_set(
			r->call->error, err, NULL, "%s: %s: %s", option, path, strerror(-err));
	*ret = arena_strdup(r->call->arena, real);
	return *ret ? 0 : error_no_memory(r->call->error);
}

/* A folder that becomes a grant by its name: not by a link that a command may have left. */
static int run_layers_check_planted(
	struct run *r, const char *option, const char *path, const char *advice)
{
	struct planted planted;
	int err = planted_find(path, r->load.variables.values[VARIABLE_HOME], &planted);

	if (err <= 0)
		return 0; /* what cannot be followed is reported when it is used */
	(void)error_set(r->call->error, -EPERM, NULL,
		"%s: %s resolves to %s through the symbolic link %s, which an earlier command "
		"could have created",
		option, path, planted.real, planted.link);
	error_hint(r->call->error, "%s %s itself if that is intended", advice, planted.real);
	return -EPERM;
}

/* How a shell came to the current folder, if that is where it still is; NULL: not known. */
static const char *run_layers_way_here(void)
{
	const char *pwd = getenv("PWD");
	struct stat there, here;

	if (!pwd || pwd[0] != '/' || stat(pwd, &there) < 0 || stat(".", &here) < 0)
		return NULL;
	return there.st_dev == here.st_dev && there.st_ino == here.st_ino ? pwd : NULL;
}

static int run_layers_set_variables(struct run *r)
{
	const char **work_dir = &r->load.variables.values[VARIABLE_WORK_DIR];
	const char *way;
	int ret;

	if (r->options.work_dir && r->load.is_set[VARIABLE_WORK_DIR])
		return options_misused(
			r->call, "--work-dir and --set WORK_DIR= cannot be used together");
	if (r->options.work_dir) {
		*work_dir = r->options.work_dir;
		r->load.is_set[VARIABLE_WORK_DIR] = true;
	}
	way = r->load.is_set[VARIABLE_WORK_DIR] ? NULL : run_layers_way_here();
	r->load.writes = &r->options.write;
	ret = load_begin(&r->load, r->call);
	if (ret == 0 && r->load.is_set[VARIABLE_WORK_DIR])
		ret = run_layers_check_planted(r,
			r->options.work_dir ? "--work-dir" : "--set WORK_DIR", *work_dir, "name");
	else if (ret == 0 && way)
		ret = run_layers_check_planted(r, "the current folder", way, "change to");
	return ret < 0 ? ret : run_real_folder(r, "the working folder", *work_dir, work_dir);
}

/* The base */

static int add_base(struct run *r, struct permissions *p)
{
	if (r->n_base == RUN_LAYERS_MAX)
		return run_layers_too_many(r);
	r->base[r->n_base++] = p;
	return 0;
}

static int add_policies(struct run *r)
{
	const struct options_list *files = &r->options.policies;
	int ret = load_add_all(&r->load, r->call, files->items, files->n, MANIFEST_UNKNOWN);

	for (size_t i = 0; ret == 0 && i < r->load.n; i++)
		ret = add_base(r, r->load.files[i].permissions);
	return ret;
}

/* Who says offline means no host at all. */
static int run_layers_check_offline(struct run *r)
{
	const char *name = r->options.profile, *reaches = NULL;

	if (r->options.net.n)
		reaches = "--net";
	else if (r->options.net_private.n)
		reaches = "--net-private";
	else if (r->options.listen.n)
		reaches = "--listen";
	else if (r->options.ssh_logins.n)
		reaches = "--ssh-agent";
	if (name && strcmp(name, "offline") == 0 && reaches) {
		(void)error_set(r->call->error, -EINVAL, NULL,
			"%s cannot be used with the profile offline", reaches);
		error_hint(r->call->error, "omit one of them");
		return -EINVAL;
	}
	return 0;
}

static int add_profile(struct run *r)
{
	const char *name = r->options.profile ? r->options.profile : RUN_PROFILE_DEFAULT;
	int ret = profile_open(&r->profile, r->call, name, &r->load);

	if (ret == 0)
		ret = run_guard(r, r->profile.path);
	return ret < 0 ? ret : add_base(r, r->profile.permissions);
}

/* The agent's own folder is made, as the library makes it. */
static int run_layers_make_data_dir(struct run *r, const char *path)
{
	const char *workspace = agent_mode_workspace(path, r->call->arena);
	int ret = run_layers_check_planted(r, "--data-dir", path, "pass");

	if (ret < 0)
		return ret;
	ret = file_make_folders(workspace ? workspace : path);
	return ret < 0 ? error_set(r->call->error, ret, NULL, "--data-dir: cannot create %s: %s",
				 path, strerror(-ret))
		       : 0;
}

/* A folder that an agent is to write; what is not there could not be made inside, either. */
static int run_layers_check_agent(struct run *r)
{
	const struct agent *a = &r->options.agent;
	int ret = a->data_dir ? run_layers_make_data_dir(r, a->data_dir) : 0;

	for (size_t i = 0; ret == 0 && i <= a->extra.n; i++) {
		const char *path = i ? a->extra.items[i - 1] : a->data_dir, *real = NULL;

		if (path)
			ret = run_real_folder(r, i ? "--extra" : "--data-dir", path, &real);
		if (ret == -ENOENT)
			error_hint(r->call->error, "create it first: mkdir -p %s", path);
	}
	return ret;
}

/* Inside, the skill's folder is a copy that can't be written, whatever its permissions say. */
static int add_skill(struct run *r)
{
	const char *folder = r->options.skill;
	int ret = launch_skill_open(
		&r->skill, folder, LAUNCH_SKILL_RUN, r->call->arena, r->call->error);

	if (ret == 0 && !r->options.yes &&
		launch_skill_check(
			&r->skill, folder, "add --yes to run it this once", r->call->error) < 0)
		return RUN_FORBIDDEN;
	if (ret == 0 && !r->load.is_set[VARIABLE_SKILL_DIR])
		r->load.variables.values[VARIABLE_SKILL_DIR] = r->skill.path;
	if (ret == 0)
		ret = skill_archive_open(&r->copy, r->skill.copy);
	/* By a link, the next run could be of another skill. */
	if (ret == 0 && strcmp(folder, r->skill.path) != 0)
		ret = run_guard(r, folder);
	if (ret == 0)
		ret = add_base(r, r->skill.manifest.permissions);
	if (ret == 0)
		ret = runtime_imply(&r->skill.manifest, r->skill.path, r->base[r->n_base - 1]);
	return ret;
}

/*
 * The ceiling: policies that hold for every run: policy.yaml and policy.d (cli/stored/stored.h) in
 * corral's folder of the system's configuration, and of the user's. Each is a layer that must
 * allow. What is there under such a name and can't be read or understood stops the run, but for a
 * stored policy whose last good version is known.
 */

int run_ceiling(struct run *r)
{
	int ret = 0;

	/* The system's, then the user's. */
	for (int is_user = 0; ret == 0 && is_user < 2; is_user++) {
		struct stored_place place;

		ret = stored_open_place(r->call, !is_user, &place);
		if (ret == 0 && !place.config) {
			ret = error_set(r->call->error, -ENOENT, NULL,
				"your stored policies, which bind every run, cannot be found: HOME "
				"is "
				"no absolute path, and /etc/passwd has no home for you");
			error_hint(r->call->error, "set the environment variable HOME");
		}
		if (ret == 0)
			ret = stored_load(&r->ceiling, r->call, &place);
	}
	return ret;
}

/* Whoever set the variable for this run would be wrong about what holds. */
static void run_layers_note_unread(const struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);

	if (!r->call->unread || r->options.json)
		return;
	output_note(&o);
	buffer_printf(&o.text,
		"%s is ignored by this command; it applies to programs that use the library. Use "
		"--policy FILE or --policy fd:N\n",
		r->call->unread);
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* The base, and the ceiling above it. */
static int run_layers_stack(struct run *r)
{
	for (size_t i = 0; i < r->n_base + r->ceiling.n; i++) {
		struct permissions *layer;

		if (i == RUN_LAYERS_MAX)
			return run_layers_too_many(r);
		layer = i < r->n_base ? r->base[i] : r->ceiling.files[i - r->n_base].permissions;
		if (system_links_grant(layer) < 0)
			return error_no_memory(r->call->error);
		r->layers[r->n_layers++] = layer;
	}
	return 0;
}

/* All of it */

static int add_agent(struct run *r)
{
	int ret = run_layers_check_agent(r);

	ret = ret < 0 ? ret : agent_permissions(&r->options.agent, r->call, &r->mode);
	ret = ret < 0 ? ret : run_claude_begin(r);
	ret = ret < 0 ? ret : run_agents_open(r);
	return ret < 0 ? ret : add_base(r, r->mode);
}

int run_layers(struct run *r)
{
	struct policy_options options;
	int ret = run_layers_set_variables(r);

	run_layers_note_unread(r);
	r->load.uses_cache = r->ceiling.uses_cache = !r->options.no_cache;
	if (ret == 0)
		ret = project_attach(r);
	/* One of the ceiling's files may extend a profile, too. */
	r->ceiling.variables = r->load.variables;
	if (ret == 0)
		ret = run_layers_check_offline(r);
	if (ret == 0)
		ret = add_policies(r);
	if (ret == 0 && r->options.skill)
		ret = add_skill(r);
	if (ret == 0 && r->options.agent.is_given)
		ret = add_agent(r);
	if (ret == 0 && ((r->options.profile && !r->has_project) || r->n_base == 0))
		ret = add_profile(r);
	if (ret == 0)
		ret = run_guard_sources(r, &r->load);
	r->builtin = r->profile.builtin ? (struct load_builtin){ r->profile.builtin,
		r->profile.permissions, r->profile.limits }
					: r->load.builtin;
	if (ret == 0)
		ret = preset_attach(r);
	if (ret == 0)
		ret = run_later_begin(r);
	ret = ret ? ret : run_ssh_agent(r);
	ret = ret ? ret : run_ceiling(r);
	ret = ret ? ret : run_secrets_begin(r);
	ret = ret ? ret : ask_later_begin(r);
	if (ret == 0)
		ret = run_grants(r);
	ret = ret ? ret : run_ssh_agent_show(r);
	ret = ret ? ret : ask_begin(r);
	if (ret == 0)
		ret = run_guard_sources(r, &r->ceiling);
	if (ret == 0)
		ret = run_live_read_ceiling(r);
	if (ret == 0)
		ret = run_guard_own(r);
	if (ret != 0)
		return ret;
	ret = run_layers_stack(r);
	if (ret < 0)
		return ret;
	options = load_options(&r->load);
	options.borrows = true;
	options.opened = r->secrets.inspect.items;
	options.n_opened = r->secrets.inspect.n;
	ret = policy_new(&r->policy, r->layers, r->n_layers, &options, r->call->error);
	if (ret == 0)
		run_baseline_notes(r);
	return ret;
}
