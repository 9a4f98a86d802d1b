/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-secret-service: one item of the user's Secret Service (GNOME Keyring, KWallet, KeePassXC),
 * for the vault. The starter of corral-vault runs it: it connects to the session bus, confines
 * itself, and then asks.
 *
 *     corral-secret-service get NAME=VALUE,...           prints the secret of the only item with
 * these attributes corral-secret-service set LABEL NAME=VALUE,...     keeps standard input as such
 * an item
 *
 * The secret goes over the bus as it is (algorithm "plain"): both ends and the bus are the user's
 * own.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-bus.h>
#include <unistd.h>

#include "base/file.h"
#include "process/confinement.h"

#define SERVICE_NAME "org.freedesktop.secrets"
#define SERVICE_PATH "/org/freedesktop/secrets"
#define SERVICE_FACE "org.freedesktop.Secret.Service"
#define DEFAULT_PATH "/org/freedesktop/secrets/aliases/default"
#define COLLECTION_FACE "org.freedesktop.Secret.Collection"

enum { SERVICE_MS = 30 * 1000, SERVICE_VALUE_MAX = 16 << 10, SERVICE_ADDRESS_MAX = 512 };

struct secret_service {
	sd_bus *bus;
	char *session; /* an object */
};

static int secret_service_fail(const char *what, int r, const sd_bus_error *e)
{
	(void)fprintf(stderr, "corral-secret-service: %s: %s\n", what,
		e && e->message ? e->message : strerror(-r));
	return r < 0 ? r : -EIO;
}

/* No address that runs a program, and none on another machine. */
static int secret_service_connect(struct secret_service *s)
{
	const char *address = getenv("DBUS_SESSION_BUS_ADDRESS"), *unique = NULL;
	int r = address && strncmp(address, "unix:", 5) == 0 && !strchr(address, ';') &&
				strlen(address) < SERVICE_ADDRESS_MAX
			? sd_bus_new(&s->bus)
			: -ENOENT;

	if (r >= 0)
		r = sd_bus_set_address(s->bus, address);
	if (r >= 0)
		r = sd_bus_set_bus_client(s->bus, 1);
	if (r >= 0)
		r = sd_bus_set_method_call_timeout(s->bus, SERVICE_MS * UINT64_C(1000));
	if (r >= 0)
		r = sd_bus_start(s->bus);
	/* Waits until the bus has answered. */
	if (r >= 0)
		r = sd_bus_get_unique_name(s->bus, &unique);
	if (r < 0)
		return secret_service_fail("no session bus", r, NULL);
	r = confinement_enter(PROCESS_BACKEND, NULL);
	return r < 0 ? secret_service_fail("cannot confine this process", r, NULL) : 0;
}

static int secret_service_open(struct secret_service *s)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL;
	const char *session = NULL;
	int r = sd_bus_call_method(s->bus, SERVICE_NAME, SERVICE_PATH, SERVICE_FACE, "OpenSession",
		&e, &m, "sv", "plain", "s", "");

	if (r >= 0)
		r = sd_bus_message_skip(m, "v");
	if (r >= 0)
		r = sd_bus_message_read(m, "o", &session);
	if (r >= 0)
		s->session = strdup(session);
	if (r < 0 || !s->session)
		r = secret_service_fail("no Secret Service answers", r < 0 ? r : -ENOMEM, &e);
	sd_bus_error_free(&e);
	sd_bus_message_unref(m);
	return r < 0 ? r : 0;
}

/* NAME=VALUE,NAME=VALUE as a{ss}. */
static int secret_service_put_attributes(sd_bus_message *m, const char *text)
{
	char *copy = strdup(text), *rest = NULL;
	int r = copy ? sd_bus_message_open_container(m, 'a', "{ss}") : -ENOMEM;

	for (char *word = copy ? strtok_r(copy, ",", &rest) : NULL; r >= 0 && word;
		word = strtok_r(NULL, ",", &rest)) {
		char *equals = strchr(word, '=');

		if (!equals || equals == word) {
			r = -EINVAL;
			break;
		}
		*equals = '\0';
		r = sd_bus_message_append(m, "{ss}", word, equals + 1);
	}
	free(copy);
	return r < 0 ? r : sd_bus_message_close_container(m);
}

static int secret_service_new_call(const struct secret_service *s, sd_bus_message **ret,
	const char *path, const char *face, const char *member)
{
	return sd_bus_message_new_method_call(s->bus, ret, SERVICE_NAME, path, face, member);
}

/* The only item with these attributes, unlocked. */
static int secret_service_find(const struct secret_service *s, const char *attributes, char **ret)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL, *answer = NULL;
	char **open = NULL, **locked = NULL;
	size_t n = 0, n_locked = 0;
	int r = secret_service_new_call(s, &m, SERVICE_PATH, SERVICE_FACE, "SearchItems");

	if (r >= 0)
		r = secret_service_put_attributes(m, attributes);
	if (r >= 0)
		r = sd_bus_call(s->bus, m, 0, &e, &answer);
	if (r >= 0)
		r = sd_bus_message_read_strv(answer, &open);
	if (r >= 0)
		r = sd_bus_message_read_strv(answer, &locked);
	for (char **x = open; x && *x; x++)
		n++;
	for (char **x = locked; x && *x; x++)
		n_locked++;
	if (r < 0)
		r = secret_service_fail("the search failed", r, &e);
	else if (n == 1 && n_locked == 0)
		*ret = open[0];
	else
		r = secret_service_fail(n_locked > 0 ? "the keyring is locked"
					: n > 1      ? "several items match"
						     : "no item matches",
			n_locked > 0 ? -ENOKEY
			: n > 1      ? -EEXIST
				     : -ENOENT,
			NULL);
	for (size_t i = r >= 0 ? 1 : 0; i < n; i++)
		free(open[i]);
	for (size_t i = 0; i < n_locked; i++)
		free(locked[i]);
	free(open);
	free(locked);
	sd_bus_error_free(&e);
	sd_bus_message_unref(m);
	sd_bus_message_unref(answer);
	return r < 0 ? r : 0;
}

/* Of a struct (oayays): session, parameters, value, type of its content. */
static int secret_service_print(sd_bus_message *answer)
{
	const void *parameters = NULL, *value = NULL;
	size_t parameters_len = 0, len = 0;
	const char *session = NULL;
	int r = sd_bus_message_enter_container(answer, 'r', "oayays");

	if (r >= 0)
		r = sd_bus_message_read(answer, "o", &session);
	if (r >= 0)
		r = sd_bus_message_read_array(answer, 'y', &parameters, &parameters_len);
	if (r >= 0)
		r = sd_bus_message_read_array(answer, 'y', &value, &len);
	if (r >= 0 && (len == 0 || len > SERVICE_VALUE_MAX))
		r = -EFBIG;
	return r < 0 ? r : file_write_all(STDOUT_FILENO, value, len);
}

static int secret_service_get(const struct secret_service *s, const char *attributes)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	sd_bus_message *answer = NULL;
	char *item = NULL;
	int r = secret_service_find(s, attributes, &item);

	if (r < 0)
		return r;
	r = sd_bus_call_method(s->bus, SERVICE_NAME, item, "org.freedesktop.Secret.Item",
		"GetSecret", &e, &answer, "o", s->session);
	if (r >= 0)
		r = secret_service_print(answer);
	if (r < 0)
		r = secret_service_fail("the item cannot be read", r, &e);
	free(item);
	sd_bus_error_free(&e);
	sd_bus_message_unref(answer);
	return r;
}

static int secret_service_put_properties(
	sd_bus_message *m, const char *label, const char *attributes)
{
	int r = sd_bus_message_open_container(m, 'a', "{sv}");

	if (r >= 0)
		r = sd_bus_message_append(
			m, "{sv}", "org.freedesktop.Secret.Item.Label", "s", label);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'e', "sv");
	if (r >= 0)
		r = sd_bus_message_append(m, "s", "org.freedesktop.Secret.Item.Attributes");
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'v', "a{ss}");
	if (r >= 0)
		r = secret_service_put_attributes(m, attributes);
	for (int i = 0; r >= 0 && i < 3; i++)
		r = sd_bus_message_close_container(m);
	return r;
}

static int secret_service_set(
	const struct secret_service *s, const char *label, const char *attributes)
{
	sd_bus_error e = SD_BUS_ERROR_NULL;
	sd_bus_message *m = NULL, *answer = NULL;
	const char *item = NULL, *prompt = NULL;
	char value[SERVICE_VALUE_MAX];
	ssize_t len = read(STDIN_FILENO, value, sizeof(value));
	int r = len <= 0 ? -EINVAL
			 : secret_service_new_call(
				   s, &m, DEFAULT_PATH, COLLECTION_FACE, "CreateItem");

	if (r >= 0)
		r = secret_service_put_properties(m, label, attributes);
	if (r >= 0)
		r = sd_bus_message_open_container(m, 'r', "oayays");
	if (r >= 0)
		r = sd_bus_message_append(m, "o", s->session);
	if (r >= 0)
		r = sd_bus_message_append_array(m, 'y', NULL, 0);
	if (r >= 0)
		r = sd_bus_message_append_array(m, 'y', value, (size_t)len);
	if (r >= 0)
		r = sd_bus_message_append(m, "s", "text/plain");
	if (r >= 0)
		r = sd_bus_message_close_container(m);
	if (r >= 0)
		r = sd_bus_message_append(m, "b", 1);
	if (r >= 0)
		r = sd_bus_call(s->bus, m, 0, &e, &answer);
	if (r >= 0)
		r = sd_bus_message_read(answer, "oo", &item, &prompt);
	/* An item of "/" waits for a person to unlock the keyring. */
	if (r >= 0 && strcmp(item, "/") == 0)
		r = -ENOKEY;
	if (r < 0)
		r = secret_service_fail("the item cannot be kept", r, &e);
	explicit_bzero(value, sizeof(value));
	sd_bus_error_free(&e);
	sd_bus_message_unref(m);
	sd_bus_message_unref(answer);
	return r < 0 ? r : 0;
}

int main(int argc, char **argv)
{
	struct secret_service s = { 0 };
	const bool gets = argc == 3 && strcmp(argv[1], "get") == 0;
	const bool sets = argc == 4 && strcmp(argv[1], "set") == 0;
	const bool probes = argc == 2 && strcmp(argv[1], "probe") == 0;
	int r;

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("corral-secret-service %s\n", CORRAL_VERSION) < 0;
	if (!gets && !sets && !probes) {
		(void)fputs("corral-secret-service: an item of the Secret Service, for the vault.\n"
			    "It is started by corral; see corral-vault(1).\n",
			argc == 2 && strcmp(argv[1], "--help") == 0 ? stdout : stderr);
		return argc == 2 && strcmp(argv[1], "--help") == 0 ? 0 : 2;
	}
	r = secret_service_connect(&s);
	if (r == 0)
		r = secret_service_open(&s);
	if (r == 0 && !probes)
		r = gets ? secret_service_get(&s, argv[2])
			 : secret_service_set(&s, argv[2], argv[3]);
	free(s.session);
	sd_bus_unref(s.bus);
	return r < 0;
}
