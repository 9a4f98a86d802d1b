/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whole plans as text: a policy, and what becomes of it in a small tree of files and links. See
 * test-plan.h for how a plan is written down.
 */
#include "jail/plan/test/test-plan.h"

#include "base/array.h"
#include "host/resolver.h"
#include "policy/format/mode.h"

static const char *const files[] = {
	"@/home/",
	"@/home/.ssh/",
	"@/home/.ssh/id",
	"@/home/.ssh/known",
	"@/home/.bashrc",
	"@/home/.gitconfig",
	"@/home/p/",
	"@/home/p/.git/",
	"@/home/p/.git/hooks/",
	"@/home/p/.git/config",
	"@/home/p/src/",
	"@/home/p/src/a.c",
	"@/home/p/src/b.c",
	"@/home/p/policy.yaml",
	"@/home/p/out>../../data",
	"@/home/p/key>../.ssh/id",
	"@/home/q/",
	"@/data/",
	"@/data/x",
	"@/data/sub/",
	"@/data/sub/y",
	"@/data/secret",
	"@/current>data",
	"@/home/current>../data",
	"@/home/twice>./current/sub",
	"@/ssh>home/.ssh",
	"@/dangling>nowhere",
	"@/loop>loop",
	"@/bin/",
	"@/bin/plain!binary",
	"@/bin/script!#!/bin/sh\n",
	"@/bin/own!#! @/bin/plain -x\n",
	"@/bin/by-env!#!/usr/bin/env -S A=b plain-name\n",
	"@/bin/hop>own",
	"@/home/p/tool!binary",
	"@/home/p/tool-link>tool",
};

static const struct {
	const char *name;
	const char *layers[TEST_LAYERS_MAX];
	const char *expected;
	/* clang-format off */
} cases[] = {
	{ "nothing granted: HOME is the session's own",
		{ "{}" },
		"dir @\n"
		"tmp @/home dwx\n" },
	{ "no layer at all",
		{ NULL },
		"dir @\n"
		"tmp @/home dwx\n" },
	{ "a file, a folder",
		{ "fs: {read: [@/data/x, @/data/sub/**]}" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/sub drx\n"
		"bind @/data/x frx\n"
		"tmp @/home dwx\n" },
	{ "a folder's name only",
		{ "fs: {read: [@/data]}" },
		"EOPNOTSUPP @/data is a folder, and without /** only its own name would be granted, "
		"nothing in it | for all in it write @/data/** (policy.yaml:1)\n" },
	{ "a folder's name only, to write",
		{ "fs: {read: [@/data/**], write: [@/home/p]}" },
		"EOPNOTSUPP @/home/p is a folder, and without /** only its own name would be granted, "
		"nothing in it | for all in it write @/home/p/** (policy.yaml:1)\n" },
	{ "a folder's name beside all in it",
		{ "fs: {read: [@/data, @/data/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n" },
	{ "a folder's name only, by a rule",
		{ "rules: [{id: a, action: allow, operations: [fs.read], patterns: [@/data]}]" },
		"dir @\n"
		"dir @/data\n"
		"tmp @/home dwx\n"
		"note @/data is a folder, and only its own name is granted: for all in it write "
		"@/data/**\n" },
	{ "read and write",
		{ "fs: {read: [@/data/**], write: [@/home/p/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n"
		"bind @/home/p dwx\n" },
	{ "write inside read",
		{ "fs: {read: [@/data/**], write: [@/data/sub/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"bind @/data/sub dwx\n"
		"tmp @/home dwx\n" },
	{ "read inside write is write",
		{ "fs: {write: [@/data/**], read: [@/data/sub/**]}" },
		"dir @\n"
		"bind @/data dwx\n"
		"tmp @/home dwx\n" },
	{ "denies inside: masks, and pins on the way",
		{ "fs: {write: [@/home/p/**], deny: [@/home/p/.git/hooks/**, @/home/p/src/a.c]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p dwx\n"
		"bind @/home/p/.git dwxo\n"
		"mask @/home/p/.git/hooks dro\n"
		"bind @/home/p/src dwxo\n"
		"mask @/home/p/src/a.c fro\n" },
	{ "a rule that denies writing: read-only",
		{ "{fs: {write: [@/home/p/**]}, rules: [{id: hooks, action: deny, operations: "
			"[fs.write], patterns: [@/home/p/.git/hooks/**]}]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p dwx\n"
		"bind @/home/p/.git dwxo\n"
		"bind @/home/p/.git/hooks drxo\n" },
	{ "denies inside read: no pins",
		{ "fs: {read: [@/home/p/**], deny: [@/home/p/.git/hooks/**]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p drx\n"
		"mask @/home/p/.git/hooks dro\n" },
	{ "a denied folder's name hides what is in it",
		{ "fs: {read: [@/home/p/**], deny: [@/home/p/.git]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p drx\n"
		"mask @/home/p/.git dro\n" },
	{ "denied outside of what is granted",
		{ "fs: {read: [@/data/**], deny: [@/home/p/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n" },
	{ "allowed inside denied inside allowed",
		{ "{fs: {read: [@/data/**]}, rules: [{id: a, action: allow, priority: 2, "
			"operations: [fs.read], patterns: [@/data/sub/y]}, {id: d, action: deny, "
			"priority: 1, operations: [fs.read], patterns: [@/data/sub/**]}]}" },
		"EOPNOTSUPP @/data/sub/y is allowed inside @/data/sub, which is denied inside an "
		"allowed folder: mounts cannot enforce this | allow the folders that are needed "
		"one by one (policy.yaml:1)\n" },
	{ "ask is deny",
		{ "{fs: {read: [@/data/**]}, rules: [{id: d, action: ask, operations: "
			"[fs.read], patterns: [@/data/sub/**]}]}" },
		"dir @\n"
		"bind @/data drx\n"
		"mask @/data/sub dro\n"
		"tmp @/home dwx\n" },
	{ "two layers: what both grant",
		{ "fs: {read: [@/data/**], write: [@/home/p/**]}", "fs: {read: [@/data/sub/**, @/home/p/**]}" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/sub drx\n"
		"tmp @/home dwx\n"
		"bind @/home/p drx\n" },
	{ "a deny of another layer",
		{ "fs: {read: [@/data/**]}", "fs: {read: [@/data/**], deny: [@/data/secret]}" },
		"dir @\n"
		"bind @/data drx\n"
		"mask @/data/secret fro\n"
		"tmp @/home dwx\n" },
	{ "nested all_of",
		{ "all_of: [{fs: {read: [@/data/**]}}, {fs: {read: [@/data/sub/**]}}]" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/sub drx\n"
		"tmp @/home dwx\n" },
	{ "absent: read nothing, write a note",
		{ "fs: {read: [@/nope/**, @/data/**], write: [@/data/neither/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n"
		"note @/data/neither does not exist, so it cannot be written: create it first\n" },
	{ "absent and granted inside a private folder",
		{ "fs: {write: [@/home/neither/**]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"note @/home/neither does not exist, so files written there are lost when the "
		"command exits: create it first\n" },
	{ "absent and denied where it could be made",
		{ "fs: {write: [@/home/p/**], deny: [@/home/p/.envrc]}" },
		"EOPNOTSUPP @/home/p/.envrc is denied by fs.deny (@/home/p/.envrc), but it does "
		"not exist, and commands may write the folder in which it would be created | "
		"create it first, or grant only the folders in @/home/p that are needed "
		"(policy.yaml:1)\n" },
	{ "absent and denied where it could only be read",
		{ "fs: {read: [@/home/p/**], deny: [@/home/p/.envrc]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p drx\n"
		"late @/home/p/.envrc\n" },
	{ "absent and denied with all in it",
		{ "fs: {read: [@/home/p/**], deny: [@/home/p/later/**]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p drx\n"
		"late @/home/p/later\n" },
	{ "absent, of the baseline, and lifted",
		{ "{fs: {read: [@/home/**]}, dangerously_allow: [@/home/.netrc]}" },
		"dir @\n"
		"bind @/home drx\n"
		"mask @/home/.ssh dro\n"
		"spared @/home/.netrc\n" },
	{ "absent below a file",
		{ "fs: {write: [@/home/p/**], deny: [@/home/p/tool/x]}" },
		"EOPNOTSUPP @/home/p/tool/x is denied by fs.deny (@/home/p/tool/x), but it does "
		"not exist, and commands may write the folder in which it would be created | "
		"create it first, or grant only the folders in @/home/p that are needed "
		"(policy.yaml:1)\n" },
	{ "secrets inside a readable HOME",
		{ "fs: {read: [~/**]}" },
		"dir @\n"
		"bind @/home drx\n"
		"mask @/home/.ssh dro\n" },
	{ "HOME writable: too much could be made",
		{ "fs: {write: [~/**]}" },
		"EOPNOTSUPP @/home may be written, so @/home/.ICEauthority, @/home/.Mail, "
		"@/home/.Private and more could be created, which the baseline denies | grant "
		"only the folders inside that are needed, or list these paths in "
		"dangerously_allow (policy.yaml:1)\n" },
	{ "HOME writable, the baseline lifted",
		{ "{fs: {write: [~/**]}, dangerously_allow: [~/**]}" },
		"dir @\n"
		"bind @/home dwx\n" },
	{ "a secret granted by name",
		{ "fs: {read: [~/.ssh/**]}" },
		"dir @\n"
		"tmp @/home dwx\n" },
	{ "a secret lifted by name",
		{ "{fs: {read: [~/.ssh/id]}, dangerously_allow: [~/.ssh/id]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"dir @/home/.ssh\n"
		"bind @/home/.ssh/id frx\n" },
	{ "start-up files are read-only",
		{ "fs: {read: [~/.bashrc], write: [~/.gitconfig]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/.bashrc frx\n"
		"bind @/home/.gitconfig frx\n" },
	{ "folders of HOME inside the session's own",
		{ "fs: {read: [~/q/**], write: [~/p/**]}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"bind @/home/p dwx\n"
		"bind @/home/q drx\n" },
	{ "a link to a folder",
		{ "fs: {read: [@/home/current/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n"
		"link @/home/current -> ../data\n" },
	{ "a link to a file in it",
		{ "fs: {read: [~/current/x]}" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/x frx\n"
		"tmp @/home dwx\n"
		"link @/home/current -> ../data\n" },
	{ "two links",
		{ "fs: {write: [~/twice/**]}" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/sub dwx\n"
		"tmp @/home dwx\n"
		"link @/home/current -> ../data\n"
		"link @/home/twice -> ./current/sub\n" },
	{ "a link that an earlier command could have made",
		{ "fs: {read: [@/current/x]}" },
		"EACCES @/current/x resolves to @/data/x through the symbolic link @/current, "
		"which an earlier command could have created | grant @/data/x itself if that is "
		"intended (policy.yaml:1)\n" },
	{ "to be written",
		{ "fs: {write: [@/current/**], read: [@/data/**]}" },
		"EACCES @/current resolves to @/data through the symbolic link @/current, which "
		"an earlier command could have created | grant @/data itself if that is intended "
		"(policy.yaml:1)\n" },
	{ "with its end granted",
		{ "fs: {read: [@/current/x, @/data/**]}" },
		"dir @\n"
		"link @/current -> data\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n" },
	{ "matched by a pattern",
		{ "fs: {read: ['@/cur*/x', '@/dat*/x']}" },
		"dir @\n"
		"dir @/data\n"
		"bind @/data/x frx\n"
		"tmp @/home dwx\n"
		"note @/current/x is left out: it resolves to @/data/x through the symbolic link "
		"@/current, which an earlier command could have created\n"
		"note @/cur*/x: applies to files that exist now, not to files created later\n"
		"note @/dat*/x: applies to files that exist now, not to files created later\n" },
	{ "a link to a secret",
		{ "fs: {read: [@/ssh/**]}" },
		"EACCES @/ssh resolves to @/home/.ssh, which the baseline (~/.ssh/**) denies | "
		"grant another path, or change the symbolic link (policy.yaml:1)\n" },
	{ "a link to a secret's file",
		{ "fs: {read: [@/home/p/key]}" },
		"EACCES @/home/p/key resolves to @/home/.ssh/id, which the baseline (~/.ssh/**) "
		"denies | grant another path, or change the symbolic link (policy.yaml:1)\n" },
	{ "a link that leads nowhere",
		{ "fs: {read: [@/dangling, @/loop/**]}" },
		"dir @\n"
		"tmp @/home dwx\n" },
	{ "a link where commands may write",
		{ "fs: {write: [@/home/p/**], read: [@/home/p/out/**]}" },
		"EACCES @/home/p/out resolves to @/data through the symbolic link @/home/p/out, "
		"which an earlier command could have created | grant @/data itself if that is "
		"intended (policy.yaml:1)\n" },
	{ "the same, with its end granted",
		{ "fs: {write: [@/home/p/**], read: [@/home/p/out/**, @/data/**]}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n"
		"bind @/home/p dwx\n" },
	{ "the end denied by a rule",
		{ "{fs: {read: [@/home/current/**]}, rules: [{id: d, action: deny, operations: "
			"[fs.read], patterns: [@/data/**]}]}" },
		"EACCES @/home/current resolves to @/data, which the rule d (@/data/**) denies | "
		"grant another path, or change the symbolic link (policy.yaml:1)\n" },
	{ "denied below a link",
		{ "fs: {read: [~/current/**], deny: [~/current/secret]}" },
		"dir @\n"
		"bind @/data drx\n"
		"mask @/data/secret fro\n"
		"tmp @/home dwx\n"
		"link @/home/current -> ../data\n" },
	{ "denied behind a link's end",
		{ "fs: {read: [~/current/**], deny: [@/data/secret]}" },
		"dir @\n"
		"bind @/data drx\n"
		"mask @/data/secret fro\n"
		"tmp @/home dwx\n"
		"link @/home/current -> ../data\n" },
	{ "a denied link that commands could replace",
		{ "fs: {write: [@/home/p/**], deny: [@/home/p/out/**]}" },
		"EOPNOTSUPP @/home/p/out is restricted by fs.deny (@/home/p/out/**), but "
		"commands can replace the symbolic link @/home/p/out in its path | use the path "
		"that it resolves to (@/data), or grant fewer folders (policy.yaml:1)\n" },
	{ "a pattern that reads",
		{ "fs: {read: ['@/home/p/src/*.c', '@/d*/s*/**', '@/{data/x,bin/plain}']}" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/plain frx\n"
		"dir @/data\n"
		"bind @/data/secret frx\n"
		"bind @/data/sub drx\n"
		"bind @/data/x frx\n"
		"tmp @/home dwx\n"
		"dir @/home/p\n"
		"dir @/home/p/src\n"
		"bind @/home/p/src/a.c frx\n"
		"bind @/home/p/src/b.c frx\n"
		"note @/home/p/src/*.c: applies to files that exist now, not to files created "
		"later\n"
		"note @/d*/s*/**: applies to files that exist now, not to files created later\n" },
	{ "a pattern with ** in the middle",
		{ "fs: {read: ['@/**/y']}" },
		"EOPNOTSUPP @/**/y allows by a pattern with ** in the middle: a mount can only "
		"enforce a path or a folder | list the folders (DIR/**), or use * for single "
		"names (policy.yaml:1)\n" },
	{ "a pattern that writes",
		{ "fs: {write: ['@/home/p/*.c']}" },
		"EOPNOTSUPP @/home/p/*.c allows writing by a pattern: a mount can only enforce a "
		"path or a folder | list the files, or a whole folder (DIR/**); a pattern holds "
		"where Corral writes itself: fs_write of an enclave (policy.yaml:1)\n" },
	{ "a pattern that denies inside",
		{ "fs: {read: [@/home/**], deny: ['@/home/**/*.c']}" },
		"EOPNOTSUPP @/home/**/*.c denies by a pattern inside @/home: a mount can only "
		"enforce a path or a folder | write the paths of the files that exist instead "
		"(`find @/home -name '*.c'` lists them), or a whole folder (DIR/**) (policy.yaml:1)\n" },
	{ "a pattern that denies all names inside",
		{ "fs: {write: [@/data/**], deny: ['@/data/*']}" },
		"EOPNOTSUPP @/data/* denies by a pattern inside @/data: a mount can only "
		"enforce a path or a folder | write the paths of the files that exist instead "
		"(`find @/data` lists them), or a whole folder (DIR/**) (policy.yaml:1)\n" },
	{ "a pattern that denies everywhere",
		{ "fs: {read: [@/data/**], deny: ['/**/*.key']}" },
		"EOPNOTSUPP /**/*.key denies by a pattern inside @/data: a mount can only "
		"enforce a path or a folder | write the paths of the files that exist instead "
		"(`find @/data -name '*.key'` lists them), or a whole folder (DIR/**) (policy.yaml:1)\n" },
	{ "a pattern that denies elsewhere",
		{ "fs: {read: [@/data/**], deny: ['@/home/**/*.c']}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n" },
	{ "a pattern that denies behind a link",
		{ "fs: {read: [@/data/**], deny: ['@/current/*.c']}" },
		"EOPNOTSUPP @/current/*.c denies by a pattern inside @/data: a mount can only "
		"enforce a path or a folder | write the paths of the files that exist instead "
		"(`find @/data -name '*.c'` lists them), or a whole folder (DIR/**) (policy.yaml:1)\n" },
	{ "a pattern that lifts the baseline lifts what it matches, not what is like it",
		{ "{fs: {read: [~/.ssh/**]}, dangerously_allow: [~/.ssh, '~/.ssh/[!i]*']}" },
		"dir @\n"
		"tmp @/home dwx\n"
		"dir @/home/.ssh\n"
		"bind @/home/.ssh/known frx\n" },
	{ "a pattern of several that lifts",
		{ "{fs: {read: [~/**]}, dangerously_allow: [{all: [~/.ssh/**, '/**/[!i]*']}]}" },
		"EOPNOTSUPP /**/[!i]* allows by a pattern: a mount can only enforce a path or a "
		"folder | list the files, or a whole folder (DIR/**) (policy.yaml:1)\n" },
	{ "a pattern of programs is a list",
		{ "{fs: {read: [@/data/**]}, exec: ['/*', '/.*']}" },
		"dir @\n"
		"bind @/data dr\n"
		"tmp @/home dw\n" },
	{ "a pattern of programs matches no folders",
		{ "exec: ['@/*', '@/bin/pl*']" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/plain\n" },
	{ "any program is none",
		{ "{fs: {read: [@/data/**]}, exec: ['*']}" },
		"dir @\n"
		"bind @/data drx\n"
		"tmp @/home dwx\n" },
	{ "a folder of programs that another layer narrows by a pattern",
		{ "exec: [@/bin/**]", "exec: ['@/bin/[!x]*']" },
		"EOPNOTSUPP @/bin/[!x]*: a mount can only enforce a program or a folder of "
		"programs, not a pattern | list the programs, or a whole folder (DIR/**) "
		"(policy.yaml:1)\n" },
	{ "a folder of programs that another layer narrows by a folder",
		{ "exec: [@/**]", "exec: [@/bin/**]" },
		"dir @\n"
		"bind @/bin drx\n"
		"tmp @/home dw\n"
		"runs @/bin\n" },
	{ "one program by two names in two layers",
		{ "exec: [@/bin/hop]", "exec: [@/bin/own]" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/own frx\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/own\n"
		"runs @/bin/plain\n" },
	{ "a list: nothing else runs",
		{ "{fs: {read: [@/data/**], write: [@/home/p/**]}, exec: []}" },
		"dir @\n"
		"bind @/data dr\n"
		"tmp @/home dw\n"
		"bind @/home/p dw\n" },
	{ "listed programs",
		{ "exec: [@/bin/plain]" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/plain\n" },
	{ "a script and its interpreter",
		{ "exec: [@/bin/own]" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/own frx\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/own\n"
		"runs @/bin/plain\n" },
	{ "links to a script",
		{ "exec: [@/bin/hop]" },
		"dir @\n"
		"dir @/bin\n"
		"link @/bin/hop -> own\n"
		"bind @/bin/own frx\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/own\n"
		"runs @/bin/plain\n" },
	{ "a folder of programs",
		{ "exec: [@/bin/**]" },
		"dir @\n"
		"bind @/bin drx\n"
		"tmp @/home dw\n"
		"runs @/bin\n" },
	{ "a pattern of programs",
		{ "exec: ['@/bin/p*']" },
		"dir @\n"
		"dir @/bin\n"
		"bind @/bin/plain frx\n"
		"tmp @/home dw\n"
		"runs @/bin/plain\n" },
	{ "a program in a writable folder is read-only",
		{ "{fs: {write: [@/home/p/**]}, exec: [@/home/p/tool]}" },
		"dir @\n"
		"tmp @/home dw\n"
		"bind @/home/p dw\n"
		"bind @/home/p/tool frxo\n"
		"runs @/home/p/tool\n" },
	{ "a program behind a link that commands could replace",
		{ "{fs: {write: [@/home/p/**]}, exec: [@/home/p/tool-link]}" },
		"EACCES @/home/p/tool-link resolves to @/home/p/tool through the symbolic "
		"link @/home/p/tool-link, which is in a folder that commands may write | grant "
		"@/home/p/tool itself if that is intended\n" },
	{ "a writable folder of programs does not run",
		{ "{fs: {write: [@/bin/**]}, exec: [@/bin/plain]}" },
		"dir @\n"
		"bind @/bin dw\n"
		"bind @/bin/plain frxo\n"
		"tmp @/home dw\n"
		"runs @/bin/plain\n" },
	{ "arguments",
		{ "exec: ['git push:*']" },
		"EOPNOTSUPP git push:* depends on arguments, but in a sandbox only the program "
		"can be checked | list the program without arguments, or remove it "
		"(policy.yaml:1)\n" },
	{ "a denied program in a folder of programs",
		{ "{rules: [{id: n, action: deny, operations: [exec], patterns: "
			"[@/bin/plain]}], exec: [@/bin/**]}" },
		"dir @\n"
		"bind @/bin drx\n"
		"bind @/bin/plain fro\n"
		"tmp @/home dw\n"
		"runs @/bin\n" },
	{ "a denied program that is not there",
		{ "{fs: {read: [@/bin/**]}, rules: [{id: n, action: deny, operations: [exec], "
			"patterns: [@/bin/nope]}, {id: y, action: allow, operations: [exec], "
			"patterns: ['*']}]}" },
		"dir @\n"
		"bind @/bin drx\n"
		"tmp @/home dwx\n"
		"late @/bin/nope\n" },
	{ "a denied program where anything else runs",
		{ "{fs: {read: [@/bin/**]}, rules: [{id: n, action: deny, operations: [exec], "
			"patterns: [@/bin/plain]}, {id: y, action: allow, operations: [exec], "
			"patterns: ['*']}]}" },
		"dir @\n"
		"bind @/bin drx\n"
		"mask @/bin/plain fro\n"
		"tmp @/home dwx\n" },
	{ "a denied program that could be made",
		{ "{fs: {write: [@/home/p/**]}, rules: [{id: n, action: deny, operations: "
			"[exec], patterns: [@/home/p/nope]}, {id: y, action: allow, operations: "
			"[exec], patterns: ['*']}]}" },
		"EOPNOTSUPP @/home/p/nope is denied by the rule about exec (@/home/p/nope), but "
		"it does not exist, and commands may write the folder in which it would be "
		"created | create it first, or grant only the folders in @/home/p that are "
		"needed (policy.yaml:1)\n" },
	{ "no host",
		{ "network: {deny: ['*']}" },
		"dir @\n"
		"tmp @/home dwx\n" },
	{ "one host: the plan says nothing of it, the relay asks",
		{ "network: {allow: ['api.example.com:443']}" },
		"dir @\n"
		"tmp @/home dwx\n" },
};
/* clang-format on */

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

static void test_cases(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct test_policy t;
		struct plan_options o;
		char *text;

		test_policy_init(&t, cases[i].layers);
		o = test_policy_options(&t);
		text = test_plan_text(&o);
		if (strcmp(text, cases[i].expected) != 0) {
			print_message("%s:\n%s---- expected:\n%s", cases[i].name, text,
				cases[i].expected);
			failed++;
		}
		free(text);
		test_policy_deinit(&t);
	}
	assert_int_equal(failed, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
	};

	return cmocka_run_group_tests_name("plan", tests, set_up, test_plan_tear_down);
}
