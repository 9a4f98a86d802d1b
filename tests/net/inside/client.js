// SPDX-License-Identifier: Apache-2.0
// client.js KIND HOST PORT: what Node programs do to reach a server.
const net = require("net");
const tls = require("tls");

const [kind, host, port] = process.argv.slice(2);

function fail(error) {
	console.error(String(error.cause || error));
	process.exit(1);
}

function talk(socket, text) {
	let answer = "";

	socket.setTimeout(60000, () => fail("nothing was heard"));
	socket.on("error", fail);
	socket.on("data", (data) => { answer += data; if (answer.endsWith("\n")) socket.end(); });
	socket.on("close", () => {
		process.stdout.write(answer.split("\r\n\r\n").pop());
		process.exit(answer ? 0 : 1);
	});
	socket.write(text);
}

const kinds = {
	fetch: () => fetch(`https://${host}:${port}/`, { signal: AbortSignal.timeout(60000) })
		.then((reply) => reply.text()).then((text) => process.stdout.write(text)).catch(fail),
	net: () => talk(net.connect({ host, port }), "node net\n"),
	tls: () => talk(tls.connect({ host, port, servername: net.isIP(host) ? "" : host }),
		`GET / HTTP/1.0\r\nHost: ${host}\r\n\r\n`),
};

kinds[kind]();
