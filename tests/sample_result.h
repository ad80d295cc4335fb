/* A result that uses every member, for the tests of its JSON and of the schema. Release with result_release(). */
#ifndef GPUPROOF_TESTS_SAMPLE_RESULT_H
#define GPUPROOF_TESTS_SAMPLE_RESULT_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"
#include "result/result.h"
#include "result/verdict.h"

static inline void sample_series(struct case_result *c)
{
	static const double values[] = { 1.1e-3, 0.1, 1.0 / 3, 5e-324, 1.7976931348623157e308, -0.0, 1e22, 2 };
	struct series *s = c->series = xcalloc(1, sizeof(*s));

	c->series_count = c->series_capacity = 1;
	s->name = xstrdup("transfer.time");
	strcpy(s->unit, "s");
	s->count = s->capacity = ARRAY_SIZE(values);
	s->samples = xmalloc(sizeof(values));
	memcpy(s->samples, values, sizeof(values));
	s->batch = 8;
	s->first = 0.25;
	s->stop = STOP_STABLE;
	s->statistics = (struct statistics){ .n = s->count, .min = 0.1, .p5 = 0.2, .q1 = 0.3, .median = 0.4,
		.q3 = 0.5, .p95 = 0.6, .p99 = (double)NAN, .max = 0.8, .low = 0.39, .high = 0.41, .mad = 0.01,
		.relative_iqr = 0.5, .autocorrelation = -0.1, .drift = 0.02, .noisy = true };
	strcpy(s->statistics.noise, "drift 2 %");
}

static inline void sample_timeline(struct case_result *c)
{
	static const double spans[] = { 0, 1e-6, 2.5e-4, 1, 0.25, 0.5 };

	c->timeline = xcalloc(1, sizeof(*c->timeline));
	c->timeline[0] = (struct timeline_row){ 1, xstrdup("compute"), xstrdup("forward"),
						xmalloc(sizeof(spans)), ARRAY_SIZE(spans) };
	memcpy(c->timeline[0].spans, spans, sizeof(spans));
	c->timeline_count = 1;
}

static inline void sample_metrics(struct case_result *c)
{
	c->metric_count = c->metric_capacity = 2;
	c->metrics = xcalloc(2, sizeof(*c->metrics));
	c->metrics[0] = (struct metric_value){ xstrdup("transfer.bandwidth"), xstrdup("B/s"), BETTER_HIGHER, true,
		5.5e10, 5.4e10, 5.6e10, 8, xstrdup("transfer.time"), NULL, 0 };
	c->metrics[0].launches = xcalloc(3, sizeof(double));
	c->metrics[0].launches[0] = 5.5e10;
	c->metrics[0].launches[1] = 5.6e10;
	c->metrics[0].launches[2] = (double)NAN;
	c->metrics[0].launch_count = 3;
	c->metrics[1] = (struct metric_value){ xstrdup("transfer.cold"), xstrdup("s"), BETTER_LOWER, false,
		1e-3, (double)NAN, (double)INFINITY, 1, xstrdup(""), NULL, 0 };
}

static inline void sample_watch(struct case_result *c)
{
	static const double power[] = { 300, 700.5, (double)NAN };
	struct watch *t = c->watches = xcalloc(1, sizeof(*t));
	struct time_quantity *q = t->quantities = xcalloc(1, sizeof(*q));

	c->watch_count = c->watch_capacity = 1;
	t->device = xstrdup("cuda:0");
	t->uuid = xstrdup("GPU-1");
	t->interval = 1.5;
	t->readings = 44;
	t->wrong = 2;
	t->wrong_words = xstrdup("product 12 of fp32, byte 8");
	t->quantity_count = t->quantity_capacity = 1;
	q->name = xstrdup("power_watts");
	q->unit = xstrdup("W");
	q->mean = xmalloc(sizeof(power));
	memcpy(q->mean, power, sizeof(power));
	q->highest = xmalloc(sizeof(power));
	memcpy(q->highest, power, sizeof(power));
	q->mean_count = q->highest_count = ARRAY_SIZE(power);
}

static inline void sample_case(struct result *result)
{
	struct case_result *c = result_add_case(result);

	sample_watch(c);
	c->suite = xstrdup("transfer");
	c->label = xstrdup("");
	c->id = xstrdup("transfer/h2d/pinned/64MiB@cuda:0");
	c->device = xstrdup("cuda:0");
	c->devices = xcalloc(2, sizeof(*c->devices));
	c->devices[c->device_count++] = xstrdup("cuda:0");
	c->devices[c->device_count++] = xstrdup("cuda:1");
	c->parameters = xcalloc(2, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] = (struct case_parameter){ xstrdup("direction"), xstrdup("h2d"),
		(double)NAN, xstrdup("") };
	c->parameters[c->parameter_count++] = (struct case_parameter){ xstrdup("size"), xstrdup("64MiB"),
		67108864, xstrdup("B") };
	c->status = CASE_OK;
	c->reason = xstrdup("");
	sample_metrics(c);
	sample_series(c);
	sample_timeline(c);
	c->verification = (struct verification){ true, xstrdup("every byte"), (double)NAN, 1e-5 };
	c->before.sm_clock_hz = 1.98e9;
	c->before.throttle_reasons = INT64_C(1) << 40;
	c->notes = xstrdup("a \"note\"\twith </script> and \xC3\xBC");
	c->phases = xcalloc(1, sizeof(*c->phases));
	c->phases[c->phase_count++] = (struct case_phase){ xstrdup("samples"), 0.0625 };
	c->started_seconds = 1.5;
	c->seconds = 0.125;
}

/* Every text NULL that may be. */
static inline void sample_skipped(struct result *result)
{
	struct case_result *c = result_add_case(result);

	c->status = CASE_SKIPPED;
	c->suite = xstrdup("transfer");
	c->id = xstrdup("transfer/d2h/pinned/64MiB@cuda:1");
	c->device = xstrdup("cuda:1");
	c->devices = xcalloc(1, sizeof(*c->devices));
	c->devices[c->device_count++] = xstrdup("cuda:1");
}

static inline void sample_flight(struct result *result)
{
	result->preflight = xcalloc(1, sizeof(*result->preflight));
	result->preflight_count = 1;
	result->preflight[0] = (struct finding){ SEVERITY_NOTE, "ecc cuda:0", "off" };
	result->postflight = xcalloc(1, sizeof(*result->postflight));
	result->postflight_count = 1;
	result->postflight[0] = (struct finding){ SEVERITY_ERROR, "device cuda:0", "it is gone" };
}

static inline void sample_device(struct result *result)
{
	struct device_info *d = result->devices = xcalloc(2, sizeof(*d));

	result->device_count = 2;
	*d = (struct device_info){ .id = "cuda:0", .backend = "cuda", .module = "cuda13", .name = "NVIDIA H200",
		.uuid = "GPU-0", .serial = "1652923012345", .pci = "0000:3b:00.0", .capability_major = 9, .multiprocessors = 132,
		.memory_bytes = UINT64_C(150000000000), .clock_hz = 1.98e9, .ecc = -1, .numa_node = 0,
		.capabilities = DEVICE_HAS_FP32 | DEVICE_HAS_COLLECTIVES,
		.peer_mask = UINT64_C(1) << 63 | 2, .nvlink_count = 18 };
	d[1] = *d;
	d[1].index = 1;
	strcpy(d[1].id, "cuda:1");
	strcpy(d[1].uuid, "GPU-1");
}

static inline void sample_judgement(struct result *r)
{
	struct verdicts v = { .overall = VERDICT_INCONCLUSIVE,
			      .strict = true,
			      .sentence = xstrdup("Not decided: 0 of 1 check passed."),
			      .limits = xstrdup("mine.ini"),
			      .limits_text = xstrdup("[limit pcie]\nmin = 1 GB/s\n") };
	struct check *check = verdicts_add(&v);
	struct device_judgement *device = verdicts_add_device(&v);
	struct aspect_judgement *aspect = device_judgement_add(device, ASPECT_LINK);

	check->verdict = VERDICT_INCONCLUSIVE;
	check->aspect = ASPECT_LINK;
	check->comparison = AT_LEAST;
	check->value = 1.5e9;
	check->launches = 2;
	aspect->promised = true;
	aspect->verdict = VERDICT_INCONCLUSIVE;
	aspect->checks = 1;
	result_judge(r, &v);
}

static inline void sample_result(struct result *result)
{
	*result = (struct result){ .version = RESULT_VERSION, .gpuproof_version = xstrdup("0.1.0"),
		.run_id = xstrdup("0123456789abcdef"), .label = xstrdup("lab"),
		.started = xstrdup("2026-11-20T14:03:59Z"), .finished = xstrdup("2026-11-20T14:04:59Z"),
		.seconds = 60.25, .state = xstrdup("complete"), .command = xstrdup("gpuproof run quick"),
		.seed = INT64_MIN, .planned = 3, .config_name = xstrdup("quick"),
		.config_text = xstrdup("[run]\nlabel = lab\n") };
	result->settings = xcalloc(1, sizeof(*result->settings));
	result->settings[result->setting_count++] = (struct result_setting){ xstrdup("run"), xstrdup("label"),
		xstrdup("lab"), xstrdup("quick.ini:3") };
	result->environment = xcalloc(2, sizeof(*result->environment));
	result->environment[result->environment_count++] = (struct fact){ xstrdup("cpu"), xstrdup("a CPU") };
	result->environment[result->environment_count++] = (struct fact){ xstrdup("driver"), xstrdup("580.1") };
	result->yardstick = xcalloc(1, sizeof(*result->yardstick));
	result->yardstick_count = result->yardstick_capacity = 1;
	result->yardstick[0] = (struct metric_value){ xstrdup("host.call"), xstrdup("s"), BETTER_LOWER, false,
		2e-7, 1.9e-7, 2.1e-7, 30, xstrdup(""), NULL, 0 };
	sample_device(result);
	sample_flight(result);
	sample_case(result);
	sample_skipped(result);
	sample_judgement(result);
}

#endif
