/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/env-name.h"

#include "base/array.h"
#include "policy/match/service.h"

const char *const env_name_code_words[] = { "LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "LD_*",
	"DYLD_*", "GCONV_PATH", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "ZDOTDIR",
	"BASH_FUNC_*", "PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "PYTHONUSERBASE",
	"PYTHONINSPECT", "PYTHONBREAKPOINT", "NODE_OPTIONS", "NODE_PATH", "PERL5LIB", "PERL5OPT",
	"PERL5DB", "PERLLIB", "RUBYLIB", "RUBYOPT", "LUA_INIT*", "LUA_PATH*", "LUA_CPATH*", "PHPRC",
	"PHP_INI_SCAN_DIR", "CLASSPATH", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "JDK_JAVA_OPTIONS",
	"MAVEN_OPTS", "GRADLE_OPTS", "DOTNET_STARTUP_HOOKS", "CORECLR_PROFILER*", "GIT_SSH",
	"GIT_SSH_COMMAND", "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "GIT_EXTERNAL_DIFF",
	"GIT_PROXY_COMMAND", "GIT_CONFIG*", "GIT_EXEC_PATH", "GIT_TEMPLATE_DIR", "GIT_HOOKS_PATH",
	"LESSOPEN", "LESSCLOSE", "MANPAGER", "EMACSLOADPATH", "VIMINIT", "EXINIT",
	"GDK_PIXBUF_MODULE_FILE", "GTK_MODULES", "GTK_PATH", "GIO_EXTRA_MODULES", "QT_PLUGIN_PATH",
	"OPENSSL_CONF", "OPENSSL_ENGINES", "RUSTC_WRAPPER", "RUSTC", "CARGO_BUILD_RUSTC*",
	"CC_WRAPPER", "NPM_CONFIG_SCRIPT_SHELL", "npm_config_script_shell", "TCLLIBPATH",
	"R_PROFILE*", "R_ENVIRON*", "JULIA_LOAD_PATH" };
const size_t env_name_n_code_words = ROWS(env_name_code_words);

/* Other files than expected, or other words than written. */
static const char *const other_words[] = { "ENV", "IFS", "PS4", "CDPATH", "GLOBIGNORE",
	"GETCONF_DIR", "GLIBC_TUNABLES", "HOSTALIASES", "LOCALDOMAIN", "LOCPATH", "MALLOC_*",
	"NIS_PATH", "NLSPATH", "RESOLV_HOST_CONF", "RES_OPTIONS", "TERMCAP", "TERMINFO",
	"TERMINFO_DIRS", "TZDIR" };

static bool is_among(const char *const *words, size_t n, const char *name, size_t len)
{
	for (size_t i = 0; i < n; i++) {
		if (service_word_matches(words[i], name, len))
			return true;
	}
	return false;
}

bool env_name_is_unsafe(const char *name, size_t len)
{
	return is_among(env_name_code_words, env_name_n_code_words, name, len) ||
	       is_among(other_words, ROWS(other_words), name, len);
}
