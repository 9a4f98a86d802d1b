/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the relay costs: the same client (net-client.c) runs bare and in a sandbox that was granted
 * some servers on this host, and both do the same work in turn. Beside them, where it is installed,
 * Anthropic's sandbox runtime (srt), which lets programs out by a proxy. Then ten thousand
 * connections are held open through the sandbox at once.
 *
 *     bench-net WARDEN CLIENT [ROUNDS]
 *
 * The servers listen at an address of this host that is not a loopback one, since those are the
 * sandbox's own inside.
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include <corral/sandbox.h>

#include "measure.h"
#include "net-peer.h"
#include "net-server.h"
#include "processes.h"

#define N(array) (sizeof(array) / sizeof((array)[0]))

enum {
	CONNECTS = 100, /* in a round; 20 rounds are 2,000 */
	CONNECTS_SLOW = 5,
	ECHOES = 200,
	MEGABYTES = 64,
	QUESTIONS = 100,
	OPEN = 10000,
	FILES = 65536, /* descriptors that it would like to have */
	SPARE = 100,   /* of them, for other things than connections */
	DNS = 53,
};

struct setting {
	struct net_servers servers;
	char address[INET_ADDRSTRLEN];
	const char *client;
	struct corral_sandbox *sandbox;
	struct corral_process *process;
	pid_t warden;
	struct net_peer bare, inside, srt;
	bool has_srt;
};

/* An address of this host that others could reach it by; false: there is none. */
static bool find_address(struct setting *s, struct in_addr *ret)
{
	struct ifaddrs *all = NULL;

	if (getifaddrs(&all) < 0)
		measure_die("cannot list the addresses of this host");
	for (const struct ifaddrs *i = all; i && !s->address[0]; i = i->ifa_next) {
		if (!i->ifa_addr || i->ifa_addr->sa_family != AF_INET ||
			(i->ifa_flags & (IFF_LOOPBACK | IFF_UP)) != IFF_UP)
			continue;
		*ret = ((const struct sockaddr_in *)(const void *)i->ifa_addr)->sin_addr;
		(void)inet_ntop(AF_INET, ret, s->address, sizeof(s->address));
	}
	freeifaddrs(all);
	return s->address[0] != '\0';
}

/* As many descriptors as there may be. */
static size_t raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return 0;
	/* Root may have more than it was given. */
	if (l.rlim_max >= FILES || setrlimit(RLIMIT_NOFILE, &(struct rlimit){ FILES, FILES }) < 0)
		(void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){ l.rlim_max, l.rlim_max });
	return getrlimit(RLIMIT_NOFILE, &l) < 0 ? 0 : l.rlim_cur;
}

static void grant(struct corral_builder *b, const struct setting *s)
{
	char host[INET_ADDRSTRLEN + 8];

	(void)corral_builder_work_dir(b, "/tmp");
	(void)corral_builder_allow_fs_read(b, "/usr/{,**}");
	(void)corral_builder_allow_fs_read(b, s->client);
	(void)corral_builder_allow_network(b, "bench.example.com:443"); /* to be asked for */
	for (size_t i = 0; i < NET_SERVERS; i++) {
		(void)snprintf(host, sizeof(host), "%s:%u", s->address, s->servers.ports[i]);
		(void)corral_builder_allow_network(b, host);
	}
}

static void build(struct setting *s, const char *warden)
{
	struct corral_builder *b = NULL;
	struct corral_error *error = NULL;
	struct processes p;

	if (corral_builder_new(&b) < 0)
		measure_die("out of memory");
	(void)corral_builder_warden(b, warden);
	grant(b, s);
	if (corral_builder_build(b, &s->sandbox, &error) < 0)
		measure_die(corral_error_message(error));
	corral_builder_free(b);
	/* Nothing else was started yet. */
	processes_below(getpid(), &p);
	s->warden = p.child;
}

static void start_inside(struct setting *s)
{
	const char *const argv[] = { s->client, s->address, NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_error *error = NULL;
	int stdio[3];

	net_peer_stdio(&s->inside, stdio);
	call.stdio = stdio;
	if (corral_process_start(&s->process, s->sandbox, argv, &call, &error) < 0)
		measure_die(corral_error_message(error));
	(void)close(stdio[0]);
	(void)close(stdio[1]);
}

/* False: there is no srt, or it does not work here. */
static bool start_srt(struct setting *s)
{
	static char settings[] = "/tmp/bench-net-XXXXXX";
	static const char *const version[] = { "srt", "--version", NULL };
	const char *const argv[] = { "srt", "--settings", settings, s->client, s->address, "proxy",
		NULL };
	struct net_work trial = { "trial", &s->srt, "greet", 1, s->servers.ports[NET_GREETS] };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC), fd;
	bool works;

	if (measure_command(version, (int[]){ null, null, null }) < 0) {
		(void)puts("srt (@anthropic-ai/sandbox-runtime): skipped, it is not installed");
		return false;
	}
	fd = mkostemp(settings, O_CLOEXEC);
	if (fd < 0 ||
		dprintf(fd,
			"{\"network\":{\"allowedDomains\":[\"%s\"],\"deniedDomains\":[]},"
			"\"filesystem\":{\"denyRead\":[],\"allowWrite\":[],\"denyWrite\":[]}}",
			s->address) < 0)
		measure_die("no file in /tmp");
	net_peer_start(&s->srt, argv);
	works = net_work_run(&trial) >= 0;
	(void)close(fd);
	(void)close(null);
	(void)unlink(settings);
	if (!works) {
		(void)puts("srt (@anthropic-ai/sandbox-runtime): skipped, it does not work here");
		net_peer_end(&s->srt);
	}
	return works;
}

enum kind {
	CONNECT_BARE,
	CONNECT_INSIDE,
	GREET_BARE,
	GREET_INSIDE,
	ECHO_BARE,
	ECHO_INSIDE,
	DOWN_BARE,
	DOWN_PASSED,
	DOWN_INSIDE,
	UP_BARE,
	UP_PASSED,
	UP_INSIDE,
	ASK_INSIDE,
	/* What needs srt stands last. */
	GREET_SRT,
	ECHO_SRT,
	DOWN_SRT,
	UP_SRT,
	KINDS,
};

static bool judge(const struct measure *kinds, bool has_srt)
{
	const struct measure_ratio ratios[] = {
		{ "connect : bare", &kinds[CONNECT_INSIDE], &kinds[CONNECT_BARE], 2 },
		{ "the same, until the server is heard", &kinds[GREET_INSIDE], &kinds[GREET_BARE],
			0 },
		{ "time for 64 MB from the server : bare", &kinds[DOWN_INSIDE], &kinds[DOWN_BARE],
			1.3 },
		{ "time for 64 MB to the server : bare", &kinds[UP_INSIDE], &kinds[UP_BARE], 1.3 },
		/* The floor: what a process between the two costs, and what ours costs more. */
		{ "from the server, only spliced : bare", &kinds[DOWN_PASSED], &kinds[DOWN_BARE],
			0 },
		{ "to the server, only spliced : bare", &kinds[UP_PASSED], &kinds[UP_BARE], 0 },
		{ "from the server : only spliced", &kinds[DOWN_INSIDE], &kinds[DOWN_PASSED], 0 },
		{ "to the server : only spliced", &kinds[UP_INSIDE], &kinds[UP_PASSED], 0 },
		{ "srt: connect, until the server is heard", &kinds[GREET_SRT], &kinds[GREET_BARE],
			0 },
		{ "srt: a byte there and back", &kinds[ECHO_SRT], &kinds[ECHO_BARE], 0 },
		{ "srt: time for 64 MB from the server", &kinds[DOWN_SRT], &kinds[DOWN_BARE], 0 },
		{ "srt: time for 64 MB to the server", &kinds[UP_SRT], &kinds[UP_BARE], 0 },
	};
	double more = measure_median(&kinds[ECHO_INSIDE]) - measure_median(&kinds[ECHO_BARE]);
	bool met = true;

	for (size_t i = 0; i < N(ratios) - (has_srt ? 0 : 4); i++)
		met &= measure_judge(&ratios[i]);
	met &= measure_judge_value("a byte there and back: more than bare", more * 1e6, " us", 35);
	met &= measure_judge_value(
		"a name asked for", measure_median(&kinds[ASK_INSIDE]) * 1e6, " us", 100);
	return met;
}

static bool compare(struct setting *s, size_t rounds)
{
	const uint16_t *ports = s->servers.ports;
	struct net_work works[KINDS] = {
		[CONNECT_BARE] = { "connect, bare", &s->bare, "connect", CONNECTS,
			ports[NET_GREETS] },
		[CONNECT_INSIDE] = { "connect, inside", &s->inside, "connect", CONNECTS,
			ports[NET_GREETS] },
		[GREET_BARE] = { "connect and be greeted, bare", &s->bare, "greet", CONNECTS,
			ports[NET_GREETS] },
		[GREET_INSIDE] = { "connect and be greeted, inside", &s->inside, "greet", CONNECTS,
			ports[NET_GREETS] },
		[GREET_SRT] = { "connect and be greeted, srt", &s->srt, "greet", CONNECTS_SLOW,
			ports[NET_GREETS] },
		[ECHO_BARE] = { "a byte there and back, bare", &s->bare, "echo", ECHOES,
			ports[NET_ECHOES] },
		[ECHO_INSIDE] = { "a byte there and back, inside", &s->inside, "echo", ECHOES,
			ports[NET_ECHOES] },
		[ECHO_SRT] = { "a byte there and back, srt", &s->srt, "echo", ECHOES,
			ports[NET_ECHOES] },
		[DOWN_BARE] = { "64 MB from the server, bare", &s->bare, "down", MEGABYTES,
			ports[NET_SENDS] },
		[DOWN_PASSED] = { "64 MB from the server, only spliced", &s->bare, "down",
			MEGABYTES, ports[NET_PASSES_SENT] },
		[DOWN_INSIDE] = { "64 MB from the server, inside", &s->inside, "down", MEGABYTES,
			ports[NET_SENDS] },
		[DOWN_SRT] = { "64 MB from the server, srt", &s->srt, "down", MEGABYTES,
			ports[NET_SENDS] },
		[UP_BARE] = { "64 MB to the server, bare", &s->bare, "up", MEGABYTES,
			ports[NET_TAKES] },
		[UP_PASSED] = { "64 MB to the server, only spliced", &s->bare, "up", MEGABYTES,
			ports[NET_PASSES_TAKEN] },
		[UP_INSIDE] = { "64 MB to the server, inside", &s->inside, "up", MEGABYTES,
			ports[NET_TAKES] },
		[UP_SRT] = { "64 MB to the server, srt", &s->srt, "up", MEGABYTES,
			ports[NET_TAKES] },
		[ASK_INSIDE] = { "a name asked for, inside", &s->inside, "ask", QUESTIONS, DNS },
	};
	size_t n = s->has_srt ? KINDS : GREET_SRT;
	struct measure kinds[KINDS];

	for (size_t i = 0; i < KINDS; i++)
		kinds[i] = (struct measure){
			.name = works[i].name, .run = net_work_run, .context = &works[i]
		};
	measure_all(kinds, n, rounds);
	measure_print(kinds, n);
	return judge(kinds, s->has_srt);
}

/* The relay has two descriptors for each connection. */
static bool hold_many(struct setting *s, size_t files)
{
	size_t most = files > 2 * SPARE ? files / 2 - SPARE : 1;
	unsigned n = most < OPEN ? (unsigned)most : OPEN;
	struct net_work w = { "open", &s->inside, "open", n, s->servers.ports[NET_ECHOES] };
	struct processes before, during;
	double seconds;

	processes_below(s->warden, &before);
	seconds = net_work_run(&w);
	if (seconds < 0)
		measure_die("cannot hold all connections open");
	processes_below(s->warden, &during);
	(void)printf("%u connections open at once: %.2f s to make them\n", n, seconds);
	if (n < OPEN)
		(void)printf("not %d: only %zu descriptors are to be had\n", OPEN, files);
	if (processes_private_kb(s->warden) == 0) {
		(void)puts("their memory: skipped, only root may look into a warden");
		return true;
	}
	(void)measure_judge_value("memory of what is below the warden, before",
		(double)before.private_kb / 1024, " MB", 0);
	return measure_judge_value("with all of them open, the warden's too",
		(double)(during.private_kb + processes_private_kb(s->warden)) / 1024, " MB", 64);
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 3 ? strtoul(argv[3], NULL, 10) : 20, files = raise_files();
	struct setting s = { 0 };
	struct in_addr address = { 0 };
	bool met;

	if (argc < 3 || rounds < 2 || rounds > MEASURE_ROUNDS_MAX)
		measure_die("usage: bench-net WARDEN CLIENT [ROUNDS]");
	const char *warden = measure_path(argv[1]);
	s.client = measure_path(argv[2]);
	if (!find_address(&s, &address)) {
		(void)puts("skipped: this host has no address but the loopback one");
		return 0;
	}
	(void)signal(SIGPIPE, SIG_IGN);
	net_servers_listen(&s.servers, address);
	build(&s, warden);
	net_servers_start(&s.servers);
	net_peer_start(&s.bare, (const char *const[]){ s.client, s.address, NULL });
	start_inside(&s);
	s.has_srt = start_srt(&s);
	met = compare(&s, rounds);
	met &= hold_many(&s, files);
	if (s.has_srt)
		net_peer_end(&s.srt);
	net_peer_end(&s.bare);
	corral_process_free(s.process);
	corral_sandbox_free(s.sandbox);
	net_peer_end(&s.inside);
	return met ? 0 : 1;
}
