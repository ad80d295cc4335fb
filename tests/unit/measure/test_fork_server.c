/*
 * Fresh processes: they carry out a function on a device of their own, hand back what it wrote and
 * how it failed, and neither a crash nor a hang of one of them harms the caller, or the next.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "measure/processes/fork_server.h"

struct numbers {
	int value;
	pid_t pid;
	uint64_t bytes;
};

static enum status answer(struct device *device, const void *arguments, void *result,
			  struct error *err)
{
	struct numbers *out = result;
	void *memory = NULL;

	out->value = 2 * *(const int *)arguments;
	out->pid = getpid();
	if (backend_memory_alloc(device, ALLOCATOR_DEVICE, 4096, NULL, &memory, err) != STATUS_OK)
		return err->status;
	out->bytes = device->info.memory_bytes;
	return backend_memory_free(device, ALLOCATOR_DEVICE, memory, 4096, NULL, err);
}

static enum status refuse(struct device *device, const void *arguments, void *result,
			  struct error *err)
{
	(void)device;
	(void)arguments;
	((struct numbers *)result)->value = 7;
	return error_set(err, STATUS_NO_MEMORY, "no room for it");
}

static enum status crash(struct device *device, const void *arguments, void *result,
			 struct error *err)
{
	(void)device;
	(void)arguments;
	(void)result;
	(void)err;
	abort();
}

static enum status hang(struct device *device, const void *arguments, void *result,
			struct error *err)
{
	(void)device;
	(void)arguments;
	(void)result;
	(void)err;
	pause();
	return STATUS_OK;
}

static struct device_info host = { .backend = "host",
				   .module = "built-in",
				   .capabilities = DEVICE_IS_HOST };

static enum status ask(struct fork_server *n, fork_server_fn *fn, double seconds,
		       struct numbers *out, struct error *err)
{
	int argument = 21;
	struct fork_server_task task = { .device = &host,
					 .run = fn,
					 .arguments = &argument,
					 .arguments_size = sizeof(argument),
					 .result_size = sizeof(*out),
					 .seconds = seconds };

	*err = (struct error)ERROR_NONE;
	memset(out, 0, sizeof(*out));
	return fork_server_run(n, &task, out, err);
}

static struct fork_server *open_fork_server(void)
{
	struct backend_options options = { .host_devices = 1 };
	struct error err = ERROR_NONE;
	struct fork_server *n = fork_server_open("host", &options, &err);

	assert_non_null(n);
	return n;
}

static void a_fresh_process_works_on_its_device(void **state)
{
	struct fork_server *n = open_fork_server();
	struct numbers first, second;
	struct error err;

	(void)state;
	assert_int_equal(ask(n, answer, 60, &first, &err), STATUS_OK);
	assert_int_equal(ask(n, answer, 60, &second, &err), STATUS_OK);
	assert_int_equal(first.value, 42);
	assert_true(first.bytes > 0);
	assert_int_not_equal(first.pid, getpid());
	assert_int_not_equal(first.pid, second.pid);
	fork_server_close(n);
}

static void failures_come_back_with_what_was_found(void **state)
{
	struct fork_server *n = open_fork_server();
	struct numbers out;
	struct error err;

	(void)state;
	assert_int_equal(ask(n, refuse, 60, &out, &err), STATUS_NO_MEMORY);
	assert_string_equal(err.message, "no room for it");
	assert_int_equal(out.value, 7);
	assert_int_equal(ask(n, crash, 60, &out, &err), STATUS_DEVICE);
	assert_non_null(strstr(err.message, "signal 6"));
	assert_int_equal(ask(n, hang, 0.05, &out, &err), STATUS_TIMEOUT);
	assert_int_equal(ask(n, answer, 60, &out, &err), STATUS_OK);
	assert_int_equal(out.value, 42);
	fork_server_close(n);
}

static void a_device_that_is_not_there_is_named(void **state)
{
	struct fork_server *n = open_fork_server();
	struct numbers out;
	struct error err;

	(void)state;
	strcpy(host.backend, "cuda");
	assert_int_equal(ask(n, answer, 60, &out, &err), STATUS_DEVICE);
	strcpy(host.backend, "host");
	assert_non_null(strstr(err.message, "backend cuda"));
	assert_int_equal(ask(NULL, answer, 60, &out, &err), STATUS_UNSUPPORTED);
	fork_server_close(n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_fresh_process_works_on_its_device),
		cmocka_unit_test(failures_come_back_with_what_was_found),
		cmocka_unit_test(a_device_that_is_not_there_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
