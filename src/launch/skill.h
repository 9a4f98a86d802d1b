/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A skill on its way to run: its folder, the manifest in it, whether a person approved just that,
 * and the words that run its entry.
 *
 * The folder is read once. What was hashed is what is compared with the approval, what the words of
 * the entry are made from, and, copied in the same moment, what a sandbox shows at the skill's path
 * (jail/plan/plan.h). Later changes in the folder reach no run that was opened before; the next one
 * asks for approval again. What the manifest lets the skill write is left out (launch/lives.h).
 */
#include "base/arena.h"
#include "base/error.h"
#include "policy/format/manifest.h"
#include "skill/approval.h"
#include "skill/content.h"

enum launch_skill_use {
	LAUNCH_SKILL_LOOK, /* to show it, or to compare it */
	LAUNCH_SKILL_RUN,  /* and to run it: it is copied */
	LAUNCH_SKILL_SCAN, /* to look for risks in it, whatever its manifest is like */
};

struct launch_skill {
	const char *path;         /* its folder, real; in the arena */
	int fd;                   /* of the folder; -1: not open */
	struct manifest manifest; /* that grants */
	struct manifest about;    /* SKILL.md beside it, which describes; empty if there is none */
	struct skill_lives lives; /* in the arena */
	struct error fault; /* why it could not be run, though it can be looked at; "": none */
	struct skill_content content;
	int copy;                 /* skill/archive.h; -1: none was made */
	struct approval approval; /* as it would have to be now; its texts are in the arena */
	int outcome;              /* enum approval_outcome; of what is no skill: current */
	bool is_skill;
	const char *named; /* the manifest that the caller named; NULL: the folder */
	bool unreadable;   /* to scan it: no manifest could be read, and the fault says why */
};
#define LAUNCH_SKILL_NONE ((struct launch_skill){ .fd = -1, .copy = -1 })

/*
 * Opens the skill in that folder. *s need not be initialised; it is the caller's, also on failure,
 * and ends with launch_skill_deinit(). -ENOENT: there is none; -EINVAL: it holds rules, or (to run
 * it) more than one manifest that grants, or it may write what must stay as it is; errors of
 * skill_content_read() and approval_check().
 *
 * To scan it, the path may also be that of a manifest in the folder, which then is the one that
 * grants; and a folder without a manifest, or with one that cannot be read, has that as its fault.
 *
 * One file of the folder grants. SKILL.md (or skill.md) is that file where it stands alone; beside
 * a skill.yaml or manifest.yaml it describes, and must have no permissions, as a reader would take
 * them for the skill's.
 */
int launch_skill_open(struct launch_skill *s, const char *folder, enum launch_skill_use use,
	struct arena *a, struct error *e);
/*
 * The same, to run it, of a skill's manifest, or of any other file with permissions: those need no
 * approval. A file that says it is a skill's but is not the manifest of its folder was approved by
 * nobody.
 */
int launch_skill_read(struct launch_skill *s, const char *path, struct arena *a, struct error *e);
void launch_skill_deinit(struct launch_skill *s);
#define auto_launch_skill __attribute__((cleanup(launch_skill_deinit))) struct launch_skill

/* The files that a skill's manifest may be: "SKILL.md", "skill.yaml" …; ends with NULL. */
#define LAUNCH_SKILL_DESCRIPTION "SKILL.md"
extern const char *const launch_skill_manifests[];
/* SKILL.md beside what grants. It may be text alone: then *m, which need not be initialised, is
 * empty. */
int launch_skill_read_about(
	struct manifest *m, const char *file, const char *text, size_t len, struct error *e);
/* -EINVAL if SKILL.md, which stands beside what grants, has permissions of its own. */
int launch_skill_check_pair(
	const struct manifest *grants, const struct manifest *about, struct error *e);

/* Where approvals are kept, in the arena. -ENOENT: the user has no home. */
int launch_skill_approvals(const char **ret, struct arena *a, struct error *e);
/* "it was never approved", "its files have changed since it was approved" … */
const char *launch_skill_outcome(int outcome);
/*
 * -EACCES unless just this was approved. named: the folder as the user names it; otherwise: what
 * else could be done, for the hint.
 */
int launch_skill_check(
	const struct launch_skill *s, const char *named, const char *otherwise, struct error *e);
/*
 * -ESTALE: it is not what was opened any more, or another folder is at its path. For those who
 * looked at the folder itself, as a plan does, and rely on having seen what was copied.
 */
int launch_skill_unchanged(const struct launch_skill *s, struct error *e);

/*
 * The words that run a file of the skill with these arguments: the manifest's entry by its runtime,
 * or the entry that is named, which runs by itself; either by `runtime` if that is not NULL. The
 * list ends with NULL and is in the arena. -ENOENT: no such entry; -EACCES: it leads out of the
 * folder, as it is written or by a link, or to what the skill may write; -ENOEXEC: it is no
 * program, and no runtime is named.
 */
int launch_skill_command(const struct launch_skill *s, const char *entry, const char *runtime,
	const char *const *args, size_t n_args, struct arena *a, const char ***ret, size_t *ret_n,
	struct error *e);
/*
 * The words for a script in the skill's folder, by its path as launch_script() takes it: its #!
 * line is that of the copy, never of the host's folder, which may be another one by now. What the
 * skill may write was not copied; there it is what lies in the folder that was opened. -ENOENT: no
 * such file was copied.
 */
int launch_skill_script(const struct launch_skill *s, const char *path, const char *const *args,
	struct arena *a, const char *const **ret, struct error *e);
