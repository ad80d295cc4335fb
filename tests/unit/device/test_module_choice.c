/* Which code of a module serves a device, and which of several modules drives it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/memory.h"
#include "device/architecture.h"
#include "device/backend.h"
#include "device/images.h"

/* Architectures in module cuda11. */
#define CUDA11 \
	"35-real 52-real 60-real 61-real 70-real 75-real 80-real 90-real 35-virtual 90-virtual"

static void each_device_gets_the_nearest_code(void **state)
{
	static const struct {
		const char *images;
		int capability;
		bool compiles;
		const char *expected; /* NULL: none */
	} table[] = {
		{ CUDA11, 35, false, "machine code for 3.5" },
		{ CUDA11, 37, false, "machine code for 3.5" },
		{ CUDA11, 52, false, "machine code for 5.2" },
		{ CUDA11, 53, false, "machine code for 5.2" },
		{ CUDA11, 62, false, "machine code for 6.1" },
		{ CUDA11, 72, false, "machine code for 7.0" },
		{ CUDA11, 86, false, "machine code for 8.0" },
		{ CUDA11, 89, false, "machine code for 8.0" },
		/* Only as intermediate code, for which the driver must be as new as the toolkit. */
		{ CUDA11, 50, true, "compiled by the driver from PTX code for 3.5" },
		{ CUDA11, 50, false, NULL },
		{ CUDA11, 120, true, "compiled by the driver from PTX code for 9.0" },
		{ CUDA11, 30, true, NULL },
		/* CMake's short form is both kinds. */
		{ "75 80-real 90-real", 75, false, "machine code for 7.5" },
		{ "75 80-real 90-real", 70, true, NULL },
		{ "75 80-real 90-real", 100, true, "compiled by the driver from PTX code for 7.5" },
		/* Code for one architecture alone does not count. */
		{ "90a-real 75", 90, true, "compiled by the driver from PTX code for 7.5" },
		{ "", 90, true, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(table); i++) {
		struct error err = ERROR_NONE;
		char how[96] = "";
		enum status status = device_images_for(table[i].images, table[i].capability,
						       table[i].compiles, how, sizeof(how), &err);

		assert_int_equal(status, table[i].expected ? STATUS_OK : STATUS_UNSUPPORTED);
		assert_string_equal(how, table[i].expected ? table[i].expected : "");
		assert_int_equal(device_images_compiled(how),
				 table[i].expected &&
					 strstr(table[i].expected, "compiled") != NULL);
	}
}

static void what_is_missing_is_told(void **state)
{
	struct error none = ERROR_NONE, old = ERROR_NONE;
	char how[96];

	(void)state;
	device_images_for("75 80-real", 37, true, how, sizeof(how), &none);
	assert_string_equal(none.message, "no code for compute capability 3.7, only for 7.5, 8.0");
	device_images_for(CUDA11, 50, false, how, sizeof(how), &old);
	assert_string_equal(old.message, "no machine code for compute capability 5.0; the driver "
					 "is older than the CUDA toolkit of this module, so it "
					 "cannot compile the PTX code for 3.5");
}

static void open_modules(struct backend_list *list, const char *only)
{
	struct backend_options options = { 0 };

	setenv("GPUPROOF_BACKENDS", BUILD_DIR "/tests/choice", 1);
	backends_open(list, only, &options);
	unsetenv("GPUPROOF_BACKENDS");
}

static void each_device_gets_the_newest_module_that_has_code_for_it(void **state)
{
	static const struct {
		const char *module, *why;
		enum severity severity;
	} expected[] = {
		{ "choice13", "choice13: machine code for 9.0; choice11: machine code for 9.0",
		  SEVERITY_OK },
		{ "choice11",
		  "not choice13: no code for compute capability 3.7, only for 7.5, "
		  "8.0, 9.0; choice11: machine code for 3.7",
		  SEVERITY_OK },
		{ "choice13",
		  "not choice13: no code for compute capability 2.0, only for 7.5, "
		  "8.0, 9.0; not choice11: no code for compute capability 2.0, only "
		  "for 3.5, 3.7, 9.0",
		  SEVERITY_WARNING },
	};
	struct backend_list list;

	(void)state;
	open_modules(&list, "choice");
	assert_int_equal(list.count, 2);
	assert_int_equal(list.choice_count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(list.choices[i].index, i);
		assert_string_equal(list.choices[i].backend->module, expected[i].module);
		assert_string_equal(list.choices[i].why, expected[i].why);
		assert_int_equal(list.choices[i].severity, expected[i].severity);
		for (size_t k = 0; k < list.count; k++)
			assert_int_equal(backends_chose(&list, list.backends[k], (int)i),
					 list.backends[k] == list.choices[i].backend);
	}
	backends_close(&list);
}

static void a_module_by_its_name_gets_all(void **state)
{
	struct backend_list list;

	(void)state;
	open_modules(&list, "choice11");
	assert_int_equal(list.count, 1);
	assert_string_equal(list.backends[0]->module, "choice11");
	for (int i = 0; i < 3; i++)
		assert_true(backends_chose(&list, list.backends[0], i));
	backends_close(&list);
}

/* The library's calls by architecture: what CI can say without the card. */
static void products_take_the_call_of_the_architecture(void **state)
{
	(void)state;
	assert_string_equal(architecture_gemm_path(37, PRECISION_FP16),
			    "cublasSgemmEx: FP16 storage, FP32 arithmetic");
	assert_string_equal(architecture_gemm_path(61, PRECISION_FP16),
			    "cublasGemmEx: FP16 storage, FP32 arithmetic");
	assert_string_equal(architecture_gemm_path(70, PRECISION_FP16),
			    "cublasGemmEx, with tensor cores");
	assert_string_equal(architecture_gemm_path(37, PRECISION_FP32), "cublasGemmEx");
	assert_string_equal(architecture_gemm_path(70, PRECISION_INT8), "cublasGemmEx");
	assert_string_equal(architecture_gemm_path(75, PRECISION_INT8),
			    "cublasGemmEx, with tensor cores");
	assert_true(architecture_stores_half_only(37, PRECISION_FP16));
	assert_false(architecture_stores_half_only(50, PRECISION_FP16));
	assert_false(architecture_stores_half_only(37, PRECISION_FP32));
	assert_int_equal(architecture_capabilities(37),
			 DEVICE_HAS_FP64 | DEVICE_HAS_FP32 | DEVICE_HAS_FP16);
	assert_int_equal(architecture_capabilities(60),
			 architecture_capabilities(37) | DEVICE_HAS_FP16_ACC16);
	assert_int_equal(architecture_capabilities(61),
			 architecture_capabilities(60) | DEVICE_HAS_INT8);
	assert_int_equal(architecture_capabilities(70), architecture_capabilities(61));
	assert_int_equal(architecture_capabilities(90), architecture_capabilities(61) |
								DEVICE_HAS_TF32 | DEVICE_HAS_BF16 |
								DEVICE_HAS_FP8);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_device_gets_the_nearest_code),
		cmocka_unit_test(what_is_missing_is_told),
		cmocka_unit_test(each_device_gets_the_newest_module_that_has_code_for_it),
		cmocka_unit_test(a_module_by_its_name_gets_all),
		cmocka_unit_test(products_take_the_call_of_the_architecture),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
