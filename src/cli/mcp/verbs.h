/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
struct buffer;
struct call;

/* verb-wrap.c: a server in a sandbox, behind a filter (mcp/filter.h). */
int mcp_wrap_main(struct call *c);
/* verb-remote.c: a server over HTTP, by a program in a sandbox (mcp/remote/remote.h). */
int mcp_remote_main(struct call *c);
/* verb-serve.c: tools of ours (mcp/server.h). */
int mcp_serve_main(struct call *c);
/* verb-install.c: servers in the files of clients (mcp/client/client.h). */
int mcp_install_main(struct call *c);
int mcp_uninstall_main(struct call *c);
void mcp_offer_clients(struct call *c, struct buffer *out);
/* verb-gateway.c, verb-tools.c, verb-approve.c: many servers as one (mcp/gateway/gateway.h). */
int mcp_gateway_main(struct call *c);
int mcp_tools_main(struct call *c);
int mcp_approve_main(struct call *c);
