/* SPDX-License-Identifier: Apache-2.0 */
#include "host/authorities.h"

#include <errno.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "host/links.h"

enum { AUTHORITIES_MAX = 4 << 20 };

const char *const authorities_variables[] = { "SSL_CERT_FILE", "CURL_CA_BUNDLE",
	"REQUESTS_CA_BUNDLE", "NODE_EXTRA_CA_CERTS", "GIT_SSL_CAINFO", "CARGO_HTTP_CAINFO",
	"AWS_CA_BUNDLE", "DENO_CERT", "PIP_CERT", "NIX_SSL_CERT_FILE",
	"GRPC_DEFAULT_SSL_ROOTS_FILE_PATH", "HTTPLIB2_CA_CERTS" };
const size_t authorities_n_variables = ROWS(authorities_variables);

const char *authorities_system(char real[PATH_BYTES])
{
	static const char *const places[] = {
		"/etc/ssl/certs/ca-certificates.crt", /* Debian, Arch, Alpine */
		"/etc/pki/tls/certs/ca-bundle.crt",   /* Fedora */
		"/etc/ssl/ca-bundle.pem",             /* SUSE */
		"/etc/ssl/cert.pem",
	};

	for (size_t i = 0; i < ROWS(places); i++)
		if (access(places[i], R_OK) == 0 && links_follow(places[i], NULL, NULL, real) == 0)
			return real;
	return places[0];
}

int authorities_read(const char *place, struct buffer *out)
{
	int r = file_read_regular(place, AUTHORITIES_MAX, out);

	if (r < 0 && r != -ENOENT)
		return r;
	buffer_addc(out, '\n');
	return out->failed ? -ENOMEM : 0;
}
