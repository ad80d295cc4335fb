/*
 * The shipped limits: they judge every known GPU in what `acceptance` measures, hold for every
 * published figure, and find each figure of a good node that is a third too low, with the device
 * and the limit.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "device/architecture.h"
#include "judge_fixture.h"
#include "measure/run.h"
#include "plan/metrics.h"
#include "plan/plan.h"
#include "reference/derived.h"
#include "reference/gpu.h"
#include "reference/spec.h"
#include "run/workers/describe.h"

#define MANY 4

/* The first of "NVIDIA H200 | NVIDIA H200 SXM*" */
static void name_of(const struct gpu *gpu, char *name, size_t size)
{
	size_t length = strcspn(gpu->match, "|*");

	while (length && gpu->match[length - 1] == ' ')
		length--;
	snprintf(name, size, "%.*s", (int)length, gpu->match);
}

static double fact(const struct gpu *gpu, const char *key, double otherwise)
{
	double value = gpu_figure(gpu, key);

	return isnan(value) ? otherwise : value;
}

/*
 * The driver's answer for such a card: by its sheet, and where that is silent something of its
 * time.
 */
static void describe_device(const struct gpu *gpu, int index, struct device_info *d)
{
	memset(d, 0, sizeof(*d));
	snprintf(d->id, sizeof(d->id), "cuda:%d", index);
	snprintf(d->uuid, sizeof(d->uuid), "GPU-%d", index);
	snprintf(d->backend, sizeof(d->backend), "cuda");
	name_of(gpu, d->name, sizeof(d->name));
	d->index = index;
	sscanf(gpu_words(gpu, "capability"), "%d.%d", &d->capability_major, &d->capability_minor);
	d->capabilities = architecture_capabilities(architecture_capability_number(d)) |
			  device_implied_capabilities(d) | DEVICE_HAS_POOLS;
	d->multiprocessors = (int)fact(gpu, "multiprocessors", 30);
	d->memory_bytes = (uint64_t)fact(gpu, "memory", 12e9);
	d->l2_bytes = (uint64_t)fact(gpu, "l2", 4e6);
	d->clock_hz = fact(gpu, "boost_clock", 1.6e9);
	/* Without a data sheet, the driver still reports both. */
	d->memory_clock_hz =
		fact(gpu, "memory_clock", isnan(gpu_figure(gpu, "memory_bandwidth")) ? 900e6 : 0);
	d->memory_bus_bits = (int)fact(gpu, "memory_bus", 4096);
	d->pcie_generation_max = (int)fact(gpu, "pcie_generation", 3);
	d->pcie_width_max = (int)fact(gpu, "pcie_lanes", 16);
	d->nvlink_count = (int)fact(gpu, "nvlink_links", 0);
	d->ecc = -1;
	d->numa_node = -1;
	d->peers.words[0] = (1u << MANY) - 1;
}

/*
 * The plan of `acceptance` for `count` of them, as a result whose figures are all a quarter above
 * what is asked.
 */
static void accepted_node(const struct gpu *gpu, size_t count, struct result *r)
{
	struct device_info devices[MANY];
	struct text errors = TEXT_EMPTY;
	struct error err = ERROR_NONE;
	struct config config;
	struct plan plan;

	for (size_t i = 0; i < count; i++)
		describe_device(gpu, (int)i, &devices[i]);
	assert_int_equal(config_load(&config, "acceptance", NULL, 0, &errors), STATUS_OK);
	assert_int_equal(plan_build(&plan, &config, devices, count, &err), STATUS_OK);
	node_init(r, count, devices[0].name);
	memcpy(r->devices, devices, count * sizeof(*devices));
	for (size_t i = 0; i < plan.case_count; i++) {
		struct case_result *c = result_add_case(r);

		describe_case(&plan, &plan.cases[i], c);
		c->verification.done = true;
		if (strcmp(c->suite, "collective") == 0)
			run_add_path(c, xstrdup("transport: nccl"));
		if (plan.cases[i].skip_reason)
			describe_outcome(c, CASE_SKIPPED, CASE_END_UNSUPPORTED,
					 plan.cases[i].skip_reason);
	}
	plan_release(&plan);
	config_release(&config);
	text_release(&errors);
}

static void set_metric(struct case_result *c, const struct metric *metric, double value)
{
	c->metrics = xrealloc(c->metrics, c->metric_count + 1, sizeof(*c->metrics));
	c->metrics[c->metric_count++] = (struct metric_value){ .name = xstrdup(metric->name),
							       .unit = xstrdup(metric->unit),
							       .better = metric->better,
							       .headline = true,
							       .value = value,
							       .low = value * 0.999,
							       .high = value * 1.001,
							       .n = 30,
							       .series = xstrdup("") };
}

static const struct device_info *device_of(const struct result *r, const struct case_result *c)
{
	for (size_t i = 0; i < r->device_count; i++)
		if (strcmp(r->devices[i].id, c->device) == 0)
			return &r->devices[i];
	return NULL;
}

static size_t selected(const struct limit *limit, const struct result *r)
{
	size_t n = 0;

	for (size_t i = 0; i < r->case_count; i++)
		n += judge_limits_selects(limit, &r->cases[i], r->devices[0].name);
	return n;
}

/* The value that a bound asks of a case. */
static double asked(const struct bound *bound, const struct result *r, const struct case_result *c,
		    const char *metric)
{
	const struct device_info *device = device_of(r, c);
	const char *status;
	struct spec_peak peak;
	double figure;

	if (bound->kind == BOUND_ABSOLUTE)
		return bound->factor;
	if (strcmp(bound->spec, "peak") == 0)
		return spec_peak(schema_metric_sheet(metric), c, metric, device, &peak)
			       ? bound->factor * peak.most
			       : NAN;
	return spec_lookup(device, bound->spec, &figure, &status) ? bound->factor * figure : NAN;
}

static void fill(const struct limits *limits, struct result *r)
{
	for (size_t l = 0; l < limits->count; l++) {
		const struct limit *limit = &limits->items[l];

		for (size_t i = 0; i < r->case_count; i++) {
			struct case_result *c = &r->cases[i];

			if (c->status != CASE_OK ||
			    !judge_limits_selects(limit, c, r->devices[0].name) ||
			    case_metric(c, limit->metric->name))
				continue;
			if (limit->min.kind)
				set_metric(c, limit->metric,
					   1.25 * asked(&limit->min, r, c, limit->metric->name));
			else if (limit->max.kind)
				set_metric(c, limit->metric, 0.75 * limit->max.factor);
		}
	}
}

static size_t passes(const struct verdicts *v, const char *device, const char *metric)
{
	size_t n = 0;

	for (size_t i = 0; i < v->count; i++)
		n += v->checks[i].verdict == VERDICT_PASS &&
		     strcmp(v->checks[i].devices, device) == 0 &&
		     strcmp(v->checks[i].metric, metric) == 0;
	return n;
}

static void judge_with_population(const struct limits *limits, const struct result *r,
				  const struct population *population, struct verdicts *v)
{
	const struct judge_input input = {
		.results = r, .count = 1, .limits = limits, .population = population
	};

	memset(v, 0, sizeof(*v));
	judge_machine_results(&input, v);
	verdicts_finish(v);
}

/* With the shipped population. */
static void judge_all(const struct limits *limits, const struct result *r, struct verdicts *v)
{
	judge_with_population(limits, r, NULL, v);
}

/*
 * By the bounds alone: a made value, or one published under other conditions, is not like those of
 * good cards here.
 */
static void judge_alone(const struct limits *limits, const struct result *r, struct verdicts *v)
{
	static const struct population empty;

	judge_with_population(limits, r, &empty, v);
}

/* One device has no peer, so nothing of an acceptance meets these limits. */
static bool needs_a_peer(const char *limit)
{
	return strcmp(limit, "peer") == 0 || strcmp(limit, "all-reduce") == 0 ||
	       strcmp(limit, "all-gather") == 0;
}

static void judge_model_in(const struct gpu *gpu, size_t devices)
{
	bool has_sheet = !isnan(gpu_figure(gpu, "memory_bandwidth"));
	size_t no_sheet = 0;
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	struct result r;

	accepted_node(gpu, devices, &r);
	if (judge_limits_of_model(&limits, r.devices[0].name, &errors) != STATUS_OK)
		fail_msg("%s: %s", gpu->id, errors.data);
	for (size_t l = 0; l < limits.count; l++)
		if (limits.items[l].suite && !selected(&limits.items[l], &r) &&
		    (devices > 1 || !needs_a_peer(limits.items[l].name)))
			fail_msg("%s, %zu devices: [limit %s] judges no case of acceptance",
				 gpu->id, devices, limits.items[l].name);
	fill(&limits, &r);
	judge_alone(&limits, &r, &v);
	for (size_t i = 0; i < v.count; i++) {
		no_sheet += v.checks[i].cause == CAUSE_NO_DATA_SHEET;
		if (v.checks[i].verdict != VERDICT_PASS && v.checks[i].verdict != VERDICT_SKIP &&
		    (has_sheet || v.checks[i].cause != CAUSE_NO_DATA_SHEET))
			fail_msg("%s: [limit %s] %s: %s: %s", gpu->id, v.checks[i].limit,
				 v.checks[i].case_id, verdict_fields_name(v.checks[i].verdict),
				 v.checks[i].reason);
	}
	/* Published figures alone are no data sheet. */
	if (has_sheet != !no_sheet)
		fail_msg("%s: %zu checks tell that there is no data sheet", gpu->id, no_sheet);
	for (size_t d = 0; d < devices && has_sheet; d++) {
		static const char *const metrics[] = { "transfer.bandwidth", "stream.bandwidth",
						       "matmul.throughput", "matmul.error" };

		for (size_t m = 0; m < ARRAY_SIZE(metrics); m++)
			if (!passes(&v, r.devices[d].id, metrics[m]))
				fail_msg("%s: %s of %s is not judged", gpu->id, metrics[m],
					 r.devices[d].id);
	}
	verdicts_release(&v);
	judge_limits_release(&limits);
	result_release(&r);
}

static void every_model_is_judged_in_every_kind(void **state)
{
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++) {
		struct text errors = TEXT_EMPTY;
		struct limits limits;

		judge_model_in(&gpus[i], 1);
		judge_model_in(&gpus[i], MANY);
		/* Also by its name on the command line. */
		assert_int_equal(judge_limits_load(&limits, gpus[i].id, &errors), STATUS_OK);
		/* Stricter fractions need a data sheet, and published figures of good GPUs. */
		assert_int_equal(strcmp(limits.source, "limits/generic.ini") == 0,
				 strcmp(limits.source, "limits/h200.ini") != 0 &&
					 (gpus[i].published_count == 0 ||
					  isnan(gpu_figure(&gpus[i], "memory_bandwidth"))));
		judge_limits_release(&limits);
	}
}

/* A card without a known data sheet is judged by what the driver reports, and says so. */
static void an_unknown_gpu_is_judged_by_what_the_driver_tells(void **state)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	struct result r;
	size_t derived = 0;

	(void)state;
	accepted_node(gpus_by_id("a100-40gb"), 1, &r);
	snprintf(r.devices[0].name, sizeof(r.devices[0].name), "NVIDIA A200");
	assert_int_equal(judge_limits_of_model(&limits, r.devices[0].name, &errors), STATUS_OK);
	assert_string_equal(limits.source, "limits/generic.ini");
	fill(&limits, &r);
	judge_all(&limits, &r, &v);
	for (size_t i = 0; i < v.count; i++) {
		assert_true(v.checks[i].verdict == VERDICT_PASS ||
			    v.checks[i].verdict == VERDICT_SKIP ||
			    (v.checks[i].verdict == VERDICT_INCONCLUSIVE &&
			     v.checks[i].cause == CAUSE_NO_DATA_SHEET));
		derived += strstr(v.checks[i].bound_origin,
				  "computed from the driver's report: 1215 MHz x 2 x 5120 bit") !=
			   NULL;
	}
	assert_true(derived >= 4);
	assert_int_equal(passes(&v, "cuda:0", "matmul.throughput"), 0);
	assert_int_equal(verdicts_exit_code(&v), 4);
	verdicts_release(&v);
	/* accept_derived takes figures from the driver. */
	for (size_t i = 0; i < limits.count; i++)
		limits.items[i].accept_derived = true;
	judge_all(&limits, &r, &v);
	assert_true(passes(&v, "cuda:0", "matmul.throughput") >= 4);
	assert_int_equal(v.counts[VERDICT_INCONCLUSIVE], 0);
	verdicts_release(&v);
	judge_limits_release(&limits);
	result_release(&r);
}

/* A CPU is not a GPU: nothing of it is judged by limits for GPUs. */
static void a_cpu_is_not_judged_by_limits_for_gpus(void **state)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	struct result r;

	(void)state;
	node_init(&r, 1, "Some CPU");
	strcpy(r.devices[0].backend, "host");
	r.devices[0].capabilities = DEVICE_IS_HOST;
	strcpy(r.devices[0].id, "host:0");
	node_add(&r, 0, 55e9, 0.001);
	strcpy(r.cases[0].device, "host:0");
	strcpy(r.cases[0].devices[0], "host:0");
	assert_int_equal(judge_limits_of_model(&limits, r.devices[0].name, &errors), STATUS_OK);
	judge_all(&limits, &r, &v);
	for (size_t i = 0; i < v.count; i++)
		assert_string_equal(v.checks[i].case_id, "");
	assert_int_not_equal(verdicts_exit_code(&v), 0);
	verdicts_release(&v);
	judge_limits_release(&limits);
	result_release(&r);
}

/* Limits that follow from the facts of a data sheet are those that the sheet states. */
static void derived_figures_agree_with_data_sheets(void **state)
{
	static const char *const keys[] = { "memory_bandwidth",
					    "pcie_bandwidth",
					    "nvlink_bandwidth",
					    "fp64",
					    "fp32",
					    "fp64_tensor",
					    "tf32_tensor",
					    "fp16_tensor",
					    "bf16_tensor",
					    "fp8_tensor",
					    "int8_tensor" };
	size_t count, compared = 0;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t k = 0; k < ARRAY_SIZE(keys); k++) {
			bool tensor = strstr(keys[k], "_tensor") != NULL;
			double sheet = gpu_figure(&gpus[i], keys[k]), value;
			struct device_info d;

			describe_device(&gpus[i], 0, &d);
			/* The clock that the sheet's figure is given at. */
			if (tensor && strcmp(keys[k], "fp64_tensor") != 0)
				d.clock_hz = fact(&gpus[i], "tensor_clock", d.clock_hz);
			if (strcmp(keys[k], "fp16_tensor") == 0)
				sheet = fact(&gpus[i], "fp16_tensor_boost", sheet);
			if (isnan(sheet) || isnan(gpu_figure(&gpus[i], "boost_clock")) ||
			    !reference_derived_figure(&d, keys[k], &value, NULL))
				continue;
			compared++;
			if (fabs(value / sheet - 1) > 0.03)
				fail_msg("%s: %s is %g on the data sheet, %g from the driver",
					 gpus[i].id, keys[k], sheet, value);
		}
	print_message("%zu figures compared\n", compared);
	assert_true(compared >= 60);
}

/*
 * GeForce cards multiply FP16 with sums in FP32 at half rate: 71 TFLOP/s of an RTX 3090, 150 of an
 * A40.
 */
static void geforce_has_half_of_the_tensor_rate(void **state)
{
	struct device_info d = { .name = "NVIDIA GeForce RTX 3090",
				 .capability_major = 8,
				 .capability_minor = 6,
				 .multiprocessors = 82,
				 .clock_hz = 1.695e9 };
	double value;

	(void)state;
	assert_true(reference_derived_figure(&d, "fp16_tensor", &value, NULL));
	assert_float_equal(value, 71.2e12, 0.2e12);
	strcpy(d.name, "NVIDIA A40");
	d.multiprocessors = 84;
	d.clock_hz = 1.74e9;
	assert_true(reference_derived_figure(&d, "fp16_tensor", &value, NULL));
	assert_float_equal(value, 149.7e12, 0.2e12);
	/* An emulated capability is not the chip's. */
	strcpy(d.emulated_on, "9.0");
	assert_false(reference_derived_figure(&d, "fp16_tensor", &value, NULL));
}

/* PCIe 6 (PCI-SIG: 121 GB/s for 16 lanes) and the links of Blackwell: 18 of 50 GB/s. */
static void links_of_blackwell_are_known(void **state)
{
	static const int capabilities[] = { 0, 3 };

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(capabilities); i++) {
		struct device_info d = { .name = "NVIDIA B200",
					 .capability_major = 10,
					 .capability_minor = capabilities[i],
					 .nvlink_count = 18,
					 .pcie_generation_max = 6,
					 .pcie_width_max = 16 };
		double value;

		assert_true(reference_derived_figure(&d, "pcie_bandwidth", &value, NULL));
		assert_float_equal(value, 121e9, 0.1e9);
		d.pcie_generation_max = 5;
		assert_true(reference_derived_figure(&d, "pcie_bandwidth", &value, NULL));
		assert_float_equal(value, 63.02e9, 0.1e9);
		assert_true(reference_derived_figure(&d, "nvlink_bandwidth", &value, NULL));
		assert_float_equal(value, 900e9, 1);
	}
}

/* Figures that others measured on good cards pass the limits. */
static void check_published(const struct gpu *gpu, const struct published *p, size_t *judged)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	struct result r;
	struct case_result *c = NULL;
	const struct sheet_row *row = NULL;

	accepted_node(gpu, 2, &r);
	assert_int_equal(judge_limits_of_model(&limits, r.devices[0].name, &errors), STATUS_OK);
	for (size_t i = 0; i < r.case_count; i++) {
		const struct suite *suite = suite_find(r.cases[i].suite);

		for (const struct sheet_row *s = suite->sheet; s && s->metric; s++)
			if (r.cases[i].status == CASE_OK && s->quantity &&
			    strcmp(s->quantity, p->quantity->name) == 0 &&
			    quantity_sheet_row_of_case(suite->sheet, &r.cases[i], s->metric,
						       &r.devices[0]) == s) {
				c = &r.cases[i];
				row = s;
			}
	}
	for (size_t l = 0; c && l < limits.count; l++)
		if (limits.items[l].suite &&
		    judge_limits_selects(&limits.items[l], c, r.devices[0].name) &&
		    strcmp(limits.items[l].metric->name, row->metric) == 0 &&
		    !case_metric(c, row->metric)) {
			set_metric(c, limits.items[l].metric,
				   p->value / (row->factor > 0 ? row->factor : 1));
			++*judged;
		}
	judge_alone(&limits, &r, &v);
	for (size_t i = 0; c && i < v.count; i++)
		if (strcmp(v.checks[i].case_id, c->id) == 0 &&
		    (v.checks[i].verdict == VERDICT_FAIL || v.checks[i].verdict == VERDICT_WARN))
			fail_msg("%s: [published %s] violates [limit %s]: %g < %g", gpu->id,
				 p->name, v.checks[i].limit, v.checks[i].value, v.checks[i].bound);
	verdicts_release(&v);
	judge_limits_release(&limits);
	result_release(&r);
}

static void published_figures_hold_the_limits(void **state)
{
	size_t count, judged = 0;
	const struct gpu *gpus = gpus_all(&count);

	(void)state;
	for (size_t i = 0; i < count; i++)
		for (size_t p = 0; p < gpus[i].published_count; p++)
			/* A product of a small shape is not what the limits are about. */
			if (!strstr(gpus[i].published[p].conditions, "small-N"))
				check_published(&gpus[i], &gpus[i].published[p], &judged);
	print_message("%zu published figures judged\n", judged);
	assert_true(judged >= 20);
}

/* Five launches that agree, as `run --check` makes them of what one leaves open. */
static void settle(struct result *r)
{
	static const double launches[] = { 1, 0.999, 1.001, 0.9995, 1.0005 };

	for (size_t i = 0; i < r->case_count; i++)
		for (size_t m = 0; m < r->cases[i].metric_count; m++) {
			struct metric_value *value = &r->cases[i].metrics[m];

			if (!*value->series || !(value->value > 0))
				continue;
			value->low = value->value * 0.999;
			value->high = value->value * 1.001;
			value->launches = xcalloc(ARRAY_SIZE(launches), sizeof(double));
			value->launch_count = ARRAY_SIZE(launches);
			for (size_t k = 0; k < ARRAY_SIZE(launches); k++)
				value->launches[k] = value->value * launches[k];
		}
}

static void scale(struct metric_value *m, double factor)
{
	m->value *= factor;
	m->low *= factor;
	m->high *= factor;
	for (size_t i = 0; i < m->launch_count; i++)
		m->launches[i] *= factor;
}

static void read_data(struct result *r, const char *name)
{
	char *path = xasprintf("%s/data/%s", TESTS_DIR, name);
	struct error err = ERROR_NONE;

	if (result_read(r, path, &err) != STATUS_OK)
		fail_msg("%s", err.message);
	free(path);
	settle(r);
}

/* "x@cuda:0,cuda:1" with devices `by` further on */
static void rename_devices(char **text, size_t by)
{
	struct text out = TEXT_EMPTY;
	const char *at = *text, *found;

	while ((found = strstr(at, "cuda:"))) {
		text_add_bytes(&out, at, (size_t)(found - at));
		text_addf(&out, "cuda:%zu", strtoul(found + 5, (char **)&at, 10) + by);
	}
	text_add(&out, at);
	free(*text);
	*text = text_detach(&out);
}

/* A node of `count` H200s: the measured pair, again and again. */
static void h200s(struct result *r, size_t count)
{
	read_data(r, "quick_h200_x2.json");
	for (size_t by = 2; by < count; by += 2) {
		struct result more;

		read_data(&more, "quick_h200_x2.json");
		r->devices = xrealloc(r->devices, by + 2, sizeof(*r->devices));
		for (size_t i = 0; i < 2; i++) {
			struct device_info *d = &r->devices[by + i];

			*d = more.devices[i];
			snprintf(d->id, sizeof(d->id), "cuda:%zu", by + i);
			snprintf(d->uuid, sizeof(d->uuid), "GPU-%zu", by + i);
		}
		r->device_count = by + 2;
		for (size_t i = 0; i < more.case_count; i++) {
			struct case_result *c = &more.cases[i];

			rename_devices(&c->id, by);
			rename_devices(&c->device, by);
			for (size_t d = 0; d < c->device_count; d++)
				rename_devices(&c->devices[d], by);
			*result_add_case(r) = *c;
		}
		more.case_count = 0;
		result_release(&more);
	}
}

/*
 * Lowers what `limit` bounds in case `i` by a third: the limit must reject the case's device, and
 * nothing another one.
 */
static void lower(const struct limits *limits, const struct limit *limit, struct result *r,
		  size_t i)
{
	struct case_result *c = &r->cases[i];
	struct metric_value *m = &c->metrics[case_metric(c, limit->metric->name) - c->metrics];
	bool named = false;
	struct verdicts v;

	scale(m, 2.0 / 3);
	judge_all(limits, r, &v);
	for (size_t k = 0; k < v.count; k++) {
		const struct verdict_check *check = &v.checks[k];

		if (check->verdict != VERDICT_FAIL)
			continue;
		if (strcmp(check->case_id, c->id) != 0)
			fail_msg("%s a third lower: %s is accused", c->id, check->case_id);
		named = named ||
			(strcmp(check->limit, limit->name) == 0 && check->comparison == AT_LEAST &&
			 strncmp(check->devices, c->device, strlen(c->device)) == 0);
	}
	if (!named || verdicts_exit_code(&v) != 1)
		fail_msg("%s a third lower (%g): [limit %s] does not reject it", c->id, m->value,
			 limit->name);
	verdicts_release(&v);
	scale(m, 1.5);
}

/* Every figure of a good node in turn. */
static void lower_each(struct result *r)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	size_t lowered = 0;

	assert_int_equal(judge_limits_of_model(&limits, r->devices[0].name, &errors), STATUS_OK);
	judge_all(&limits, r, &v);
	if (verdicts_exit_code(&v) != 0)
		fail_msg("%s", v.sentence);
	assert_int_equal(v.counts[VERDICT_FAIL], 0);
	verdicts_release(&v);
	for (size_t l = 0; l < limits.count; l++)
		for (size_t i = 0; i < r->case_count; i++)
			if (limits.items[l].min.kind && r->cases[i].status == CASE_OK &&
			    judge_limits_selects(&limits.items[l], &r->cases[i],
						 r->devices[0].name)) {
				lower(&limits, &limits.items[l], r, i);
				lowered++;
			}
	print_message("%zu devices: %zu figures lowered in turn\n", r->device_count, lowered);
	assert_true(lowered >= 10);
	judge_limits_release(&limits);
	result_release(r);
}

static void a_figure_a_third_too_low_is_found_on_h200s(void **state)
{
	struct result r;

	(void)state;
	for (size_t count = 2; count <= 8; count *= 2) {
		h200s(&r, count);
		lower_each(&r);
	}
}

static void a_figure_a_third_too_low_is_found_on_an_h100(void **state)
{
	struct result r;

	(void)state;
	read_data(&r, "acceptance_h100.json");
	lower_each(&r);
}

/* Every rate of a good node 5 % lower, which neither data sheets nor identical devices tell. */
static void lower_all(struct result *r)
{
	for (size_t i = 0; i < r->case_count; i++)
		for (size_t m = 0; m < r->cases[i].metric_count; m++)
			if (strstr("B/s FLOP/s", r->cases[i].metrics[m].unit) &&
			    r->cases[i].metrics[m].better == BETTER_HIGHER)
				scale(&r->cases[i].metrics[m], 0.95);
}

/*
 * Asserts that `count` of the node's checks against good cards are `verdict`; all others must not
 * be of `verdict`.
 */
static size_t against_population(struct result *r, enum verdict verdict, int *code)
{
	struct text errors = TEXT_EMPTY;
	struct limits limits;
	struct verdicts v;
	size_t found = 0;

	assert_int_equal(judge_limits_of_model(&limits, r->devices[0].name, &errors), STATUS_OK);
	judge_all(&limits, r, &v);
	for (size_t i = 0; i < v.count; i++) {
		if (v.checks[i].verdict != verdict)
			continue;
		if (v.checks[i].comparison != LIKE_POPULATION)
			fail_msg("[limit %s] %s: %s", v.checks[i].limit, v.checks[i].case_id,
				 v.checks[i].reason);
		found++;
	}
	*code = verdicts_exit_code(&v);
	verdicts_release(&v);
	judge_limits_release(&limits);
	return found;
}

/* Eight good cards and more are known: every GPU of the node fails, and all of them together. */
static void a_whole_node_that_is_slow_is_rejected_on_h200s(void **state)
{
	struct result r;
	int code;

	(void)state;
	for (size_t count = 2; count <= 8; count *= 2) {
		h200s(&r, count);
		lower_all(&r);
		assert_true(against_population(&r, VERDICT_FAIL, &code) > count);
		assert_int_equal(code, 1);
		result_release(&r);
	}
}

/* Eight good cards and more are known by most figures. */
static void a_whole_h100_that_is_slow_is_rejected(void **state)
{
	struct result r;
	int code;

	(void)state;
	read_data(&r, "acceptance_h100.json");
	lower_all(&r);
	assert_true(against_population(&r, VERDICT_FAIL, &code) >= 5);
	assert_int_equal(code, 1);
	result_release(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_model_is_judged_in_every_kind),
		cmocka_unit_test(an_unknown_gpu_is_judged_by_what_the_driver_tells),
		cmocka_unit_test(a_cpu_is_not_judged_by_limits_for_gpus),
		cmocka_unit_test(derived_figures_agree_with_data_sheets),
		cmocka_unit_test(geforce_has_half_of_the_tensor_rate),
		cmocka_unit_test(links_of_blackwell_are_known),
		cmocka_unit_test(published_figures_hold_the_limits),
		cmocka_unit_test(a_figure_a_third_too_low_is_found_on_h200s),
		cmocka_unit_test(a_figure_a_third_too_low_is_found_on_an_h100),
		cmocka_unit_test(a_whole_node_that_is_slow_is_rejected_on_h200s),
		cmocka_unit_test(a_whole_h100_that_is_slow_is_rejected),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
