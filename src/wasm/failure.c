/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/failure.h"

#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"

int failure_tell(int status, const struct error *e)
{
	auto_buffer text = { 0 };

	buffer_adds(&text, "corral: ");
	error_print(e, &text);
	buffer_addc(&text, '\n');
	(void)file_write_all(STDERR_FILENO, buffer_text(&text), text.len);
	return status;
}

/* The last cause is what happened; what stands before it is where. */
static void failure_cause(wasm_byte_vec_t *message, struct buffer *out)
{
	size_t at = 0;

	/* It may end with a NUL, and with a line's end. */
	while (message->size > 0 && (unsigned char)message->data[message->size - 1] <= ' ')
		message->size--;
	for (size_t i = 0; i + 4 < message->size; i++) {
		if (memcmp(message->data + i, "\n    ", 5) == 0)
			at = i + 5;
	}
	while (at < message->size && strchr("0123456789: ", message->data[at]))
		at++;
	buffer_add_visible(out, message->data + at, message->size - at);
	wasm_byte_vec_delete(message);
}

/* What a trap means to whoever wrote the manifest. */
static int failure_of_trap(
	const struct worker_options *o, wasmtime_trap_code_t code, struct error *e)
{
	static const struct {
		wasmtime_trap_code_t code;
		const char *text, *hint;
	} rows[] = {
		{ WASMTIME_TRAP_CODE_STACK_OVERFLOW, "its stack is full",
			"a stack has 1 MiB; endless recursion is the usual reason" },
		{ WASMTIME_TRAP_CODE_MEMORY_OUT_OF_BOUNDS, "it used memory that it does not have",
			"limits.max_memory is how much it may have" },
		{ WASMTIME_TRAP_CODE_TABLE_OUT_OF_BOUNDS, "it used a table outside of its bounds",
			"" },
		{ WASMTIME_TRAP_CODE_INDIRECT_CALL_TO_NULL,
			"it called a function that is not there", "" },
		{ WASMTIME_TRAP_CODE_BAD_SIGNATURE, "it called a function by the wrong type", "" },
		{ WASMTIME_TRAP_CODE_INTEGER_OVERFLOW, "an integer overflowed", "" },
		{ WASMTIME_TRAP_CODE_INTEGER_DIVISION_BY_ZERO, "it divided by zero", "" },
		{ WASMTIME_TRAP_CODE_INTERRUPT, "it timed out",
			"limits.max_execution_time is how long it may run" },
		{ WASMTIME_TRAP_CODE_UNREACHABLE_CODE_REACHED, "it aborted itself", "" },
	};

	if (code == WASMTIME_TRAP_CODE_OUT_OF_FUEL) {
		(void)error_set(e, 0, NULL, "the module was stopped: it used up its fuel (%llu)",
			(unsigned long long)o->fuel);
		error_hint(e, "limits.max_fuel of the manifest is how much it may use");
		return FAILURE_STOPPED;
	}
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].code != code)
			continue;
		(void)error_set(e, 0, NULL, "the module was stopped: %s", rows[i].text);
		if (rows[i].hint[0])
			error_hint(e, "%s", rows[i].hint);
		return FAILURE_STOPPED;
	}
	return -1;
}

int failure_of_call(
	const struct worker_options *o, wasmtime_error_t *error, wasm_trap_t *trap, struct error *e)
{
	wasm_byte_vec_t message = { 0 };
	wasmtime_trap_code_t code = 0;
	auto_buffer text = { 0 };
	int status = 0;

	if (error && wasmtime_error_exit_status(error, &status)) {
		wasmtime_error_delete(error);
		return status & 0xff;
	}
	if (trap && wasmtime_trap_code(trap, &code) && failure_of_trap(o, code, e) >= 0) {
		wasm_trap_delete(trap);
		return code == WASMTIME_TRAP_CODE_INTERRUPT ? FAILURE_TIME : FAILURE_STOPPED;
	}
	if (error)
		wasmtime_error_message(error, &message);
	else
		wasm_trap_message(trap, &message);
	failure_cause(&message, &text);
	if (error)
		wasmtime_error_delete(error);
	else
		wasm_trap_delete(trap);
	(void)error_set(e, 0, NULL, "the module was stopped: %s", buffer_text(&text));
	return FAILURE_STOPPED;
}

int failure_of_engine(int status, const char *what, wasmtime_error_t *error, struct error *e)
{
	wasm_byte_vec_t message = { 0 };
	auto_buffer text = { 0 };

	wasmtime_error_message(error, &message);
	wasmtime_error_delete(error);
	failure_cause(&message, &text);
	(void)error_set(e, 0, NULL, "%s: %s", what, buffer_text(&text));
	return status;
}
