/* SPDX-License-Identifier: Apache-2.0 */
#include "advice/scan/sources.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/words.h"

enum source_language { SOURCE_PYTHON = 1, SOURCE_NODE = 2, SOURCE_BOTH = 3 };

/*
 * A word with a dot at its start is a method of anything; one without a dot is a function; others
 * must fit whole, or at their end behind a dot ("self.session.post" ends with ".post").
 */
static const struct {
	char word[32];
	unsigned languages, marks, acts;
} calls[] = {
	/* Python: network */
	{ "requests.post", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "requests.put", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "requests.get", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "requests.patch", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "requests.request", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "httpx.post", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "httpx.get", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "httpx.put", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ ".post", SOURCE_BOTH, 0, SOURCE_SENDS },
	{ ".urlopen", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "urlopen", SOURCE_PYTHON, MARK_FETCHED, SOURCE_SENDS },
	{ "urllib.request.Request", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ ".Request", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ ".urlretrieve", SOURCE_PYTHON, MARK_FETCHED, SOURCE_WRITES },
	{ "urlretrieve", SOURCE_PYTHON, MARK_FETCHED, SOURCE_WRITES },
	{ ".sendall", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ ".sendto", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ ".send", SOURCE_BOTH, 0, SOURCE_SENDS },
	{ ".recv", SOURCE_PYTHON, MARK_FETCHED, 0 },
	{ ".request", SOURCE_BOTH, 0, SOURCE_SENDS },
	{ "websocket.send", SOURCE_BOTH, 0, SOURCE_SENDS },
	{ ".upload_file", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ "dns.resolver.resolve", SOURCE_PYTHON, 0, SOURCE_SENDS },
	{ "socket.gethostbyname", SOURCE_PYTHON, 0, SOURCE_SENDS },
	/* Python: running */
	{ "exec", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "eval", SOURCE_BOTH, 0, SOURCE_RUNS },
	{ "compile", SOURCE_PYTHON, 0, 0 },
	{ "os.system", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ ".system", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "os.popen", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "subprocess.getoutput", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "subprocess.getstatusoutput", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ ".getoutput", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "shell=True", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "subprocess.run", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "subprocess.call", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "subprocess.Popen", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "subprocess.check_output", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "subprocess.check_call", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ ".Popen", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "Popen", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "os.execv", SOURCE_PYTHON, 0, SOURCE_STARTS },
	{ "marshal.loads", SOURCE_PYTHON, 0, SOURCE_RUNS },
	{ "pickle.loads", SOURCE_PYTHON, 0, SOURCE_RUNS },
	/* Python: files and blobs */
	{ "open", SOURCE_PYTHON, 0, SOURCE_READS },
	{ ".open", SOURCE_PYTHON, 0, SOURCE_READS },
	{ ".read_text", SOURCE_PYTHON, 0, SOURCE_READS },
	{ ".read_bytes", SOURCE_PYTHON, 0, SOURCE_READS },
	{ ".read", SOURCE_PYTHON, 0, SOURCE_READS },
	{ "shutil.copy", SOURCE_PYTHON, 0, SOURCE_READS },
	{ "shutil.copyfile", SOURCE_PYTHON, 0, SOURCE_READS },
	{ "shutil.make_archive", SOURCE_PYTHON, 0, SOURCE_READS },
	{ "sqlite3.connect", SOURCE_PYTHON, 0, SOURCE_READS },
	{ "glob.glob", SOURCE_PYTHON, 0, 0 },
	{ ".write", SOURCE_PYTHON, 0, SOURCE_WRITES },
	{ ".write_bytes", SOURCE_PYTHON, 0, SOURCE_WRITES },
	{ ".write_text", SOURCE_PYTHON, 0, SOURCE_WRITES },
	{ "base64.b64decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".b64decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ "b64decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".a85decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".b85decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".b32decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".fromhex", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".unhexlify", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ "codecs.decode", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ "zlib.decompress", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ ".decompress", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ "chr", SOURCE_PYTHON, MARK_DECODED, 0 },
	{ "reversed", SOURCE_PYTHON, MARK_DECODED, 0 },
	/* Python: what people do */
	{ "pyperclip.paste", SOURCE_PYTHON, MARK_WATCHED, 0 },
	{ "ImageGrab.grab", SOURCE_PYTHON, MARK_WATCHED, 0 },
	{ "pyautogui.screenshot", SOURCE_PYTHON, MARK_WATCHED, 0 },
	{ "sd.rec", SOURCE_PYTHON, MARK_WATCHED, 0 },
	{ "sounddevice.rec", SOURCE_PYTHON, MARK_WATCHED, 0 },
	{ "browser_cookie3.load", SOURCE_PYTHON, MARK_SECRET, 0 },
	{ "browser_cookie3.chrome", SOURCE_PYTHON, MARK_SECRET, 0 },
	{ "keyring.get_password", SOURCE_PYTHON, MARK_SECRET, 0 },
	/* JavaScript: network */
	{ "fetch", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "axios", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "axios.get", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "axios.post", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "got", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "got.post", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "https.get", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "http.get", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "https.request", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "http.request", SOURCE_NODE, MARK_FETCHED, SOURCE_SENDS },
	{ "req.write", SOURCE_NODE, 0, SOURCE_SENDS },
	{ "req.end", SOURCE_NODE, 0, SOURCE_SENDS },
	{ "request.write", SOURCE_NODE, 0, SOURCE_SENDS },
	{ "request.end", SOURCE_NODE, 0, SOURCE_SENDS },
	{ "navigator.sendBeacon", SOURCE_NODE, 0, SOURCE_SENDS },
	{ ".src", SOURCE_NODE, 0, SOURCE_SENDS },
	{ "WebSocket", SOURCE_NODE, MARK_FETCHED, 0 },
	{ ".data", SOURCE_NODE, 0, 0 },
	/* JavaScript: running */
	{ "Function", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "exec", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "execSync", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "child_process.exec", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "child_process.execSync", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "cp.exec", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "cp.execSync", SOURCE_NODE, 0, SOURCE_RUNS },
	{ ".execSync", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "vm.runInNewContext", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "vm.runInThisContext", SOURCE_NODE, 0, SOURCE_RUNS },
	{ "spawn", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "spawnSync", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "execFile", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "execFileSync", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "cp.spawn", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "cp.execFile", SOURCE_NODE, 0, SOURCE_STARTS },
	{ "child_process.spawn", SOURCE_NODE, 0, SOURCE_STARTS },
	/* JavaScript: files and blobs */
	{ "fs.readFileSync", SOURCE_NODE, 0, SOURCE_READS },
	{ ".readFileSync", SOURCE_NODE, 0, SOURCE_READS },
	{ "readFileSync", SOURCE_NODE, 0, SOURCE_READS },
	{ "readFile", SOURCE_NODE, 0, SOURCE_READS },
	{ ".readFile", SOURCE_NODE, 0, SOURCE_READS },
	{ ".writeFileSync", SOURCE_NODE, 0, SOURCE_WRITES },
	{ "writeFileSync", SOURCE_NODE, 0, SOURCE_WRITES },
	{ ".createWriteStream", SOURCE_NODE, 0, SOURCE_WRITES },
	{ "atob", SOURCE_NODE, MARK_DECODED, 0 },
	{ "unescape", SOURCE_NODE, MARK_DECODED, 0 },
	{ "Buffer.from", SOURCE_NODE, MARK_DECODED, 0 },
	{ "String.fromCharCode", SOURCE_NODE, MARK_DECODED, 0 },
	/* JavaScript: what people do */
	{ "document.cookie", SOURCE_NODE, MARK_WATCHED, 0 },
};

bool sources_of_call(bool python, const char *word, bool is_method, bool is_call, unsigned *marks,
	unsigned *acts)
{
	const unsigned language = python ? SOURCE_PYTHON : SOURCE_NODE;
	const size_t len = strlen(word);
	bool found = false;

	for (size_t i = 0; i < ROWS(calls); i++) {
		const char *w = calls[i].word;
		const size_t n = strlen(w);

		if (!(calls[i].languages & language) || n > len + (w[0] == '.'))
			continue;
		if (w[0] == '.') {
			/* Its last part: ".post" of "s.post", or "post" behind f(). */
			if (!(is_method && strcmp(word, w + 1) == 0) &&
				!(len >= n && strcmp(word + len - n, w) == 0))
				continue;
		} else if (strcmp(word, w) != 0 || is_method) {
			continue;
		}
		/* A name alone, without a call, is a value. */
		if (!is_call && strcmp(w, ".src") != 0 && strcmp(w, "document.cookie") != 0)
			continue;
		*marks |= calls[i].marks;
		*acts |= calls[i].acts;
		found = true;
	}
	return found;
}

/* Paths */

static const struct {
	char part[40];
	bool ends; /* the text ends with it */
} paths[] = {
	{ ".ssh/", false },
	{ ".ssh", true },
	{ "id_rsa", true },
	{ "id_ed25519", true },
	{ "id_ecdsa", true },
	{ ".aws/credentials", false },
	{ ".aws", true },
	{ ".kube/config", false },
	{ ".gnupg", false },
	{ ".netrc", true },
	{ ".npmrc", true },
	{ ".pypirc", true },
	{ ".git-credentials", true },
	{ ".docker/config.json", true },
	{ "application_default_credentials", false },
	{ ".config/gcloud", false },
	{ "gh/hosts.yml", false },
	{ "Login Data", false },
	{ "/Cookies", true },
	{ "Cookies", true },
	{ "cookies.sqlite", true },
	{ "logins.json", true },
	{ "key4.db", true },
	{ "wallet.dat", true },
	{ ".electrum", false },
	{ "Exodus", true },
	{ "/keystore", true },
	{ "solana/id.json", false },
	{ ".kdbx", true },
	{ "login.keychain", false },
	{ "Local Extension Settings", false },
	{ "serviceaccount/token", false },
	{ "/etc/shadow", false },
	{ ".clawdbot/", false },
	{ ".openclaw/", false },
	{ ".moltbot/", false },
	{ "/.env", true },
	{ "_history", true },
	{ ".cursor/mcp.json", false },
	{ ".pem", true },
	{ "credentials.json", true },
	{ "find-generic-password", false },
	{ "dump-keychain", false },
	{ "gh auth token", false },
	{ "_authToken", false },
	{ "seed.txt", true },
	{ ".password-store", false },
	{ "nkbihfbeogaeaoehlefnkodbefgpgknn", false },
};

/* Variables that hold keys of services that everybody knows. */
static const struct {
	const char *prefix, *service;
} services[] = {
	{ "OPENAI_", "openai" },
	{ "ANTHROPIC_", "anthropic" },
	{ "AWS_SECRET", "aws" },
	{ "AWS_ACCESS", "aws" },
	{ "AWS_SESSION", "aws" },
	{ "GITHUB_TOKEN", "github" },
	{ "GH_TOKEN", "github" },
	{ "GITLAB_TOKEN", "gitlab" },
	{ "NPM_TOKEN", "npm" },
	{ "HF_TOKEN", "huggingface" },
	{ "HUGGING", "huggingface" },
	{ "STRIPE_SECRET", "stripe" },
	{ "SLACK_", "slack" },
	{ "GEMINI_API", "google" },
	{ "GOOGLE_API", "google" },
	{ "CLOUDFLARE_", "cloudflare" },
	{ "DIGITALOCEAN_", "digitalocean" },
	{ "VERCEL_TOKEN", "vercel" },
	{ "TWILIO_AUTH", "twilio" },
	{ "SENDGRID_", "sendgrid" },
	{ "HEROKU_", "heroku" },
	{ "PYPI_TOKEN", "pypi" },
};

const char *sources_service(const char *variable)
{
	for (size_t i = 0; i < ROWS(services); i++) {
		if (strncmp(variable, services[i].prefix, strlen(services[i].prefix)) == 0 &&
			(strstr(variable, "KEY") || strstr(variable, "TOKEN") ||
				strstr(variable, "SECRET") || strstr(variable, "AUTH")))
			return services[i].service;
	}
	return NULL;
}

bool sources_is_service_host(const char *service, const char *host)
{
	static const char *const also[][2] = { { "openai", "openrouter" }, { "openai", "azure" },
		{ "aws", "amazon" }, { "npm", "yarnpkg" }, { "openai", "localhost" },
		{ "google", "goog" }, { "huggingface", "hf.co" }, { "github", "ghcr" } };

	if (strstr(host, service) || strncmp(host, "localhost", 9) == 0 ||
		strncmp(host, "127.", 4) == 0)
		return true;
	for (size_t i = 0; i < ROWS(also); i++) {
		if (strcmp(service, also[i][0]) == 0 && strstr(host, also[i][1]))
			return true;
	}
	return false;
}

unsigned sources_of_path(const char *text, size_t len)
{
	unsigned marks = 0;
	char name[64];

	for (size_t i = 0; i < ROWS(paths); i++) {
		const size_t n = strlen(paths[i].part);

		if (n > len)
			continue;
		if (paths[i].ends ? memcmp(text + len - n, paths[i].part, n) == 0
				  : memmem(text, len, paths[i].part, n) != NULL)
			marks |= MARK_PATH;
	}
	/* ".pub" and certificates are for everybody. */
	if (len > 4 &&
		(memcmp(text + len - 4, ".pub", 4) == 0 ||
			(memcmp(text + len - 4, ".pem", 4) == 0 && memmem(text, len, "cert", 4))))
		marks &= ~(unsigned)MARK_PATH;
	if (len < sizeof(name)) {
		memcpy(name, text, len);
		name[len] = '\0';
		if (sources_service(name))
			marks |= MARK_KEY_NAMES;
	}
	return marks;
}

bool sources_is_header(const char *text, size_t len)
{
	static const char *const names[] = { "authorization", "x-api-key", "bearer ", "api-key",
		"auth_key", "apikey", "private-token", "x-goog-api-key" };

	for (size_t i = 0; i < ROWS(names); i++) {
		if (len >= strlen(names[i]) && strncasecmp(text, names[i], strlen(names[i])) == 0)
			return true;
	}
	return false;
}

bool sources_is_sender(const char *text, size_t len)
{
	static const char *const programs[] = { "curl", "wget", "nc", "ncat", "netcat", "scp",
		"rsync", "sftp", "ftp", "telnet", "socat", "dig", "nslookup", "host", "http",
		"https", "xh", NULL };
	size_t n = 0;

	while (n < len && (isalnum((unsigned char)text[n]) || text[n] == '/'))
		n++;
	for (size_t i = n; i > 0; i--) {
		if (text[i - 1] == '/') {
			text += i;
			n -= i;
			break;
		}
	}
	return words_find(programs, text, n) >= 0;
}

bool sources_is_loaded_word(const char *word)
{
	static const char *const words[] = { "exec", "eval", "system", "child_process",
		"subprocess", "base64", "b64decode", "os.system", "popen", "curl", "wget", "bash",
		"/bin/sh", "/bin/bash", "powershell", "spawn", "execSync", "Function",
		"constructor", "__import__", "getattr", NULL };

	return words_has(words, word) || (strncmp(word, "curl ", 5) == 0 && strpbrk(word, "|;")) ||
	       strstr(word, "| sh") || strstr(word, "|sh");
}
