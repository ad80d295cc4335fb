/*
 * Data sheets and published figures: every file can be read, and nothing in it is beyond physics.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/memory.h"
#include "plan/limits/spec_keys.h"
#include "plan/metrics.h"
#include "plan/suite.h"
#include "reference/gpu.h"
#include "reference/spec.h"

static void every_file_is_valid(void **state)
{
	size_t files = 0, count;

	(void)state;
	for (const struct embedded_file *file = embedded_gpus; file->name; file++) {
		struct error err = ERROR_NONE;
		struct gpu gpu;

		if (gpus_is_sources(file))
			continue;
		files++;
		if (gpu_read(&gpu, file, &err) != STATUS_OK)
			fail_msg("%s", err.message);
		gpu_read_release(&gpu);
	}
	gpus_all(&count);
	assert_true(files >= 30);
	assert_int_equal(count, files);
}

/*
 * A value above the data sheet is a wrong unit or a wrong card, unless the file says why it can be.
 */
static const char *physics(const struct gpu *gpu, const struct published *p)
{
	const struct sheet_entry *entry;
	double peak = gpu_peak(gpu, p->quantity, &entry);
	double most = isfinite(p->high) ? p->high : p->value;
	size_t count, at = 0;
	const struct gpu_source *sources = gpus_sources(&count);

	while (at < count && strcmp(sources[at].id, p->source) != 0)
		at++;
	if (at == count)
		return "source is not in sources.ini";
	if (!(p->value > 0) || (isfinite(p->low) && !(p->low < p->high)))
		return "value is not positive, or its range is none";
	if (isfinite(peak) && most > peak && !*p->above_peak)
		return "value is above the peak";
	if (*p->above_peak && !(most > peak))
		return "above_peak without need";
	return NULL;
}

static void published_values_have_sources_and_obey_physics(void **state)
{
	size_t count, values = 0, bounded = 0, exceptions = 0;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < gpus[i].published_count; j++, values++) {
			const struct published *p = &gpus[i].published[j];
			const char *wrong = physics(&gpus[i], p);
			const struct sheet_entry *entry;

			if (wrong)
				fail_msg("%s: [published %s]: %s", gpus[i].id, p->name, wrong);
			bounded += isfinite(gpu_peak(&gpus[i], p->quantity, &entry));
			exceptions += *p->above_peak != '\0';
		}
	}
	assert_true(values > 100);
	assert_true(bounded > 50);
	assert_int_equal(exceptions, 2);
}

static void every_source_is_complete_and_cited(void **state)
{
	size_t count, gpu_count;
	const struct gpu_source *sources = gpus_sources(&count);
	const struct gpu *gpus = gpus_all(&gpu_count);

	(void)state;
	assert_true(count > 10);
	for (size_t i = 0; i < count; i++) {
		assert_true(*sources[i].title && *sources[i].where && *sources[i].kind);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(sources[i].id, sources[j].id);
	}
	for (size_t i = 0; i < gpu_count; i++)
		assert_true(*gpus[i].source);
}

/* Derived figures follow from the read ones: a typing mistake in either shows. */
static void figures_follow_from_each_other(void **state)
{
	size_t count, checked = 0;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		const struct gpu *g = &gpus[i];
		double fp32 = gpu_figure(g, "multiprocessors") * gpu_figure(g, "fp32_cores") * 2 *
			      gpu_figure(g, "boost_clock");
		double memory = gpu_figure(g, "memory_clock") * 2 * gpu_figure(g, "memory_bus") / 8;

		if (isfinite(fp32) && fabs(fp32 / gpu_figure(g, "fp32") - 1) > 0.01)
			fail_msg("%s: fp32 is not units x clock: %g", g->id, fp32);
		if (isfinite(memory) && fabs(memory / gpu_figure(g, "memory_bandwidth") - 1) > 0.01)
			fail_msg("%s: memory_bandwidth is not clock x bus: %g", g->id, memory);
		checked += isfinite(fp32) && isfinite(memory);
	}
	assert_true(checked >= 8);
}

static void devices_are_found_by_the_drivers_names(void **state)
{
	static const struct {
		const char *device, *id;
	} rows[] = {
		{ "Tesla K80", "k80" },
		{ "GeForce GTX 1080 Ti", "gtx1080ti" },
		{ "Tesla P100-SXM2-16GB", "p100-sxm2" },
		{ "Tesla P100-PCIE-16GB", "p100-pcie" },
		{ "Tesla V100-SXM2-16GB", "v100-sxm2" },
		{ "Tesla V100-SXM2-32GB", "v100-sxm2" },
		{ "Tesla V100-PCIE-32GB", "v100-pcie" },
		{ "NVIDIA TITAN V", "titan-v" },
		{ "NVIDIA TITAN Xp", "titan-xp" },
		{ "Tesla T4", "t4" },
		{ "NVIDIA A100-SXM4-40GB", "a100-40gb" },
		{ "NVIDIA A100-SXM4-80GB", "a100-80gb" },
		{ "NVIDIA H100 80GB HBM3", "h100" },
		{ "NVIDIA H100 PCIe", "h100-pcie" },
		{ "NVIDIA H100 NVL", "h100-nvl" },
		{ "NVIDIA H200", "h200" },
		{ "NVIDIA H200 NVL", "h200-nvl" },
		{ "NVIDIA GH200 480GB", "gh200" },
		{ "NVIDIA B200", "b200" },
		{ "NVIDIA B300 SXM6 AC", "b300" },
		{ "NVIDIA GB300", "gb300" },
		{ "NVIDIA A10", "a10" },
		{ "NVIDIA RTX A6000", "rtxa6000" },
		{ "NVIDIA GeForce RTX 4090", "rtx4090" },
		{ "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", "rtxpro6000" },
		/* Another card with other figures. */
		{ "Tesla P100-PCIE-12GB", NULL },
		{ "NVIDIA GeForce RTX 4090 D", NULL },
		{ "NVIDIA RTX PRO 6000 Blackwell Server Edition", NULL },
		{ "NVIDIA A10G", NULL },
		{ "", NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct gpu *gpu = gpus_by_device(rows[i].device);

		if (!rows[i].id)
			assert_null(gpu);
		else if (!gpu || strcmp(gpu->id, rows[i].id) != 0)
			fail_msg("%s is taken for %s", rows[i].device, gpu ? gpu->id : "nothing");
	}
	assert_ptr_equal(gpus_by_id("v100-pcie"), gpus_by_device("Tesla V100-PCIE-16GB"));
	assert_null(gpus_by_id("v100"));
}

static const struct gpu *first(const struct gpu *gpus, size_t count, const char *architecture)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(gpu_words(&gpus[i], "architecture"), architecture) == 0)
			return &gpus[i];
	return NULL;
}

static void architectures_are_in_order_of_age(void **state)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	assert_string_equal(gpus[0].id, "k80");
	assert_true(first(gpus, count, "Pascal") < first(gpus, count, "Volta"));
	assert_true(first(gpus, count, "Volta") < first(gpus, count, "Turing"));
	assert_true(first(gpus, count, "Ampere") < first(gpus, count, "Ada"));
	assert_true(first(gpus, count, "Ada") < first(gpus, count, "Hopper"));
	assert_true(first(gpus, count, "Hopper") < first(gpus, count, "Blackwell"));
}

static void set_parameter(struct case_result *c, struct case_parameter *storage, char *name,
			  char *text)
{
	c->parameters = storage;
	storage[c->parameter_count++] = (struct case_parameter){ .name = name, .text = text };
}

/* The same metric is another quantity on an architecture that computes otherwise. */
static void cases_are_told_apart(void **state)
{
	static const struct {
		const char *metric, *name, *word;
		int capability;
		const char *quantity;
	} rows[] = {
		{ "matmul.throughput", "precision", "fp32", 37, "gemm_fp32" },
		{ "matmul.throughput", "precision", "fp16", 37, "gemm_fp16_storage" },
		{ "matmul.throughput", "precision", "fp16", 61, "gemm_fp16_storage" },
		{ "matmul.throughput", "precision", "fp16", 70, "gemm_fp16_tensor" },
		{ "matmul.throughput", "precision", "bf16", 90, "gemm_bf16" },
		{ "matmul.throughput", "precision", "bf16", 70, NULL },
		{ "matmul.throughput", "precision", "int8", 61, "gemm_int8" },
		{ "matmul.error", "precision", "fp32", 90, NULL },
		{ "alloc.start_memory_context", "operation", "start", 70, "context_memory" },
		{ "alloc.start_memory", "operation", "start", 70, NULL },
		{ "transfer.bandwidth", "direction", "local", 90, "device_copy" },
		/* Page-locked is not known here, so it is not said. */
		{ "transfer.bandwidth", "direction", "h2d", 90, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct device_info device = { .capability_major = rows[i].capability / 10,
					      .capability_minor = rows[i].capability % 10 };
		struct case_parameter storage[2];
		struct case_result c = { 0 };
		const struct sheet_row *row;

		set_parameter(&c, storage, (char *)rows[i].name, (char *)rows[i].word);
		row = quantity_sheet_row_of_case(schema_metric_sheet(rows[i].metric), &c,
						 rows[i].metric, &device);
		if (!rows[i].quantity)
			assert_null(row);
		else if (!row || strcmp(row->quantity, rows[i].quantity) != 0)
			fail_msg("row %zu is taken for %s", i, row ? row->quantity : "nothing");
	}
}

/* True if the suite has a parameter of that name which can have that value. */
static bool can_be(const struct suite *suite, const char *name, const char *word)
{
	for (const struct key *key = suite->keys; key->name; key++) {
		if (strcmp(key_parameter(key), name) != 0)
			continue;
		for (const char *const *choice = key->choices; choice && *choice; choice++)
			if (strcmp(*choice, word) == 0)
				return true;
	}
	return false;
}

static void check_row(const struct suite *suite, const struct sheet_row *row)
{
	const struct metric *m = suite->metrics;

	while (m->name && strcmp(m->name, row->metric) != 0)
		m++;
	if (!m->name)
		fail_msg("%s: there is no %s", suite->name, row->metric);
	if (row->quantity ? !quantity_find(row->quantity) : !row->key || !spec_key_find(row->key))
		fail_msg("%s: %s is neither a quantity nor a key", row->metric,
			 row->quantity ? row->quantity : "nothing");
	for (size_t i = 0; i + 1 < ARRAY_SIZE(row->only) && row->only[i]; i += 2)
		if (!can_be(suite, row->only[i], row->only[i + 1]))
			fail_msg("%s: %s cannot be %s", row->metric, row->only[i],
				 row->only[i + 1]);
}

/* A metric or a parameter that is renamed would silently no longer be compared. */
static void sheet_rows_are_what_suites_measure(void **state)
{
	size_t measured = 0;

	(void)state;
	for (const struct suite *const *s = suites; *s; s++)
		for (const struct sheet_row *row = (*s)->sheet; row && row->metric; row++) {
			check_row(*s, row);
			measured++;
		}
	assert_true(measured >= 15);
	for (const struct quantity *q = quantities; q->name; q++)
		assert_ptr_equal(quantity_find(q->name), q);
}

/* A suite's own row is enough: a key of the sheet, and no quantity of this folder. */
static void a_row_with_a_key_needs_no_quantity(void **state)
{
	static const struct sheet_row rows[] = {
		{ "knitting.rate",
		  { "operation", "knit" },
		  .key = "memory_bandwidth",
		  .factor = 2 },
		{ 0 },
	};
	struct device_info device = { .name = "NVIDIA H100 80GB HBM3", .capability_major = 9 };
	struct case_parameter storage[2];
	struct case_result c = { 0 };
	struct spec_peak peak;
	const char *status;
	double figure;

	(void)state;
	set_parameter(&c, storage, (char *)"operation", (char *)"knit");
	assert_true(spec_lookup(&device, "memory_bandwidth", &figure, &status));
	assert_true(spec_peak(rows, &c, "knitting.rate", &device, &peak));
	assert_string_equal(peak.key, "memory_bandwidth");
	assert_true(peak.figure == figure && peak.most == figure / 2);
	assert_false(spec_peak(rows, &c, "knitting.other", &device, &peak));
	assert_false(spec_peak(NULL, &c, "knitting.rate", &device, &peak));
}

static enum status read_text(const char *text, struct error *err)
{
	const struct embedded_file file = { "x.ini", (const unsigned char *)text, strlen(text) };
	struct gpu gpu;
	enum status status = gpu_read(&gpu, &file, err);

	if (status == STATUS_OK)
		gpu_read_release(&gpu);
	return status;
}

#define GPU "[gpu]\nname = N\nlabel = L\nmatch = M\n"

static void mistakes_name_file_and_line(void **state)
{
	static const struct {
		const char *text, *message;
	} rows[] = {
		{ GPU "[read]\nfp31 = 1 TFLOP/s\n", "x.ini:6: unknown key 'fp31'" },
		{ GPU "[read]\nfp32 = 1 GB/s\n",
		  "x.ini:6: fp32: '1 GB/s' needs the unit FLOP/s, optionally with an SI prefix" },
		{ GPU "[read]\nfp32 = 1 TFLOP/s\n[derived]\nfp32 = 1 TFLOP/s\n",
		  "x.ini:8: 'fp32' is repeated" },
		{ GPU "[reed]\n", "x.ini:5: unknown section [reed]" },
		{ GPU "size = 1\n", "x.ini:5: unknown key 'size' in [gpu]" },
		{ "[read]\nfp32 = 1 TFLOP/s\n", "x.ini:1: [gpu] needs name, label and match" },
		{ GPU "[published a]\nquantity = gemm\n", "x.ini:6: unknown quantity 'gemm'" },
		{ GPU "[published a]\nquantity = gemm_fp32\nvalue = 1 TFLOP/s\n[published b]\n",
		  "x.ini:5: [published a] has no source" },
		{ GPU "[published a]\nquantity = gemm_fp32\nsource = S\n",
		  "x.ini:5: [published a] has no value" },
		{ GPU "[published a]\nvalue = 1 TFLOP/s\n",
		  "x.ini:6: quantity must come before value in [published a]" },
		{ GPU "[published a]\nquantity = launch\nvalue = 1 us .. 2 GB/s\n",
		  "x.ini:7: value: '2 GB/s' needs the unit s, optionally with an SI prefix" },
		{ GPU "[published a]\nquantity = launch\nvalue = 1 us\nsource = S\ndevices = 0\n",
		  "x.ini:9: devices = 0 is not a number from 1 to 100000" },
		{ GPU "[published a]\nquantity = launch\nvalue = 1 us\nsource = S\n[published a]\n",
		  "x.ini:9: [published a] is repeated" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct error err = ERROR_NONE;

		assert_int_equal(read_text(rows[i].text, &err), STATUS_USAGE);
		assert_string_equal(err.message, rows[i].message);
	}
}

static void ranges_have_a_middle(void **state)
{
	static const char text[] = GPU
		"[published a]\nquantity = launch\nvalue = 2 us .. 4 us\nsource = S\ndevices = 8\n";
	const struct embedded_file file = { "x.ini", (const unsigned char *)text, strlen(text) };
	struct error err = ERROR_NONE;
	struct gpu gpu;

	(void)state;
	assert_int_equal(gpu_read(&gpu, &file, &err), STATUS_OK);
	assert_float_equal(gpu.published[0].value, 3e-6, 1e-12);
	assert_float_equal(gpu.published[0].high, 4e-6, 1e-12);
	assert_int_equal(gpu.published[0].devices, 8);
	gpu_read_release(&gpu);
}

/* The port's rate is known of the node alone; without a port nothing is a share of it. */
static void the_network_is_as_fast_as_the_port(void **state)
{
	struct device_info device = { .name = "NVIDIA H200" };
	const char *status;
	double figure;
	char *words;

	(void)state;
	assert_false(spec_lookup(&device, "nic_bandwidth", &figure, &status));
	device.nic_bandwidth = 50e9;
	assert_true(spec_lookup(&device, "nic_bandwidth", &figure, &status));
	assert_true(figure == 50e9);
	words = spec_words(&device, "nic_bandwidth");
	assert_non_null(strstr(words, "400 Gb/s"));
	free(words);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_file_is_valid),
		cmocka_unit_test(published_values_have_sources_and_obey_physics),
		cmocka_unit_test(every_source_is_complete_and_cited),
		cmocka_unit_test(figures_follow_from_each_other),
		cmocka_unit_test(devices_are_found_by_the_drivers_names),
		cmocka_unit_test(architectures_are_in_order_of_age),
		cmocka_unit_test(cases_are_told_apart),
		cmocka_unit_test(sheet_rows_are_what_suites_measure),
		cmocka_unit_test(a_row_with_a_key_needs_no_quantity),
		cmocka_unit_test(mistakes_name_file_and_line),
		cmocka_unit_test(the_network_is_as_fast_as_the_port),
		cmocka_unit_test(ranges_have_a_middle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
