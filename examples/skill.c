/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill FOLDER INPUT…: loads a WASM skill once and calls it with each input, the first time with
 * all that its manifest grants, and once more without any of it. A change of the folder that was
 * approved meanwhile serves from the next input on.
 */
#include <stdio.h>
#include <string.h>

#include <corral/skill.h>

static int call(struct corral_skill *skill, const char *input,
	const struct corral_permissions *permissions, struct corral_error **e)
{
	struct corral_skill_request request = CORRAL_SKILL_REQUEST;
	struct corral_result *result = NULL;
	int r;

	request.input = input;
	request.input_len = strlen(input);
	request.timeout_ms = 10000;
	request.permissions = permissions;
	r = corral_skill_call(skill, &request, &result, e);
	if (r < 0)
		return r;
	printf("%d %s", corral_result_exit_code(result), corral_result_stdout(result, NULL));
	fputs(corral_result_stderr(result, NULL), stderr);
	corral_result_free(result);
	return 0;
}

int main(int argc, char **argv)
{
	struct corral_skill *skill = NULL;
	struct corral_permissions *nothing = NULL;
	struct corral_error *e = NULL;
	int r;

	if (argc < 2) {
		fprintf(stderr, "usage: skill FOLDER INPUT…\n");
		return 2;
	}
	r = corral_permissions_new(&nothing);
	if (r == 0)
		r = corral_skill_load(&skill, argv[1], NULL, &e);
	for (int i = 2; r >= 0 && i < argc; i++) {
		r = corral_skill_reload(skill, &e);
		if (r >= 0)
			r = call(skill, argv[i], NULL, &e);
		if (r >= 0)
			r = call(skill, argv[i], nothing, &e);
	}
	if (r < 0)
		fprintf(stderr, "skill: %s\n", e ? corral_error_message(e) : strerror(-r));
	corral_error_free(e);
	corral_skill_free(skill);
	corral_permissions_free(nothing);
	return r < 0 ? 125 : 0;
}
