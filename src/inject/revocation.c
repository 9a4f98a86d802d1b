/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/revocation.h"

#include <errno.h>
#include <openssl/err.h>
#include <openssl/ocsp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>

enum { REVOCATION_SKEW_S = 5 * 60, REVOCATION_FEATURE = 5 /* status_request */ };

int revocation_ask(SSL *s)
{
	return SSL_set_tlsext_status_type(s, TLSEXT_STATUSTYPE_ocsp) == 1 ? 0 : -ENOMEM;
}

static bool revocation_is_demanded(const X509 *certificate)
{
	TLS_FEATURE *features = X509_get_ext_d2i(certificate, NID_tlsfeature, NULL, NULL);
	bool found = false;

	for (int i = 0; i < sk_ASN1_INTEGER_num(features); i++)
		found = found ||
			ASN1_INTEGER_get(sk_ASN1_INTEGER_value(features, i)) == REVOCATION_FEATURE;
	TLS_FEATURE_free(features);
	return found;
}

static OCSP_BASICRESP *revocation_read(SSL *s)
{
	const unsigned char *at = NULL;
	const long len = SSL_get_tlsext_status_ocsp_resp(s, &at);
	OCSP_RESPONSE *response = at && len > 0 ? d2i_OCSP_RESPONSE(NULL, &at, len) : NULL;
	OCSP_BASICRESP *answer =
		response && OCSP_response_status(response) == OCSP_RESPONSE_STATUS_SUCCESSFUL
			? OCSP_response_get1_basic(response)
			: NULL;

	OCSP_RESPONSE_free(response);
	return answer;
}

/* V_OCSP_CERTSTATUS_…; UNKNOWN where the answer is not the authority's, not recent, or about
 * another certificate. */
static int revocation_status(SSL *s, OCSP_BASICRESP *answer)
{
	STACK_OF(X509) *chain = SSL_get0_verified_chain(s);
	X509_STORE *store = SSL_CTX_get_cert_store(SSL_get_SSL_CTX(s));
	ASN1_GENERALIZEDTIME *from = NULL, *to = NULL;
	int status = V_OCSP_CERTSTATUS_UNKNOWN, reason;
	OCSP_CERTID *id;

	if (sk_X509_num(chain) < 2 || OCSP_basic_verify(answer, chain, store, 0) != 1)
		return V_OCSP_CERTSTATUS_UNKNOWN;
	id = OCSP_cert_to_id(NULL, sk_X509_value(chain, 0), sk_X509_value(chain, 1));
	if (!id || OCSP_resp_find_status(answer, id, &status, &reason, NULL, &from, &to) != 1 ||
		!to || OCSP_check_validity(from, to, REVOCATION_SKEW_S, -1) != 1)
		status = V_OCSP_CERTSTATUS_UNKNOWN;
	OCSP_CERTID_free(id);
	return status;
}

long revocation_look(SSL *s)
{
	const X509 *certificate = SSL_get0_peer_certificate(s);
	OCSP_BASICRESP *answer = revocation_read(s);
	const int status = answer ? revocation_status(s, answer) : V_OCSP_CERTSTATUS_UNKNOWN;

	OCSP_BASICRESP_free(answer);
	ERR_clear_error();
	if (status == V_OCSP_CERTSTATUS_REVOKED)
		return X509_V_ERR_CERT_REVOKED;
	if (status != V_OCSP_CERTSTATUS_GOOD &&
		(!certificate || revocation_is_demanded(certificate)))
		return X509_V_ERR_OCSP_VERIFY_FAILED;
	return X509_V_OK;
}
