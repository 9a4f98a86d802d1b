/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each check is tried on permissions where it must speak and on some that look alike, where it must
 * not. Whole policies with all that is said about them are in tests/data/lint.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "advice/lint/internal.h"
#include "advice/lint/lint.h"
#include "policy/format/manifest.h"
#include "test/failing.h"

static const char *samples, *docs;

FAILING_MALLOC
FAILING_CALLOC
FAILING_REALLOC

/* Reading and looking */

static void read_text(struct manifest *m, const char *file, const char *text)
{
	struct error e = { 0 };
	auto_buffer message = { 0 };

	if (manifest_read(m, MANIFEST_UNKNOWN, file, text, strlen(text), &e) == 0)
		return;
	error_print(&e, &message);
	fail_msg("%s: %s", text, buffer_text(&message));
}

static void lint_text(struct arena *a, const char *text, struct lint_findings *ret)
{
	auto_manifest m = { 0 };

	read_text(&m, "p.yaml", text);
	assert_int_equal(lint_permissions(m.permissions, a, ret), 0);
}

static const struct lint_finding *find(const struct lint_findings *all, const char *id)
{
	for (size_t i = 0; i < all->n; i++) {
		if (strcmp(all->items[i].id, id) == 0)
			return &all->items[i];
	}
	return NULL;
}

static size_t count(const struct lint_findings *all, const char *id)
{
	size_t n = 0;

	for (size_t i = 0; i < all->n; i++)
		n += strcmp(all->items[i].id, id) == 0;
	return n;
}

/* The cases: `yes` must be found at the pattern `at` ("": the layer), `no` must not be found. */

#define DENY_ALL_DEFERRED                                                             \
	"'/**/.git/hooks/**', '/**/.git/config', '/**/.git/config.worktree', "        \
	"'/**/.git/commondir', '/**/.git/modules/**', '/**/.git/worktrees/**', "      \
	"'/**/.git/remotes/**', '/**/.git/branches/**', '/**/.git/rebase-merge/**', " \
	"'/**/.git/rebase-apply/**', '/**/.git/sequencer/**', "                       \
	"'/**/.git/lazygit.yml', '/**/.lazygit.yml', '/**/.hg/hgrc', "                \
	"'/**/.hg/hgrc-not-shared', '/**/_darcs/prefs/**', '/**/.pijul/config', "     \
	"'/**/.pijul/config.toml', '/**/.repo/manifests/**', '/**/.gclient', "        \
	"'/**/.arcconfig', '/**/.fossil-settings/**', "                               \
	"'/**/.bzr/branch/branch.conf', '/**/.repo/repo/**', '/**/.hg/sharedpath', "  \
	"'/**/.sl/sharedpath', '/**/.jj/repo/config.toml', '/**/.sl/config', "        \
	"'/**/.husky/**', '/**/.pre-commit-config.yaml', "                            \
	"'/**/{.,}lefthook{,-local}.{yml,yaml,toml,json}', "                          \
	"'/**/.config/lefthook{,-local}.{yml,yaml,toml,json}', "                      \
	"'/**/.lefthook{,-local}/**', '/**/.overcommit.yml', "                        \
	"'/**/captainhook.json', '/**/grumphp.yml', '/**/.envrc', "                   \
	"'/**/corral.yaml', "                                                         \
	"'/**/.envrc.{local,private,user,secrets}', '/**/.autoenv{,.leave}', "        \
	"'/**/.autoenv{,_leave}.zsh', '/**/{.,}mise{,.local}.toml', "                 \
	"'/**/{.,}mise/config{,.local}.toml', '/**/.config/mise.toml', "              \
	"'/**/.config/mise/**', '/**/{.,}rtx{,.local}.toml', '/**/.rtx/**', "         \
	"'/**/.rvmrc', '/**/.ondirrc', '/**/.shadowenv.d/**', "                       \
	"'/**/.bash_{enter,leave}', '/**/.vscode/**', '/**/.idea/**', "               \
	"'/**/.zed/**', '/**/.fleet/**', '/**/.helix/**', '/**/.theia/**', "          \
	"'/**/.vs/**', '/**/.run/**', '/**/.nova/**', '/**/.kateproject', "           \
	"'/**/.vimspector.json', '/**/.externalToolBuilders/**', '/**/.idx/**', "     \
	"'/**/.codesandbox/**', '/**/.gitpod.{yml,Dockerfile}', '/**/.gitpod/**', "   \
	"'/**/.ona/**', '/**/.stackblitzrc', '/**/.replit', '/**/replit.nix', "       \
	"'/**/{.,}devfile.{yml,yaml}', '/**/conductor.json', '/**/.conductor/**', "   \
	"'/**/.project', '/**/.settings/**', '/**/*.code-workspace', "                \
	"'/**/*.sublime-project', '/**/.devcontainer/**', '/**/.devcontainer.json', " \
	"'/**/.{vim,nvim,lvim,ex}rc', '/**/.vimrc.local', '/**/.local.vimrc', "       \
	"'/**/.vimlocal', '/**/.nvim.lua', '/**/.nvim/**', '/**/.lazy.lua', "         \
	"'/**/.neoconf.json', '/**/.ycm_extra_conf.py', '/**/.dir-locals{,-2}.el', "  \
	"'/**/.vim/**', '/**/.Rprofile', '/**/.Renviron', '/**/.gdbinit', "           \
	"'/**/.lldbinit', '/**/.pdbrc', '/**/.irbrc', '/**/.pryrc', '/**/.ghci', "    \
	"'/**/.ocamlinit', '/**/.iex.exs', '/**/.octaverc', '/**/.perldb', "          \
	"'/**/.gdbearlyinit', '/**/.jdbrc', '/**/.sbclrc', "                          \
	"'/**/jupyter_{notebook,server,lab,console,qtconsole,nbconvert,app}_config.{" \
	"py,json}', '/**/jupyter_config.{py,json}', "                                 \
	"'/**/ipython{,_kernel}_config.{py,json}', "                                  \
	"'/**/.claude/settings{,.local}.json', '/**/.claude/hooks/**', "              \
	"'/**/.github/hooks/**', '/**/.clinerules/hooks/**', "                        \
	"'/**/.claude/{plugins,local}/**', "                                          \
	"'/**/.claude/{commands,agents,skills,output-styles,rules}/**', "             \
	"'/**/.agents/{skills,commands,rules}/**', "                                  \
	"'/**/.github/{agents,prompts,chatmodes,instructions,skills}/**', "           \
	"'/**/.github/copilot-instructions.md', '/**/.cursorrules', "                 \
	"'/**/.windsurfrules', '/**/.roomodes', '/**/.cursor/**', '/**/.mcp.json', "  \
	"'/**/.{gemini,qwen,codex,roo,kilocode,windsurf,amazonq,opencode,continue,fa" \
	"ctory,trae}/**', "                                                           \
	"'/**/.{openhands,pi,amp,augment,goose,cline,copilot,codebuddy,crush,devin,f" \
	"orge,grok,iflow,kimi,lingma,qodo,rovodev,tabnine,vibe,warp,zencoder}/**', "  \
	"'/**/.kiro/{settings,hooks,agents,steering}/**', '/**/.junie/mcp/**', "      \
	"'/**/opencode.{json,jsonc}', '/**/{.,}crush.json', '/**/.continuerc.json', " \
	"'/**/.aider.conf.yml', '/**/.aider.model.settings.yml', "                    \
	"'/**/.plandex.json', '/**/gptme.toml', '/**/.serena/project.yml', "          \
	"'/**/.github/workflows/**', '/**/.github/actions/**', "                      \
	"'/**/.gitlab-ci.yml', '/**/.{gitea,forgejo}/workflows/**', "                 \
	"'/**/.{gitea,forgejo}/actions/**', '/**/.circleci/**', "                     \
	"'/**/.woodpecker/**', '/**/.woodpecker.{yml,yaml}', '/**/.buildkite/**', "   \
	"'/**/.semaphore/**', '/**/.teamcity/**', '/**/.tekton/**', "                 \
	"'/**/.builds/**', '/**/.build.yml', '/**/Jenkinsfile', "                     \
	"'/**/{.,}azure-pipelines.{yml,yaml}', '/**/.azure-pipelines/**', "           \
	"'/**/bitbucket-pipelines.yml', '/**/.drone.{yml,yaml,star,jsonnet}', "       \
	"'/**/.travis.yml', '/**/{.,}appveyor.yml', '/**/.cirrus.{yml,star}', "       \
	"'/**/codemagic.yaml', '/**/cloudbuild.{yaml,json}', '/**/buildspec.yml', "   \
	"'/**/.zuul.yaml', '/**/.zuul.d/**', '/**/zuul.yaml', '/**/zuul.d/**', "      \
	"'/**/.prow.yaml', '/**/.kokoro/**', '/**/.pipelines/**', "                   \
	"'/**/.harness/**', '/**/{.,}bitrise.yml', '/**/{.,}buddy.yml', "             \
	"'/**/screwdriver.yaml', '/**/.readthedocs.{yml,yaml}', '/**/netlify.toml', " \
	"'/**/vercel.json', '/**/render.yaml', '/**/.do/app.yaml', "                  \
	"'/**/.ebextensions/**', '/**/.platform/**', '/**/.scrutinizer.yml', "        \
	"'/**/renovate.json{,5}', '/**/.renovaterc{,.json}', '/**/garnix.yaml', "     \
	"'/**/.npmrc', '/**/.yarnrc', '/**/.yarnrc.yml', '/**/.pnpmfile.cjs', "       \
	"'/**/.yarn/{releases,plugins}/**', '/**/.bundle/config', "                   \
	"'/**/.cargo/config{,.toml}', '/**/.bazelrc', '/**/.bazeliskrc', "            \
	"'/**/rust-toolchain{,.toml}', '/**/.mvn/**', '/**/.sbtopts', "               \
	"'/**/.jvmopts', '/**/.buckconfig{,.local}', '/**/.pantsrc.toml', "           \
	"'/**/.bazelversion', '/**/{.,}ansible.cfg', '/**/bunfig.toml', "             \
	"'/**/.pip/**', '/**/.pixi/config.toml', '/**/uv.toml', '/**/{.,}pylintrc', " \
	"'/**/.flake8', '/**/.proverc', '/**/.perlcriticrc', '/**/.rubocop.yml', "    \
	"'/**/.rspec', '/**/.golangci.{yml,yaml,toml}', '/**/.tflint.hcl', "          \
	"'/**/.checkov.{yml,yaml}', '/**/.vale.ini', '/**/.mega-linter.yml', "        \
	"'/**/.ansible-lint', '/**/.eslintrc.{js,cjs}', "                             \
	"'/**/.prettierrc.{js,cjs,mjs}', '/**/.stylelintrc.{js,cjs}', "               \
	"'/**/.mocharc.{js,cjs,json,yml,yaml}', '/**/.babelrc{,.js}', "               \
	"'/**/.lintstagedrc{,.json,.js,.cjs,.mjs}', '/**/.commitlintrc.{js,cjs}', "   \
	"'/**/.simple-git-hooks.{json,js,cjs}', '/**/.tool-versions', "               \
	"'/**/.{bashrc,bash_profile,bash_login,bash_logout,profile,zshrc,zshenv,zpro" \
	"file,zlogin}', '/**/.{bash_aliases,zlogout,kshrc,mkshrc,cshrc,tcshrc}', "    \
	"'/**/.{login,logout}', '/**/.{inputrc,pam_environment}', "                   \
	"'/**/.{xinitrc,xprofile,xsession,xsessionrc,xserverrc}'"
#define RULE(id, action, priority, operations, patterns)                                    \
	"{id: " id ", action: " action ", priority: " priority ", operations: [" operations \
	"], patterns: [" patterns "]}"
#define LIMITS "limits: {timeout: 5m, memory: 1G, pids: 64}"

static const struct {
	const char *id, *yes, *at, *no;
} cases[] = {
	{ "write-everything", "fs: {write: [/**]}", "/**", "fs: {write: [/srv/**]}" },
	{ "write-everything", "fs: {write: ['/*/**']}", "/*/**", "fs: {write: ['/*']}" },
	{ "write-everything", "fs: {write: ['/**/*']}", "/**/*", "fs: {read: [/**]}" },
	{ "write-everything", "fs: {write: [{all: [/**, '/*/**']}]}", "{all: [/**, /*/**]}",
		"fs: {write: [{all: [/**, /srv/**]}]}" },
	{ "write-everything", "rules: [" RULE("r", "allow", "1", "fs.write", "/**") "]", "/**",
		"rules: [" RULE("r", "ask", "1", "fs.write", "/**") "]" },
	{ "write-home", "fs: {write: [$HOME/**]}", "$HOME/**", "fs: {write: [$HOME/projects/**]}" },
	{ "write-home", "fs: {write: [/home/alice/**]}", "/home/alice/**",
		"fs: {write: [/home/alice/x/**]}" },
	{ "write-home", "fs: {write: [/home/**]}", "/home/**", "fs: {write: [/srv/home/**]}" },
	{ "write-home", "fs: {write: ['/home/*/**']}", "/home/*/**",
		"fs: {write: ['/home/*/x/**']}" },
	{ "write-home", "fs: {write: ['/home/a*/**']}", "/home/a*/**",
		"fs: {write: ['/home/a*']}" },
	{ "write-home", "fs: {write: ['/{srv,root}/**']}", "/{srv,root}/**",
		"fs: {write: ['/{srv,opt}/**']}" },
	{ "write-home", "fs: {write: [{all: [/home/bob/**, '/h*/**']}]}",
		"{all: [/home/bob/**, /h*/**]}",
		"fs: {write: [{all: [/home/bob/**, '/h*/*/x/**']}]}" },
	{ "write-home", "guest_paths: [{guest: /x, host: /Users/bob, mode: rw}]", "/Users/bob/**",
		"guest_paths: [{guest: /x, host: /Users/bob, mode: ro}]" },
	{ "write-system", "fs: {write: [/var/**]}", "/var/**", "fs: {write: [/var/www/**]}" },
	{ "write-system", "fs: {write: ['/**/*.log']}", "/**/*.log",
		"fs: {write: ['/srv/**/*.log']}" },
	{ "write-system", "fs: {write: ['/{srv,var}/**']}", "/{srv,var}/**",
		"fs: {write: [/etc/**]}" },
	{ "read-everything", "fs: {read: [/**]}", "/**", "fs: {read: [/usr/**]}" },
	{ "read-home", "fs: {read: [~/]}", "$HOME/**", "fs: {read: [~/x/]}" },
	{ "deferred-execution", "fs: {write: [$WORK_DIR/**]}", "$WORK_DIR/**",
		"fs: {write: [$DATA_DIR/**]}" },
	{ "deferred-execution", "fs: {write: [$WORK_DIR/**]}", "$WORK_DIR/**",
		"fs: {write: [$WORK_DIR/**], deny: [" DENY_ALL_DEFERRED "]}" },
	{ "deferred-execution", "fs: {write: [$WORK_DIR/.git/config]}", "$WORK_DIR/.git/config",
		"fs: {write: [$WORK_DIR/.git/index]}" },
	{ "deferred-execution", "fs: {write: ['/srv/**/.en*']}", "/srv/**/.en*",
		"fs: {write: ['/srv/*/*.c']}" },
	{ "deferred-execution",
		"{fs: {write: [/srv/**]}, rules: [" RULE(
			"r", "deny", "1", "fs.read", DENY_ALL_DEFERRED) "]}",
		"/srv/**",
		"{fs: {write: [/srv/**]}, rules: [" RULE(
			"r", "deny", "1", "fs.write", DENY_ALL_DEFERRED) "]}" },
	/* the same denials in other words */
	{ "deferred-execution", "fs: {write: [/srv/**], deny: ['/srv/**/.*/**', '/srv/**/.[!g]*']}",
		"/srv/**",
		"fs: {write: [/srv/**], deny: ['/srv/**/.*/**', '/srv/**/.*', "
		"'/srv/**/*-{workspace,project}', "
		"'/srv/**/*.{json,json5,jsonc,yml,yaml,toml,nix,py,cfg}', '/srv/**/mise/**', "
		"'/srv/**/{_darcs,zuul.d}/**', '/srv/**/pylintrc', "
		"'/srv/**/Jenkinsfile', '/srv/**/rust-toolchain']}" },
	{ "write-path", "fs: {write: [~/.local/bin/tool]}", "$HOME/.local/bin/tool",
		"fs: {write: [~/.local/share/x/**]}" },
	{ "write-path", "fs: {write: [~/.local/**]}", "$HOME/.local/**",
		"fs: {write: [~/.local/**], deny: [~/.local/bin/**, ~/.local/lib/**, "
		"~/.local/share/mise/**]}" },
	{ "write-path",
		"{fs: {write: [/srv/tools/**]}, env: [A=1, 'PATH=x:/usr/bin:/srv/tools/bin']}",
		"/srv/tools/**",
		"{fs: {write: [/srv/tools/**]}, env: ['PATH=/usr/bin:/srv/other', "
		"'P=/srv/tools']}" },
	{ "dangerously-allow", "dangerously_allow: [~/.ssh/config]", "$HOME/.ssh/config",
		"fs: {read: [/srv/**]}" },
	{ "dangerously-allow", "dangerously_allow: [$HOME/**]", "$HOME/**", "{}" },
	{ "dangerously-allow", "dangerously_allow: ['/**/x*']", "/**/x*", "{}" },

	{ "exec-everything", "exec: ['*']", "/**", "exec: ['/usr/*']" },
	{ "exec-everything", "exec: [/**]", "/**", "exec: [{all: [/**, git]}]" },
	{ "exec-everything", "exec: [/**]", "/**",
		"{exec: [/**], rules: [{id: x, action: deny, operations: [exec], patterns: "
		"[curl]}]}" },
	{ "exec-glob", "exec: [/opt/tools/**]", "/opt/tools/**", "exec: [/opt/tools/a]" },
	{ "exec-glob", "exec: ['/opt/{a*,b}']", "/opt/{a*,b}", "exec: ['/opt/{a,b}']" },
	{ "exec-any-code", "exec: [bash]", "bash", "exec: [bashful]" },
	{ "exec-any-code", "exec: [/usr/bin/python3.11]", "/usr/bin/python3.11",
		"exec: [/usr/bin/pythonic]" },
	{ "exec-any-code", "exec: ['bash -c:*']", "bash -c:*", "exec: ['bash build.sh:*']" },
	{ "exec-any-code", "exec: ['env FOO=1:*']", "env FOO=1:*", "exec: [ls]" },
	{ "exec-any-code", "exec: [/lib64/ld-linux-x86-64.so.2]", "/lib64/ld-linux-x86-64.so.2",
		"exec: [/lib64/libc.so.6]" },
	{ "exec-any-code", "exec: ['/opt/{x,npm}']", "/opt/{x,npm}", "exec: ['/opt/{x,y}']" },
	{ "exec-any-code", "exec: ['/opt/{n*,npm}']", "/opt/{n*,npm}", "exec: ['/opt/n*']" },
	{ "exec-any-code", "exec: [git]", "git", "exec: ['git status:']" },
	{ "exec-root", "exec: [sudo]", "sudo", "exec: [sudoku]" },
	{ "exec-root", "exec: [/usr/bin/docker]", "/usr/bin/docker", "exec: [dockerize]" },
	{ "exec-root", "rules: [" RULE("r", "allow", "1", "exec", "su") "]", "su",
		"rules: [" RULE("r", "deny", "1", "exec", "su") "]" },
	{ "write-then-exec", "{fs: {write: [/srv/**]}, exec: [/srv/bin/x]}", "/srv/bin/x",
		"{fs: {write: [/srv/data/**]}, exec: [/srv/bin/x]}" },
	{ "write-then-exec", "{fs: {write: [$WORK_DIR/**]}, exec: ['$WORK_DIR/bin/*']}",
		"$WORK_DIR/bin/*", "{fs: {write: [$WORK_DIR/**]}, exec: ['$SKILL_DIR/bin/*']}" },
	{ "write-then-exec", "{fs: {write: [/srv/**]}, exec: [/srv/a, git]}", "/srv/a",
		"{fs: {write: [/srv/**], deny: [/srv/a]}, exec: [/srv/a, git, {all: [git, "
		"/srv/**]}]}" },

	{ "net-everything", "network: {allow: ['*']}", "*:*",
		"network: {allow: ['*.example.com']}" },
	{ "net-everything", "network: {allow: ['*:443']}", "*:443",
		"network: {allow: ['10.0.0.0/8']}" },
	{ "net-everything", "network: {allow: ['0.0.0.0/0:443']}", "0.0.0.0/0:443",
		"network: {allow: ['8.0.0.0/8:443']}" },
	{ "net-everything", "network: {allow: ['[2000::]/3:443']}", "[2000::]/3:443",
		"network: {allow: ['[2001:4860::]/32:443']}" },
	{ "net-public-suffix", "network: {allow: ['*.com:443']}", "*.com:443",
		"network: {allow: ['*.example.com:443']}" },
	{ "net-public-suffix", "network: {allow: ['*.co.uk:443']}", "*.co.uk:443",
		"network: {allow: ['example.co.uk:443']}" },
	{ "net-public-suffix", "network: {allow: ['*.github.io:443']}", "*.github.io:443",
		"network: {allow: ['me.github.io:443', '*.me.github.io:443']}" },
	{ "net-public-suffix", "network: {allow: ['*.amazonaws.com']}", "*.amazonaws.com:*",
		"network: {allow: ['*.internal:443']}" },
	{ "net-private", "network: {allow: ['localhost:3000']}", "localhost:3000",
		"network: {allow: ['localhost.example.com:3000']}" },
	{ "net-private", "network: {allow: ['10.1.0.0/16:5432']}", "10.1.0.0/16:5432",
		"network: {allow: ['11.1.0.0/16:5432']}" },
	{ "net-private", "network: {allow: ['*.local:443']}", "*.local:443",
		"network: {allow: ['169.254.169.254']}" },
	{ "listen-public", "network: {listen: ['0.0.0.0:80']}", "0.0.0.0:80",
		"network: {listen: [80, '127.0.0.1:81', '[::1]:82:1']}" },
	{ "net-private-name", "network: {private: ['db.example.com:5432']}", "db.example.com:5432",
		"network: {allow: ['db.example.com:5432']}" },
	{ "covered", "network: {allow: ['a.b:443'], private: ['a.b:443']}", "a.b:443",
		"network: {allow: ['*.b:443'], private: ['a.b:443']}" },
	{ "net-metadata", "network: {allow: [169.254.169.254]}", "169.254.169.254:*",
		"network: {allow: ['169.254.0.0/16']}" },
	{ "net-metadata", "network: {allow: ['metadata.google.internal:80']}",
		"metadata.google.internal:80",
		"network: {allow: ['google.internal:80', 'unix:/run/x']}" },
	{ "net-drop", "network: {allow: ['pastebin.com:443']}", "pastebin.com:443",
		"network: {allow: ['notpastebin.com:443']}" },
	{ "net-drop", "network: {allow: ['x.ngrok.io:443']}", "x.ngrok.io:443",
		"network: {allow: ['9.9.9.9:443']}" },
	{ "net-drop", "network: {allow: ['https://dns.google/dns-query']}",
		"https://dns.google/dns-query", "network: {allow: ['https://www.google.com/']}" },
	{ "net-dns", "network: {allow: ['udp://9.9.9.9:53']}", "udp://9.9.9.9:53",
		"network: {allow: ['udp://9.9.9.9:54']}" },
	{ "net-dns", "network: {allow: ['dot.example.com:853']}", "dot.example.com:853",
		"network: {allow: ['dot.example.com:53-54']}" },
	{ "net-ports", "network: {allow: [api.example.com]}", "api.example.com:*",
		"network: {allow: ['api.example.com:443', 'unix:/run/x', '*']}" },
	{ "net-ports", "network: {allow: ['api.example.com:1-1001']}", "api.example.com:1-1001",
		"network: {allow: ['api.example.com:1-1000']}" },
	{ "net-plain-http", "network: {allow: ['http://example.com/']}", "example.com:80",
		"network: {allow: ['https://example.com/']}" },
	{ "net-plain-http", "network: {allow: ['example.com:80']}", "example.com:80",
		"network: {allow: ['example.com:80-81', 'localhost:80', 'udp://example.com:80']}" },
	{ "net-inspect", "network: {allow: ['https://example.com/v1/**']}",
		"https://example.com/v1/**",
		"network: {allow: ['https://example.com/v1/**'], inspect: [example.com:443]}" },
	{ "net-inspect", "network: {allow: [a.com], deny: ['https://a.com/x']}", "https://a.com/x",
		"network: {allow: [a.com], deny: ['http://a.com/x', 'https://a.com/**']}" },
	{ "net-inspect",
		"rules: [{id: a, action: allow, operations: [net.connect], patterns: [a.com:443], "
		"methods: [GET]}]",
		"a.com:443",
		"{network: {inspect: [a.com:443]}, rules: [{id: a, action: allow, operations: "
		"[net.connect], patterns: [a.com:443], methods: [GET]}]}" },
	{ "unix-root", "network: {allow: [unix:/var/run/docker.sock]}", "unix:/var/run/docker.sock",
		"network: {allow: [unix:/run/postgresql/.s.PGSQL.5432]}" },
	{ "unix-root", "network: {allow: [unix:/run/dbus/system_bus_socket]}",
		"unix:/run/dbus/system_bus_socket", "network: {allow: ['example.com:443']}" },
	{ "unix-session", "network: {allow: [unix:/tmp/.X11-unix/X0]}", "unix:/tmp/.X11-unix/X0",
		"network: {allow: [unix:/tmp/X0]}" },
	{ "unix-session", "network: {allow: [unix:/tmp/ssh-abc/agent.12]}",
		"unix:/tmp/ssh-abc/agent.12", "network: {allow: [unix:/tmp/agent.12]}" },
	{ "unix-session", "network: {allow: [unix:/run/user/1000/bus]}", "unix:/run/user/1000/bus",
		"network: {allow: [unix:/run/user/1000/mybus]}" },
	{ "unix-session", "network: {allow: [unix:/run/user/1000/gnupg/S.gpg-agent]}",
		"unix:/run/user/1000/gnupg/S.gpg-agent",
		"network: {allow: [unix:/run/docker.sock]}" },

	{ "env-everything", "env: ['*']", "*", "env: ['A*']" },
	{ "env-secret", "env: [GITHUB_TOKEN]", "GITHUB_TOKEN", "env: [GITHUB_ACTOR]" },
	{ "env-secret", "env: ['AWS_*']", "AWS_*", "env: [AWS_REGION, 'AWS_DEFAULT_*']" },
	{ "env-secret", "env: ['GITHUB_*']", "GITHUB_*", "env: ['LC_*', LANG, TERM]" },
	{ "env-secret", "env: [DB_PASSWORD]", "DB_PASSWORD", "env: [DB_PASSWORD=changeme]" },
	{ "env-secret", "env: [SSH_AUTH_SOCK]", "SSH_AUTH_SOCK", "env: [SSH_TTY, GPG_TTY]" },
	{ "env-secret", "env: ['*_SECRET']", "*_SECRET", "env: ['*']" },
	{ "env-secret-value", "env: [K=ghp_0123456789abcdefghij]", "K=…", "env: [K=ghp_short]" },
	{ "env-secret-value", "env: [API_TOKEN=correcthorse]", "API_TOKEN=…",
		"env: [API_TOKEN=/run/token, AWS_REGION=eu-central-1]" },
	{ "env-secret-value", "env: ['U=https://me:pw@example.com/']", "U=…",
		"env: ['U=https://example.com/a:b@c']" },
	{ "env-secret-value", "env: [X=aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY]", "X=…",
		"env: [X=abcdefghijklmnopqrstuvwxyzabcdefgh, Y=aB3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1x!]" },
	{ "env-secret-value", "env: [{all: [T, T=ghp_0123456789abcdefghij]}]", "{all: [T, T=…]}",
		"env: [GITHUB_TOKEN]" },
	{ "env-code", "env: [LD_PRELOAD]", "LD_PRELOAD", "env: [LDFLAGS]" },
	{ "env-code", "env: ['LD_*']", "LD_*", "env: ['*']" },
	{ "env-code", "env: [NODE_OPTIONS=--inspect]", "NODE_OPTIONS=…",
		"env: [NODE_ENV=production]" },
	{ "env-code", "env: ['PYTHON*']", "PYTHON*", "env: [PAGER=cat]" },

	{ "secret-host", "secrets: {A: {hosts: [a.example:443]}}", "A=a.example:443,header",
		"{secrets: {A: {hosts: [a.example:443]}}, network: {allow: [a.example:443]}}" },
	{ "secret-host",
		"{secrets: {A: {hosts: [a.example:443]}}, network: {allow: [b.example:443], deny: "
		"[a.example:443]}}",
		"A=a.example:443,header",
		"{secrets: {A: {hosts: [a.example:443]}}, network: {private: ['*.example:443']}}" },
	{ "secret-program", "secrets: {A: {hosts: [a.example:443], programs: [/usr/bin/python3]}}",
		"A=a.example:443,header,/usr/bin/python3",
		"secrets: {A: {hosts: [a.example:443], programs: [/usr/bin/gh]}}" },
	{ "secret-program",
		"{secrets: {A: {hosts: [a.example:443], programs: [/opt/x/gh]}}, fs: {write: "
		"[/opt/x/**]}}",
		"A=a.example:443,header,/opt/x/gh",
		"{secrets: {A: {hosts: [a.example:443], programs: [/opt/y/gh]}}, fs: {read: "
		"[/opt/**], write: [/opt/x/**]}}" },
	{ "secret-variable", "{secrets: {A_TOKEN: {hosts: [a.example:443]}}, env: ['*_TOKEN']}",
		"A_TOKEN=a.example:443,header",
		"{secrets: {A_TOKEN: {hosts: [a.example:443]}}, env: [A_TOKEN=x]}" },
	{ "service-unscoped", "services: {browser: true}", "browser",
		"services: {browser: {access: open, domains: [example.com]}}" },
	{ "service-unscoped", "services: {email: {access: send, recipients: ['*']}}", "email",
		"services: {email: {access: send, recipients: ['*@example.com']}}" },
	{ "service-unscoped", "services: {clipboard: {access: read}}", "clipboard",
		"services: {notifications: true}" },
	{ "service-unscoped", "rules: [" RULE("r", "allow", "1", "service", "browser") "]",
		"browser",
		"rules: [" RULE("r", "allow", "1", "service", "'browser:example.com'") "]" },
	{ "service-unscoped", "rules: [" RULE("r", "allow", "1", "service", "'*'") "]", "*",
		"rules: [" RULE("r", "allow", "1", "service", "calendar.read") "]" },
	{ "service-unscoped", "rules: [" RULE("r", "allow", "1", "service", "clipboard.read") "]",
		"clipboard.read",
		"rules: [" RULE("r", "allow", "1", "service", "notifications") "]" },
	{ "mode-monitor", "mode: monitor", "", "mode: audit" },
	{ "mode-audit", "mode: audit", "", "mode: enforce" },
	{ "default-allow", "default: allow", "", "default: ask" },
	{ "rule-asks-files", "rules: [" RULE("r", "ask", "1", "fs.read", "/srv/**") "]", "r",
		"rules: [" RULE("r", "ask", "1", "net.connect", "'a.com:443'") "]" },
	{ "rule-asks-files", "rules: [" RULE("r", "ask", "1", "exec", "git") "]", "r",
		"rules: [" RULE("r", "deny", "1", "exec", "git") "]" },
	{ "no-limits", "fs: {read: [/srv/**]}", "", "{fs: {read: [/srv/**]}, " LIMITS "}" },
	{ "no-limits", "{fs: {read: [/srv/**]}, limits: {timeout: 5m}}", "", "{}" },
	{ "no-limits", "all_of: [{exec: [a]}, {exec: [a], limits: {timeout: 1s}}]", "",
		"all_of: [{exec: [a]}, {exec: [a], " LIMITS "}]" },

	{ "grants-nothing", "fs: {deny: [/srv/**]}", "", "fs: {read: [/srv/**]}" },
	{ "matches-nothing", "fs: {read: [{all: [/srv/**, /opt/**]}]}", "{all: [/srv/**, /opt/**]}",
		"fs: {read: [{all: [$WORK_DIR/**, $HOME/**]}]}" },
	{ "matches-nothing",
		"network: {allow: [{all: ['a.example.com:443', 'b.example.com:443']}]}",
		"{all: [a.example.com:443, b.example.com:443]}",
		"network: {allow: [{all: ['*.example.com:443', 'b.example.com:*']}]}" },
	{ "matches-nothing", "exec: [{all: [git, curl]}]", "{all: [git, curl]}",
		"exec: [{all: [git, /usr/**]}]" },
	{ "matches-nothing", "env: [{all: [A=1, A=2]}]", "{all: [A=…, A=…]}",
		"env: [{all: ['A*', '*B']}]" },
	{ "baseline-forbids", "fs: {read: [~/.ssh/id_rsa]}", "$HOME/.ssh/id_rsa",
		"fs: {read: [~/.sshx/id_rsa]}" },
	{ "baseline-forbids", "fs: {write: [/etc/**]}", "/etc/**", "fs: {read: [/etc/**]}" },
	{ "baseline-forbids", "fs: {read: [/home/bob/.aws/**]}", "/home/bob/.aws/**",
		"fs: {read: [/home/bob/.a*/**]}" },
	{ "baseline-forbids", "fs: {write: ['/usr/lib/*.so']}", "/usr/lib/*.so",
		"fs: {write: ['/us*/lib/*.so']}" },
	{ "baseline-forbids", "fs: {write: ['/{etc,usr}/x']}", "/{etc,usr}/x",
		"fs: {write: ['/{etc,srv}/x']}" },
	{ "baseline-forbids",
		"{fs: {read: [~/.ssh/a]}, dangerously_allow: [~/.ssh/b, /etc/shadow]}",
		"$HOME/.ssh/a", "{fs: {read: [~/.ssh/a]}, dangerously_allow: [~/.ssh/**]}" },
	{ "baseline-forbids", "fs: {read: [/proc/1/environ]}", "/proc/1/environ",
		"{fs: {read: [~/.ssh/a]}, dangerously_allow: [$WORK_DIR/**]}" },
	{ "dangerously-unused", "dangerously_allow: [/srv/x]", "/srv/x",
		"{fs: {read: [~/.ssh/**]}, dangerously_allow: [~/.ssh/config]}" },
	{ "dangerously-unused",
		"{fs: {read: [~/x/**], deny: [~/.ssh/**]}, dangerously_allow: [~/.ssh/config]}",
		"$HOME/.ssh/config", "{dangerously_allow: [~/.ssh/config], default: allow}" },
	{ "denied", "fs: {read: [/srv/a/**], deny: [/srv/**]}", "/srv/a/**",
		"fs: {read: [/srv/**], deny: [/srv/a/**]}" },
	{ "denied", "fs: {write: ['/srv/*.c'], deny: ['/srv/*']}", "/srv/*.c",
		"fs: {write: ['/srv/*'], deny: ['/srv/*.c']}" },
	{ "denied", "network: {allow: ['a.example.com:443'], deny: ['*.example.com']}",
		"a.example.com:443",
		"network: {allow: ['a.example.com:443'], deny: ['*.example.com:80']}" },
	{ "denied",
		"{fs: {read: [/srv/a]}, rules: [" RULE("r", "ask", "1", "fs.read", "/srv/**") "]}",
		"/srv/a",
		"{fs: {read: [/srv/a]}, rules: [" RULE(
			"r", "ask", "1", "fs.write", "/srv/**") "]}" },
	{ "denied", "{exec: [git], rules: [" RULE("r", "deny", "1", "exec", "git") "]}", "git",
		"{exec: [git], rules: [" RULE("r", "deny", "1", "exec", "'git push:*'") "]}" },
	{ "denied",
		"{exec: ['git push x:'], rules: [" RULE(
			"r", "deny", "1", "exec", "'git push:*'") "]}",
		"git push x:",
		"{exec: ['git pull:'], rules: [" RULE(
			"r", "deny", "1", "exec", "'git push:*'") "]}" },
	{ "denied", "{env: [A=1], rules: [" RULE("r", "deny", "1", "env", "A") "]}", "A=…",
		"{env: [A], rules: [" RULE("r", "deny", "1", "env", "A=1") "]}" },
	{ "denied", "{fs: {deny: [/srv/**]}, exec: [/srv/bin/x]}", "/srv/bin/x",
		"{fs: {deny: [/srv/data/**]}, exec: [/srv/bin/x, x]}" },
	{ "rule-shadowed",
		"rules: [" RULE("a", "deny", "9", "fs.read", "/srv/**") ", " RULE(
			"b", "allow", "1", "fs.read", "/srv/x") "]",
		"/srv/x",
		"rules: [" RULE("a", "deny", "1", "fs.read", "/srv/**") ", " RULE(
			"b", "allow", "9", "fs.read", "/srv/x") "]" },
	{ "rule-shadowed",
		"{fs: {deny: [/srv/**]}, rules: [" RULE(
			"b", "allow", "1", "'fs.read', 'fs.write'", "/srv/x") "]}",
		"/srv/x",
		"{fs: {deny: [/srv/x]}, rules: [" RULE(
			"b", "allow", "1", "'fs.read', 'fs.write'", "/srv/**") "]}" },
	{ "rule-shadowed",
		"rules: [" RULE("a", "deny", "1", "service", "'*'") ", " RULE(
			"b", "allow", "1", "service", "browser") "]",
		"browser",
		"rules: [" RULE("a", "deny", "1", "service", "email") ", " RULE(
			"b", "allow", "1", "service", "browser") "]" },
	{ "covered", "fs: {read: [/srv/**, /srv/a/**]}", "/srv/a/**",
		"fs: {read: [/srv/a/**, /srv/b/**]}" },
	{ "covered", "fs: {read: [/srv/a], write: [/srv/**]}", "/srv/a",
		"fs: {read: [/srv/**], write: [/srv/a]}" },
	{ "covered", "fs: {read: [$WORK_DIR/a, $WORK_DIR/**]}", "$WORK_DIR/a",
		"fs: {read: [$WORK_DIR/a, $HOME/**]}" },
	{ "covered", "fs: {read: [$WORK_DIR/a, /**]}", "$WORK_DIR/a",
		"fs: {read: [$WORK_DIR/a, /srv/**]}" },
	{ "covered", "fs: {read: ['/srv/*.c', '/srv/a*.c']}", "/srv/a*.c",
		"fs: {read: ['/srv/*.c', '/srv/a*']}" },
	{ "covered", "fs: {read: [/srv/**, {all: [/srv/a/**, '/**/*.c']}]}",
		"{all: [/srv/a/**, /**/*.c]}",
		"fs: {read: [/srv/a/b, {all: [/srv/a/**, '/**/*.c']}]}" },
	{ "covered", "network: {allow: ['*:443', 'example.com:443']}", "example.com:443",
		"network: {allow: ['*:443', 'localhost:443', 'example.com:80']}" },
	{ "covered", "exec: [git, 'git push:*']", "git push:*",
		"exec: ['git push:', 'git push x:']" },
	{ "covered", "exec: [/usr/bin/git, /usr/**]", "/usr/bin/git",
		"exec: [git, /usr/**, '/opt/x a:']" },
	{ "covered", "env: ['LC_*', LC_ALL]", "LC_ALL", "env: ['LC_*', LC_ALL=C, LANG]" },
	{ "covered", "env: [A=1, A=1]", "A=…", "env: [A=1, A=2]" },
	{ "covered", "fs: {read: [/srv/**], deny: [/srv/a, /srv/a]}", "/srv/a",
		"fs: {read: [/srv/**], deny: [/srv/a, /srv/b]}" },
	{ "deny-unused", "fs: {read: [/srv/**], deny: [/opt/x]}", "/opt/x",
		"fs: {read: [/srv/**], deny: [/srv/x]}" },
	{ "deny-unused", "fs: {read: ['/srv/*.c'], deny: ['/srv/*.h']}", "/srv/*.h",
		"fs: {read: ['/srv/*.c'], deny: ['/srv/*']}" },
	{ "deny-unused", "network: {allow: ['a.example.com'], deny: ['b.example.com']}",
		"b.example.com:*", "network: {allow: ['*.example.com'], deny: ['b.example.com']}" },
	{ "deny-unused", "fs: {deny: [/srv/x]}", "/srv/x",
		"fs: {read: [$WORK_DIR/**], deny: [/srv/x]}" },
	{ "deny-unused", "{fs: {deny: [/srv/x]}, exec: [/opt/y]}", "/srv/x",
		"{fs: {deny: [/srv/x]}, exec: [git]}" },
	{ "deny-unused", "fs: {deny: [/srv/x]}", "/srv/x",
		"{fs: {deny: [/srv/x]}, default: allow}" },
	{ "deny-unused",
		"rules: [" RULE("a", "deny", "9", "env", "A=1") ", " RULE(
			"b", "allow", "1", "env", "A=2") "]",
		"A=…",
		"rules: [" RULE("a", "deny", "9", "env", "A=1") ", " RULE(
			"b", "allow", "1", "env", "A") "]" },
	{ "deny-unused",
		"rules: [" RULE("a", "deny", "9", "exec", "'git push:'") ", " RULE(
			"b", "allow", "1", "exec", "'git pull:'") "]",
		"git push:",
		"rules: [" RULE("a", "deny", "9", "service", "email") ", " RULE(
			"b", "allow", "1", "service", "'*'") "]" },
	{ "literal-folder", "fs: {read: [/srv/data]}", "/srv/data", "fs: {read: [/srv/data.txt]}" },
	{ "literal-folder", "fs: {write: [$WORK_DIR]}", "$WORK_DIR",
		"fs: {write: [$WORK_DIR/Makefile]}" },
	{ "literal-folder", "fs: {write: [/]}", "/", "fs: {read: [/etc/hosts, /dev/null]}" },
	{ "literal-folder", "fs: {read: [/srv/data, /srv/datax/**]}", "/srv/data",
		"fs: {read: [/srv/data, '/srv/data/*']}" },
	{ "literal-folder", "{fs: {read: [/srv/tool]}, exec: [git, '/srv/t*']}", "/srv/tool",
		"{fs: {read: [/srv/tool, /opt/x/bin/tool]}, exec: [/srv/tool]}" },
	{ "guest-overlap",
		"guest_paths: [{guest: /a, host: /srv/a, mode: ro}, {guest: /a/b, host: /srv/b, "
		"mode: ro}]",
		"/a/b",
		"guest_paths: [{guest: /a, host: /srv/a, mode: ro}, {guest: /ab, host: /srv/b, "
		"mode: ro}]" },
	{ "guest-overlap",
		"guest_paths: [{guest: /a, host: /srv, mode: ro}, {guest: /b, host: /srv/b, mode: "
		"rw}]",
		"/srv/b",
		"guest_paths: [{guest: /a, host: /srv, mode: ro}, {guest: /b, host: /srv/b, mode: "
		"ro}]" },
	{ "guest-overlap",
		"guest_paths: [{guest: /, host: /srv/a, mode: ro}, {guest: /b, host: /srv/b, mode: "
		"ro}]",
		"/b", "guest_paths: [{guest: /, host: /srv/a, mode: ro}]" },
	{ "rule-duplicate-id",
		"rules: [" RULE("a", "deny", "9", "env", "A") ",\n " RULE(
			"a", "allow", "1", "env", "B") "]",
		"a",
		"rules: [" RULE("a", "deny", "9", "env", "A") ",\n " RULE(
			"b", "allow", "1", "env", "B") "]" },
	{ "rule-disabled",
		"rules: [{id: a, action: allow, operations: [env], patterns: [A], enabled: false}]",
		"a",
		"rules: [{id: a, action: allow, operations: [env], patterns: [A], enabled: "
		"true}]" },
};

static void check_finding(size_t i)
{
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };
	const struct lint_finding *f;

	lint_text(&a, cases[i].yes, &all);
	f = find(&all, cases[i].id);
	if (!f)
		fail_msg("%s is not found in %s", cases[i].id, cases[i].yes);
	assert_string_equal(f->pattern, cases[i].at);
	assert_true(*f->text && *f->hint);
	if (*cases[i].at)
		assert_string_equal(f->where.file, "p.yaml");
	assert_true(!*cases[i].at || f->where.line > 0);
	lint_text(&a, cases[i].no, &all);
	if (find(&all, cases[i].id))
		fail_msg("%s is found in %s", cases[i].id, cases[i].no);
}

static void test_checks(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++)
		check_finding(i);
}

/* Those with a test of their own below. */
static bool has_own_test(const char *id)
{
	return strcmp(id, "invalid-pattern") == 0 || strcmp(id, "not-compared") == 0;
}

static void test_every_check_has_a_case(void **state)
{
	const struct lint_about *about;

	(void)state;
	for (size_t i = 0; (about = lint_about(i)); i++) {
		size_t k = 0;

		assert_true(*about->about);
		while (k < ROWS(cases) && strcmp(cases[k].id, about->id) != 0)
			k++;
		if (k == ROWS(cases) && !has_own_test(about->id))
			fail_msg("%s has no case", about->id);
	}
}

static void test_severity_names(void **state)
{
	(void)state;
	assert_string_equal(lint_severity_name(LINT_NOTE), "note");
	assert_string_equal(lint_severity_name(LINT_WARNING), "warning");
	assert_string_equal(lint_severity_name(LINT_ERROR), "error");
}

/* Once for each line that its writer sees, not for each way in which it works. */
static void test_said_once(void **state)
{
	static const struct {
		const char *text, *id;
	} once[] = {
		{ "fs: {write: [/**]}", "write-everything" },
		{ "fs: {read: [/srv/**], deny: [/opt/x]}", "deny-unused" },
		{ "{fs: {deny: [/srv/**]}, rules: [" RULE(
			  "b", "allow", "1", "'fs.read', 'fs.write'", "/srv/x") "]}",
			"rule-shadowed" },
		{ "rules: [" RULE(
			  "b", "allow", "1", "'fs.read', 'fs.write'", "{all: [/a, /b]}") "]",
			"matches-nothing" },
		{ "fs: {read: [/srv/**, /srv/**]}", "covered" },
		{ "fs: {read: [/srv/a, /srv/**, /srv/a/**], write: [/opt/x/**]}", "no-limits" },
		{ "all_of: [{exec: [a]}, {exec: [b]}]", "no-limits" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(once); i++) {
		auto_arena a = { 0 };
		struct lint_findings all = { 0 };

		lint_text(&a, once[i].text, &all);
		assert_int_equal(count(&all, once[i].id), 1);
	}
}

/* A wide grant is called wide, and its consequences are not counted up. */
static void test_wide_silences(void **state)
{
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	lint_text(&a, "fs: {write: [/**, $HOME/**]}", &all);
	assert_non_null(find(&all, "write-everything"));
	assert_non_null(find(&all, "write-home"));
	assert_null(find(&all, "deferred-execution"));
	assert_null(find(&all, "write-path"));
	assert_null(find(&all, "write-system"));
}

/* The rule that is advised can be pasted, and then there is nothing left to advise. */
static void test_advice_helps(void **state)
{
	static const char policy[] = "fs: {write: [/srv/a/**, /srv/b/**]}\n";
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };
	const struct lint_finding *f;
	auto_buffer text = { 0 };
	const char *rule;

	(void)state;
	lint_text(&a, policy, &all);
	f = find(&all, "deferred-execution");
	assert_non_null(f);
	rule = strstr(f->hint, "`rules");
	assert_non_null(rule);
	buffer_printf(&text, "%s%.*s\n", policy, (int)strcspn(rule + 1, "`"), rule + 1);
	lint_text(&a, buffer_text(&text), &all);
	assert_null(find(&all, "deferred-execution"));
	assert_null(find(&all, "deny-unused"));
}

static void test_layers(void **state)
{
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	lint_text(&a,
		"all_of: [{fs: {read: [/**]}}, {fs: {read: [/**]}}, {all_of: [{mode: monitor}]}]",
		&all);
	assert_int_equal(count(&all, "read-everything"), 2);
	assert_int_equal(count(&all, "mode-monitor"), 1);
}

/* Permissions that were made by code hold whatever code put there. */
static void test_made_by_code(void **state)
{
	static const char *const bad[] = { "relative", "$NOBODY/x", "/[" };
	auto_permissions *p = permissions_new();
	struct rule rule = {
		.id = NULL, .action = VERDICT_ALLOW, .operations = 1u << OPERATION_ENV
	};
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++)
		assert_int_equal(permissions_add(p, &p->fs_write, bad[i], NULL), 0);
	assert_int_equal(permissions_add(p, &p->network_allow, "a b", NULL), 0);
	assert_int_equal(permissions_add(p, &p->exec, "python*", NULL), 0);
	assert_int_equal(permissions_add(p, &p->env, "A\x1b", NULL), 0);
	assert_int_equal(permissions_add_all(p, &p->env, NULL, 0, NULL), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
	assert_int_equal(permissions_add_rule(p, &rule), 0);
	rule.disabled = true;
	assert_int_equal(permissions_add_rule(p, &rule), 0);
	assert_int_equal(lint_permissions(p, &a, &all), 0);
	assert_int_equal(count(&all, "invalid-pattern"), ROWS(bad) + 3);
	assert_null(find(&all, "invalid-pattern")->where.file);
	assert_null(find(&all, "rule-duplicate-id"));
	assert_string_equal(find(&all, "rule-disabled")->pattern, "");
	assert_string_equal(find(&all, "no-limits")->pattern, "");
}

static void test_many_parts(void **state)
{
	const char *parts[LINT_PARTS_MAX + 8];
	auto_permissions *p = permissions_new();
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(parts); i++)
		parts[i] = i + 1 < ROWS(parts) ? "/srv/**" : "/srv/a/**";
	assert_int_equal(permissions_add_all(p, &p->fs_read, parts, ROWS(parts), NULL), 0);
	assert_int_equal(permissions_add(p, &p->fs_read, "/srv/b", NULL), 0);
	assert_int_equal(lint_permissions(p, &a, &all), 0);
	/* What was not looked at must not be taken for wide. */
	assert_null(find(&all, "covered"));
}

/* Text from outside is shown, not obeyed; secrets are not shown. */
static void test_visible(void **state)
{
	auto_permissions *p = permissions_new();
	struct location where = { .file = "a\x1b[2Jb", .line = 3 };
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	p->origin = "o\x1b";
	assert_int_equal(permissions_add(p, &p->fs_read, "/srv/\x1b[31m", &where), 0);
	assert_int_equal(permissions_add(p, &p->fs_read, "/srv/**", &where), 0);
	assert_int_equal(permissions_add(p, &p->env, "API_KEY=hunter2hunter2", &where), 0);
	assert_int_equal(lint_permissions(p, &a, &all), 0);
	assert_true(all.n >= 3);
	for (size_t i = 0; i < all.n; i++) {
		assert_null(strchr(all.items[i].text, '\x1b'));
		assert_null(strchr(all.items[i].pattern, '\x1b'));
		assert_null(strchr(all.items[i].where.file, '\x1b'));
		assert_null(strstr(all.items[i].text, "hunter2"));
		assert_null(strstr(all.items[i].pattern, "hunter2"));
	}
}

static void test_variables(void **state)
{
	static const struct {
		const char *home, *work, *id;
		bool found;
	} rows[] = {
		{ NULL, NULL, "write-home", false },
		{ "/srv/homes/bob", "/srv/homes/bob", "write-home", true },
		{ "/srv/homes/bob", "/srv/homes", "write-home", true },
		{ "/srv/homes/bob", "/srv/homes/bob/work", "write-home", false },
		{ NULL, "/home/alice", "write-home", true },
		{ NULL, "/home/alice/x", "write-home", false },
		{ NULL, "/", "write-everything", true },
		{ NULL, "relative", "write-everything", false },
		{ NULL, "/etc/x", "baseline-forbids", true },
		{ "/srv/homes/bob", "/srv/homes/bob/.ssh", "baseline-forbids", true },
		{ NULL, "/srv", "covered", true },
		{ NULL, NULL, "covered", false },
	};
	auto_manifest m = { 0 };

	(void)state;
	read_text(&m, "p.yaml", "fs: {write: [$WORK_DIR/**], read: [/srv/x]}");
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct variables vars = { .values = { [VARIABLE_HOME] = rows[i].home,
						  [VARIABLE_WORK_DIR] = rows[i].work } };
		auto_arena a = { 0 };
		struct lint_findings all = { 0 };

		assert_int_equal(lint_permissions_with(m.permissions, &vars, &a, &all), 0);
		assert_int_equal(find(&all, rows[i].id) != NULL, rows[i].found);
	}
}

/* Bounds */

/* n patterns: before, a number, behind. */
static void fill(struct permissions *p, struct grant_list *list, const char *before,
	const char *behind, size_t n)
{
	char text[128];

	for (size_t i = 0; i < n; i++) {
		(void)snprintf(text, sizeof(text), "%s%zu%s", before, i, behind);
		assert_int_equal(permissions_add(p, list, text, NULL), 0);
	}
}

static void test_bounds(void **state)
{
	static const struct {
		const char *before, *behind;
		size_t n;
		bool compared;
	} rows[] = {
		{ "/srv/", "/x.c", LINT_COMPARE_MAX - 1, true },
		{ "/srv/", "/x.c", LINT_COMPARE_MAX, false },
		{ "/srv/**/*a", "????????????????????", 100, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_permissions *p = permissions_new();
		auto_arena a = { 0 };
		struct lint_findings all = { 0 };

		fill(p, &p->fs_read, rows[i].before, rows[i].behind, rows[i].n);
		assert_int_equal(permissions_add(p, &p->fs_read, "/srv/**", NULL), 0);
		assert_int_equal(lint_permissions(p, &a, &all), 0);
		assert_int_equal(find(&all, "not-compared") == NULL, rows[i].compared);
		if (rows[i].compared)
			assert_int_equal(count(&all, "covered"), rows[i].n);
	}
}

/* Long lists of everything end soon, and say that not all was compared. */
static void test_long_lists(void **state)
{
	auto_permissions *p = permissions_new();
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	fill(p, &p->fs_write, "/srv/w", "/**", 2000);
	fill(p, &p->fs_deny, "/srv/**/.x", "", 2000);
	fill(p, &p->dangerously_allow, "/etc/ssh/x", "", 2000);
	fill(p, &p->fs_write, "/etc/x", "", 10);
	fill(p, &p->exec, "/srv/w", "/x", 2000);
	fill(p, &p->env, "A", "=1", 2000);
	fill(p, &p->network_allow, "h", ".example.com:443", 2000);
	for (size_t i = 0; i <= LINT_COMPARE_MAX; i++) {
		struct guest_path g = { .guest = "/a", .host = "/srv/a" };

		assert_int_equal(permissions_add_guest_path(p, &g), 0);
	}
	assert_int_equal(lint_permissions(p, &a, &all), 0);
	assert_int_equal(count(&all, "not-compared"), 1);
	assert_null(find(&all, "write-then-exec"));
}

/* Searches that find no end leave the answer open, in every place that asks. */
static void test_intricate(void **state)
{
	auto_permissions *p = permissions_new();
	auto_arena a = { 0 };
	struct lint_findings all = { 0 };

	(void)state;
	fill(p, &p->fs_write, "/**/*a??????????????????????", "", 3);
	fill(p, &p->fs_deny, "/**/*b??????????????????????", "", 3);
	fill(p, &p->dangerously_allow, "/**/*c??????????????????????", "", 3);
	assert_int_equal(
		permissions_add(p, &p->fs_write, "/etc/**/*d??????????????????????", NULL), 0);
	fill(p, &p->exec, "/**/*e??????????????????????", "", 3);
	assert_int_equal(lint_permissions(p, &a, &all), 0);
	assert_int_equal(count(&all, "not-compared"), 1);
	assert_null(find(&all, "covered"));
	assert_null(find(&all, "denied"));
	assert_null(find(&all, "deny-unused"));
}

/* Out of memory */

static const char everything[] =
	"fs: {read: [/srv/data, /srv/x/**, /srv/**, {all: [/a, /b]}, $HOME/**, ~/.ssh/x], write: "
	"[$WORK_DIR/**, "
	"~/.local/**, '/h*/a*/**', /var/**, /etc/x, /**], deny: [/opt/x, $WORK_DIR/y]}\n"
	"network: {allow: ['*', '*.com', localhost, 169.254.169.254, pastebin.com, 'udp://a.b:53', "
	"'http://a.b/', "
	"unix:/run/docker.sock, unix:/tmp/.X11-unix/X0, {all: ['*.b', 'a.b']}], deny: [a.b]}\n"
	"exec: [bash, sudo, '/opt/*', $WORK_DIR/x, '*', {all: [git, /usr/**]}]\n"
	"env: ['*', A_TOKEN, X=ghp_0123456789abcdefghij, LD_PRELOAD, 'PATH=/srv/b:/opt']\n"
	"services: {clipboard: true, browser: true}\n"
	"dangerously_allow: [~/.ssh/config, /srv/q]\n"
	"guest_paths: [{guest: /a, host: /srv, mode: ro}, {guest: /a/b, host: /srv/b, mode: rw}]\n"
	"rules:\n"
	"  - " RULE("a", "deny", "9", "fs.read",
		"/srv/**") "\n"
			   "  - " RULE("a", "allow", "1", "fs.read",
				   "/srv/x") "\n"
					     "  - " RULE("b", "allow", "1", "service",
						     "browser") "\n"
								"  - {id: c, action: deny, "
								"operations: [net.connect], "
								"patterns: ['*'], methods: [GET], "
								"enabled: false}\n"
								"  - {id: d, action: deny, "
								"operations: [net.connect], "
								"patterns: ['*'], methods: [GET]}\n"
								"mode: audit\n"
								"default: allow\n";

/* One kind of entry each. */
static const char *const parts[] = {
	"fs: {read: [/srv/data, /srv/x/**, /srv/**, {all: [/a, /b]}, $HOME/**, ~/.ssh/x], deny: "
	"[/opt/x, $WORK_DIR/y]}\ndangerously_allow: [~/.ssh/config, /srv/q]\n",
	"fs: {write: ['/h*/a*/**', /etc/x, /**], deny: [/opt/x]}\n",
	"fs: {write: [$WORK_DIR/**]}\nexec: [bash, sudo, '/opt/*', $WORK_DIR/x, '*', {all: [git, "
	"/usr/**]}]\n",
	"network: {allow: ['*', '*.com', localhost, 169.254.169.254, pastebin.com, 'udp://a.b:53', "
	"'http://a.b/', unix:/run/docker.sock, unix:/tmp/.X11-unix/X0, {all: ['*.b', 'a.b']}], "
	"deny: [a.b]}\n",
	"fs: {write: [/srv/**]}\n"
	"env: ['*', A_TOKEN, X=ghp_0123456789abcdefghij, LD_PRELOAD, 'PATH=/srv/b:/opt']\n"
	"services: {clipboard: true, browser: true}\n",
	"fs: {read: [/srv/x/**]}\nguest_paths: [{guest: /a, host: /srv, mode: ro}, {guest: /a/b, "
	"host: /srv/b, mode: rw}]\n"
	"rules:\n"
	"  - " RULE("a", "deny", "9", "fs.read",
		"/srv/**") "\n"
			   "  - " RULE("a", "allow", "1", "fs.read",
				   "/srv/x") "\n"
					     "  - " RULE("b", "allow", "1", "service",
						     "browser") "\n"
								"mode: audit\ndefault: allow\n",
};

/* Budgets grow by less than most allocations; after the first `all` ever faster. */
static void sweep_budgets(const char *text, size_t all)
{
	struct lint_findings found = { 0 };
	auto_manifest m = { 0 };
	int r = -ENOMEM;

	read_text(&m, "p.yaml", text);
	for (size_t budget = 16; r < 0; budget += 48 + 48 * (budget / all)) {
		auto_arena a = { 0 };

		arena_init(&a, budget);
		r = lint_permissions(m.permissions, &a, &found);
		assert_true(r == 0 || r == -ENOMEM);
		assert_true(r == 0 || found.items == NULL);
		assert_true(budget < 1 << 20);
	}
}

static void test_small_arenas(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(parts); i++)
		sweep_budgets(parts[i], SIZE_MAX);
	sweep_budgets(everything, 2048);
}

static void test_out_of_memory(void **state)
{
	struct lint_findings all = { 0 };
	auto_manifest m = { 0 };
	int r = -ENOMEM;

	(void)state;
	read_text(&m, "p.yaml", everything);
	/* Each of the first allocations, then ever fewer of the many that follow. */
	failing_stays = true;
	for (long n = 1; r < 0; n += 1 + n / 64) {
		auto_arena a = { 0 };

		failing_start(n - 1);
		r = lint_permissions(m.permissions, &a, &all);
		failing_stop();
		assert_true(r == 0 || r == -ENOMEM);
	}
}

/* Whole policies */

static void print(const struct lint_findings *all, struct buffer *out)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct lint_finding *f = &all->items[i];

		buffer_printf(out, "%u %s %s %s\n  %s\n  %s\n", f->where.line,
			lint_severity_name(f->severity), f->id, f->pattern, f->text, f->hint);
	}
}

static void check_sample(const char *name)
{
	auto_buffer path = { 0 }, text = { 0 }, expected = { 0 }, out = { 0 };
	struct lint_findings all = { 0 };
	auto_arena a = { 0 };
	auto_manifest m = { 0 };

	buffer_printf(&path, "%s/%s", samples, name);
	assert_int_equal(file_read(buffer_text(&path), 1 << 20, &text), 0);
	read_text(&m, name, buffer_text(&text));
	buffer_adds(&path, ".expected");
	assert_int_equal(file_read(buffer_text(&path), 1 << 20, &expected), 0);
	assert_int_equal(lint_permissions(m.permissions, &a, &all), 0);
	print(&all, &out);
	assert_string_equal(buffer_text(&out), buffer_text(&expected));
}

static void test_samples(void **state)
{
	static const char *const names[] = { "careful.yaml", "careless.yaml", "SKILL.md",
		"rules.json" };

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++)
		check_sample(names[i]);
}

/* docs/lint.md has one line for each check, in the same order. */
static void test_documented(void **state)
{
	auto_buffer path = { 0 }, text = { 0 };
	const struct lint_about *about;
	const char *at;

	(void)state;
	buffer_printf(&path, "%s/lint.md", docs);
	assert_int_equal(file_read(buffer_text(&path), 1 << 20, &text), 0);
	at = buffer_text(&text);
	for (size_t i = 0; (about = lint_about(i)); i++) {
		auto_buffer row = { 0 };
		const char *found;

		buffer_printf(
			&row, "\n| `%s` | %s | ", about->id, lint_severity_name(about->severity));
		found = strstr(at, buffer_text(&row));
		if (!found) {
			fail_msg("docs/lint.md: no line, or not here:%s", buffer_text(&row));
			return;
		}
		at = found + 1;
	}
	assert_null(strstr(at + 1, "\n| `"));
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checks),
		cmocka_unit_test(test_every_check_has_a_case),
		cmocka_unit_test(test_severity_names),
		cmocka_unit_test(test_said_once),
		cmocka_unit_test(test_wide_silences),
		cmocka_unit_test(test_advice_helps),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_made_by_code),
		cmocka_unit_test(test_many_parts),
		cmocka_unit_test(test_visible),
		cmocka_unit_test(test_variables),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_long_lists),
		cmocka_unit_test(test_intricate),
		cmocka_unit_test(test_small_arenas),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_documented),
	};

	samples = argc > 1 ? argv[1] : "tests/data/lint";
	docs = argc > 2 ? argv[2] : "docs";
	return cmocka_run_group_tests(tests, NULL, NULL);
}
