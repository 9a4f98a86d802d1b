/* SPDX-License-Identifier: Apache-2.0 */
/*
 * repeating-http: stands for a corrald-http that was taken over. It makes two calls with the same
 * number, so that the log could tell of one by the answer to the other, and waits for its end.
 */
#include "base/buffer.h"
#include "daemon/route.h"
#include "process/child.h"
#include "wire/frame.h"

int main(void)
{
	static struct frame f;
	struct route_call c = { .route = &routes[ROUTE_STATUS] };
	auto_buffer body = { 0 };

	if (frame_receive(CHILD_SOCKET, &f) != 1 || route_call_encode(&c, &body) < 0)
		return 1;
	for (int i = 0; i < 2; i++)
		if (frame_send(CHILD_SOCKET, FRAME_API_CALL, 1, body.data, body.len, NULL, 0) < 0)
			return 1;
	while (frame_receive(CHILD_SOCKET, &f) == 1)
		;
	return 0;
}
