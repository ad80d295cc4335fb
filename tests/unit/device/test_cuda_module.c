/*
 * The CUDA module as far as a machine without a GPU can tell: it opens, knows every kernel, says
 * why there is no device, and says of each library whether it is there. What needs a GPU is in
 * gpu/gpu_check.c.
 */
#include <dlfcn.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/backend.h"

static const struct backend *backend;
static const char *file; /* of the module that is tried */

static int open_module(void **state)
{
	void *handle;

	(void)state;
	printf("%s\n", file);
	/* Everything resolved now: a missing symbol must not wait for a GPU to be found. */
	handle = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	if (!handle)
		fprintf(stderr, "%s\n", dlerror());
	if (!handle)
		return 1;
	backend = dlsym(handle, "gpuproof_backend");
	return backend ? 0 : 1;
}

static void the_module_is_of_this_program(void **state)
{
	(void)state;
	assert_int_equal(backend->abi, BACKEND_ABI);
	assert_string_equal(backend->name, "cuda");
	/* The file is found by its name, a result names the module: they must not differ. */
	assert_non_null(strstr(file, backend->module));
	assert_int_equal(strncmp(backend->module, "cuda", 4), 0);
}

static void every_kernel_is_there(void **state)
{
	static const char *const names[] = {
#define KERNEL_HOST(name)
#define KERNEL_CUDA(name) #name,
#define KERNEL(name) #name,
#include "kernels/kernels.def"
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(backend->kernel(names[i]));
	assert_null(backend->kernel("no such kernel"));
}

static void without_a_driver_it_says_so(void **state)
{
	struct backend_options options = { 0 };
	struct error err = ERROR_NONE;
	struct device_info info;

	(void)state;
	if (access("/dev/nvidiactl", F_OK) == 0)
		skip();
	assert_int_equal(backend->open(&options, &err), STATUS_UNSUPPORTED);
	assert_non_null(strstr(err.message, "cudaGetDeviceCount: cudaError"));
	assert_non_null(strstr(err.message, "/dev/nvidiactl"));
	assert_int_equal(backend->device_count(), 0);
	error_clear(&err);
	assert_int_equal(backend->device_info(0, &info, &err), STATUS_USAGE);
	backend->close();
}

/* Nothing launched: there is nothing to tell, and nothing is made up. */
static void no_path_is_taken_without_a_launch(void **state)
{
	struct code_path paths[8];

	(void)state;
	assert_int_equal(backend->paths(paths, ARRAY_SIZE(paths)), 0);
}

static const struct component *component(const struct component *list, size_t count,
					 const char *name)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(list[i].name, name) == 0)
			return &list[i];
	return NULL;
}

static void each_component_is_told_with_version_or_reason(void **state)
{
	struct component list[16];
	size_t count = backend->components(list, ARRAY_SIZE(list));
	static const char *const names[] = { "NVIDIA driver", "CUDA runtime", "cuBLAS",
					     "cuBLASLt",      "NCCL",         "NVML" };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		assert_non_null(component(list, count, names[i]));
	for (size_t i = 0; i < count; i++) {
		assert_true(list[i].detail[0] != '\0');
		assert_true(list[i].present || list[i].version[0] == '\0');
		if (!list[i].present)
			printf("  missing: %s: %s\n", list[i].name, list[i].detail);
	}
	assert_true(component(list, count, "CUDA runtime")->present);
}

static void a_missing_library_is_named(void **state)
{
	struct component list[16];
	size_t count = backend->components(list, ARRAY_SIZE(list));
	const struct component *nvml = component(list, count, "NVML");

	(void)state;
	if (nvml->present)
		skip();
	assert_non_null(strstr(nvml->detail, "libnvidia-ml.so.1"));
	assert_non_null(strstr(nvml->detail, "telemetry (clocks"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_module_is_of_this_program),
		cmocka_unit_test(every_kernel_is_there),
		cmocka_unit_test(without_a_driver_it_says_so),
		cmocka_unit_test(each_component_is_told_with_version_or_reason),
		cmocka_unit_test(a_missing_library_is_named),
		cmocka_unit_test(no_path_is_taken_without_a_launch),
	};
	glob_t found;
	int failures = 0;

	if (glob(BUILD_DIR "/backends/cuda*.so", 0, NULL, &found) != 0) {
		puts("no CUDA module was built: no CUDA toolkit here");
		return 77;
	}
	for (size_t i = 0; i < found.gl_pathc; i++) {
		file = found.gl_pathv[i];
		failures += cmocka_run_group_tests(tests, open_module, NULL);
	}
	globfree(&found);
	return failures;
}
