/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists of authorities that are no PEM: those of Java, each of which gets the certificate of the
 * injector's authority, and those of p11-kit, which GnuTLS and NSS read on some systems. Each is a
 * file of the host that is covered inside, where it exists, as the list in PEM is
 * (secrets-trust.c).
 */
#include <errno.h>
#include <glob.h>
#include <string.h>

#include "base/array.h"
#include "base/file.h"
#include "cli/run/secrets.h"
#include "codec/encoding.h"
#include "codec/keystore.h"
#include "host/links.h"

enum { STORES_MAX_BYTES = 4 << 20, STORES_PLACES_MAX = 16 };

int run_secrets_cover(struct run *r, const char *path, const char *text, bool is_base64)
{
	struct plan_text *t = &r->secrets.covers[r->secrets.n_covers];

	for (size_t i = 0; i < r->secrets.n_covers; i++)
		if (strcmp(r->secrets.covers[i].path, path) == 0)
			return 0;
	if (r->secrets.n_covers == RUN_COVERS_MAX) {
		run_secrets_note(r, path,
			"there are too many lists of authorities: programs that use this one do "
			"not trust hosts with secrets");
		return 0;
	}
	*t = (struct plan_text){ arena_strdup(r->call->arena, path),
		arena_strdup(r->call->arena, text), is_base64 };
	if (!t->path || !t->text)
		return error_no_memory(r->call->error);
	r->secrets.n_covers++;
	return 0;
}

/* Java */

/* What a JDK has in its own form, such as PKCS #12, is replaced by the system's list. */
static int stores_add_java(struct run *r, const char *path, const char *pem)
{
	auto_buffer host = { 0 }, list = { 0 }, text = { 0 };
	int ret = file_read_regular(path, STORES_MAX_BYTES, &host);

	if (ret == -ENOENT || ret == -EACCES)
		return 0;
	if (ret == 0)
		ret = keystore_print(r->secrets.certificate, host.data, host.len, &list);
	if (ret == -EINVAL)
		ret = keystore_print(pem, NULL, 0, &list);
	if (ret < 0) {
		run_secrets_note(
			r, path, "cannot be read, so Java does not trust hosts with secrets there");
		return 0;
	}
	encoding_print(ENCODING_BASE64, list.data, list.len, &text);
	return text.failed ? error_no_memory(r->call->error)
			   : run_secrets_cover(r, path, buffer_text(&text), true);
}

/* Java comes in many folders; most lead to one list of the system's. */
static int stores_find_java(struct run *r, const char *pattern, const char *pem)
{
	glob_t found = { 0 };
	int ret = 0;

	if (glob(pattern, GLOB_NOSORT, NULL, &found) != 0)
		found.gl_pathc = 0;
	for (size_t i = 0; ret == 0 && i < found.gl_pathc && i < STORES_PLACES_MAX; i++) {
		char real[PATH_BYTES];

		if (links_follow(found.gl_pathv[i], NULL, NULL, real) == 0)
			ret = stores_add_java(r, real, pem);
	}
	globfree(&found);
	return ret;
}

static int stores_java(struct run *r, const char *pem)
{
	static const char *const patterns[] = {
		"/etc/ssl/certs/java/cacerts",              /* Debian, Arch, Alpine */
		"/etc/pki/ca-trust/extracted/java/cacerts", /* Fedora */
		"/var/lib/ca-certificates/java-cacerts",    /* SUSE */
		"/usr/lib/jvm/*/lib/security/cacerts",      /* packages with a list of their own */
		"/usr/lib/jvm/*/jre/lib/security/cacerts",  /* Java 8 */
		"/opt/java/*/lib/security/cacerts",         /* images of containers */
	};
	static const char *const below[] = { "lib/security/cacerts", "jre/lib/security/cacerts" };
	const char *home = getenv("JAVA_HOME");
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ROWS(patterns); i++)
		ret = stores_find_java(r, patterns[i], pem);
	for (size_t i = 0; ret == 0 && home && home[0] == '/' && i < ROWS(below); i++) {
		const char *path = arena_printf(r->call->arena, "%s/%s", home, below[i]);
		char real[PATH_BYTES];

		if (!path)
			return error_no_memory(r->call->error);
		if (links_follow(path, NULL, NULL, real) == 0)
			ret = stores_add_java(r, real, pem);
	}
	return ret;
}

/* p11-kit */

/* One object behind those of the host. */
static int stores_add_p11(struct run *r, const char *path)
{
	auto_buffer text = { 0 };

	if (file_read_regular(path, STORES_MAX_BYTES, &text) < 0)
		return 0;
	buffer_printf(&text,
		"\n[p11-kit-object-v1]\n"
		"label: \"Corral: hosts with secrets\"\n"
		"trusted: true\n"
		"nss-mozilla-ca-policy: true\n"
		"modifiable: false\n"
		"%s\n",
		r->secrets.certificate);
	return text.failed ? error_no_memory(r->call->error)
			   : run_secrets_cover(r, path, buffer_text(&text), false);
}

static int stores_p11(struct run *r)
{
	/* Where p11-kit reads the list in PEM (Debian, Alpine, SUSE), that is covered already. */
	static const char *const places[] = {
		"/usr/share/pki/ca-trust-source/ca-bundle.trust.p11-kit",        /* Fedora */
		"/usr/share/ca-certificates/trust-source/mozilla.trust.p11-kit", /* Arch */
	};
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < ROWS(places); i++)
		ret = stores_add_p11(r, places[i]);
	return ret;
}

int run_secrets_stores(struct run *r, const char *pem)
{
	int ret = stores_java(r, pem);

	return ret == 0 ? stores_p11(r) : ret;
}
