/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The process corral-ssh-agent: between the sockets of one sandbox and the user's ssh agent. It has
 * no key. It has one connection to the agent, which its starter made, and asks there only what the
 * permit (permit.h) allows; one request at a time, as the protocol has it, so the answers need no
 * numbers.
 *
 * Descriptors: the holder's socket, a socket that listens, the agent. Only the process that the
 * holder names, which is the sandbox's relay, may connect: the socket has a name on the host.
 */
int sshagent_server_main(void);
