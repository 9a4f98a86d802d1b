/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Whether a host's certificate was revoked, as far as the host itself says so: it may send a recent
 * answer of its authority with its certificate (OCSP, stapled). One that says "revoked" ends it. A
 * certificate that demands such an answer (TLS feature, RFC 7633) is not taken without one that is
 * good. An authority is never asked: the injector reaches nothing but the hosts of its grants.
 */
struct ssl_st;

/* Before the handshake: asks for it. -ENOMEM. */
int revocation_ask(struct ssl_st *s);
/* After it: X509_V_OK, or why the certificate is not accepted, X509_V_ERR_…. */
long revocation_look(struct ssl_st *s);
