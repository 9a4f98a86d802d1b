/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files there are. All are secrets of the baseline (data/baseline.conf), so they are hidden
 * where they are not shown masked; a test compares. A path is the user's and the table's, never a
 * policy's.
 */
#include <string.h>

#include "mask/mask.h"

static const struct mask_field gh[] = {
	{ "*", MASK_FOLDER },
	{ "* oauth_token", MASK_SECRET },
	{ "* user", MASK_NAME },
	{ "* git_protocol", MASK_NAME },
	{ "* users", MASK_FOLDER },
	{ "* users *", MASK_FOLDER },
	{ "* users * oauth_token", MASK_SECRET },
	{ "* users * git_protocol", MASK_NAME },
	{ 0 },
};

static const struct mask_field netrc[] = {
	{ "*", MASK_FOLDER },
	{ "* login", MASK_NAME },
	{ "* password", MASK_SECRET },
	{ "* account", MASK_SECRET },
	{ 0 },
};

static const struct mask_field npm[] = {
	{ "registry", MASK_URL },
	{ "*:registry", MASK_URL },
	{ "*:_authToken", MASK_SECRET },
	{ "*:_password", MASK_BASE64 },
	{ "*:_auth", MASK_PAIR },
	{ "*:username", MASK_NAME },
	{ "*:email", MASK_NAME },
	{ "*:always-auth", MASK_NAME },
	{ "_authToken", MASK_SECRET },
	{ "_password", MASK_BASE64 },
	{ "_auth", MASK_PAIR },
	{ "username", MASK_NAME },
	{ "email", MASK_NAME },
	{ "always-auth", MASK_NAME },
	{ "access", MASK_NAME },
	{ "audit", MASK_NAME },
	{ "engine-strict", MASK_NAME },
	{ "fund", MASK_NAME },
	{ "ignore-scripts", MASK_NAME },
	{ "install-strategy", MASK_NAME },
	{ "legacy-peer-deps", MASK_NAME },
	{ "loglevel", MASK_NAME },
	{ "maxsockets", MASK_NAME },
	{ "package-lock", MASK_NAME },
	{ "progress", MASK_NAME },
	{ "provenance", MASK_NAME },
	{ "save-exact", MASK_NAME },
	{ "save-prefix", MASK_NAME },
	{ "strict-peer-deps", MASK_NAME },
	{ "strict-ssl", MASK_NAME },
	{ "tag", MASK_NAME },
	{ "update-notifier", MASK_NAME },
	{ 0 },
};

static const struct mask_field docker[] = {
	{ "auths", MASK_FOLDER },
	{ "auths *", MASK_FOLDER },
	{ "auths * auth", MASK_PAIR },
	{ "auths * username", MASK_NAME },
	{ "auths * password", MASK_SECRET },
	{ "auths * email", MASK_NAME },
	{ "auths * identitytoken", MASK_SECRET },
	{ "auths * registrytoken", MASK_SECRET },
	{ 0 },
};

static const struct mask_field aws[] = {
	{ "*", MASK_FOLDER },
	{ "* aws_access_key_id", MASK_SECRET },
	{ "* aws_secret_access_key", MASK_SECRET },
	{ "* aws_session_token", MASK_SECRET },
	{ "* aws_security_token", MASK_SECRET },
	{ "* region", MASK_NAME },
	{ "* output", MASK_NAME },
	{ 0 },
};

static const struct mask_field gcloud[] = {
	{ "type", MASK_NAME },
	{ "client_id", MASK_WORD },
	{ "client_secret", MASK_SECRET },
	{ "refresh_token", MASK_SECRET },
	{ "private_key", MASK_SECRET },
	{ "private_key_id", MASK_SECRET },
	{ "client_email", MASK_NAME },
	{ "account", MASK_NAME },
	{ "project_id", MASK_NAME },
	{ "quota_project_id", MASK_NAME },
	{ "universe_domain", MASK_NAME },
	{ "token_uri", MASK_URL },
	{ "auth_uri", MASK_URL },
	{ 0 },
};

static const struct mask_field pypi[] = {
	{ "*", MASK_FOLDER },
	{ "* index-servers", MASK_NAMES },
	{ "* repository", MASK_URL },
	{ "* username", MASK_NAME },
	{ "* password", MASK_SECRET },
	{ 0 },
};

/* The name is all of the line but the password. */
static const struct mask_field git[] = { { "*", MASK_SECRET }, { 0 } };

static const struct mask_field cargo[] = {
	{ "registry", MASK_FOLDER },
	{ "registry token", MASK_SECRET },
	{ "registry secret-key", MASK_SECRET },
	{ "registries", MASK_FOLDER },
	{ "registries *", MASK_FOLDER },
	{ "registries * token", MASK_SECRET },
	{ "registries * secret-key", MASK_SECRET },
	{ 0 },
};

const struct mask_file mask_files[] = {
	{ "gh", ".config/gh/hosts.yml", MASK_YAML, gh, "api.github.com:443" },
	{ "netrc", ".netrc", MASK_NETRC, netrc, "" },
	{ "npm", ".npmrc", MASK_SETTINGS, npm, "registry.npmjs.org:443" },
	{ "docker", ".docker/config.json", MASK_JSON, docker, "auth.docker.io:443" },
	{ "aws", ".aws/credentials", MASK_INI, aws, "" },
	{ "gcloud", ".config/gcloud/application_default_credentials.json", MASK_JSON, gcloud,
		"oauth2.googleapis.com:443 --in form" },
	{ "pypi", ".pypirc", MASK_INI, pypi, "upload.pypi.org:443" },
	{ "git", ".git-credentials", MASK_URLS, git, "" },
	{ "cargo", ".cargo/credentials.toml", MASK_TOML, cargo, "crates.io:443" },
};
const size_t mask_files_n = sizeof(mask_files) / sizeof(mask_files[0]);

const struct mask_file *mask_file_find(const char *name, size_t len)
{
	for (size_t i = 0; i < mask_files_n; i++)
		if (strlen(mask_files[i].name) == len &&
			strncmp(mask_files[i].name, name, len) == 0)
			return &mask_files[i];
	return NULL;
}
