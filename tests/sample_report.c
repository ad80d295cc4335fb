#include "sample_report.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/units.h"
#include "result/statistics.h"

struct sample {
	struct result *result;
	const struct sample_options *options;
	uint64_t random;
	double clock;
};

/* Uniform in [0, 1). Knuth's MMIX generator: the same on every machine. */
static double uniform(struct sample *s)
{
	s->random = s->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (double)(s->random >> 11) / 0x1p53;
}

static void add_parameter(struct case_result *c, const char *name, const char *text, double number,
			  const char *unit)
{
	c->parameters = xrealloc(c->parameters, c->parameter_count + 1, sizeof(*c->parameters));
	c->parameters[c->parameter_count++] =
		(struct case_parameter){ xstrdup(name), xstrdup(text), number, xstrdup(unit) };
}

static void add_word(struct case_result *c, const char *name, const char *text)
{
	add_parameter(c, name, text, (double)NAN, "");
}

static void add_size(struct case_result *c, uint64_t bytes)
{
	char text[32];

	add_parameter(c, "size", units_size(bytes, text, sizeof(text)), (double)bytes, "B");
}

static struct case_result *add_case(struct sample *s, const char *suite, char *id, int first,
				    int second)
{
	struct case_result *c = result_add_case(s->result);
	int count = second < 0 ? 1 : 2;

	c->suite = xstrdup(suite);
	c->label = xstrdup("");
	c->id = id;
	c->device = xasprintf("cuda:%d", first);
	c->devices = xcalloc((size_t)count, sizeof(*c->devices));
	c->devices[c->device_count++] = xasprintf("cuda:%d", first);
	if (count == 2)
		c->devices[c->device_count++] = xasprintf("cuda:%d", second);
	c->status = CASE_OK;
	c->reason = xstrdup("");
	c->notes = xstrdup("");
	c->verification = (struct verification){ true, xstrdup("every byte against the generator"),
						 (double)NAN, (double)NAN };
	c->before.throttle_reasons = c->after.throttle_reasons = 0;
	c->before.ecc_uncorrected = c->after.ecc_uncorrected = 0;
	c->after.sm_clock_hz = 1.98e9;
	c->after.power_watts = 412;
	c->after.temperature_celsius = 51;
	c->started_seconds = s->clock;
	c->seconds = 0.12;
	s->clock += c->seconds;
	return c;
}

/* A series around `center`; `scatter` its relative width, `tail` the share of slow samples. */
static struct series *add_series(struct sample *s, struct case_result *c, const char *name,
				 double center, double scatter, double tail, size_t n)
{
	struct series *series;

	n = s->options->small && n < 100 ? 15 : n;
	ARRAY_GROW(c->series, c->series_count, c->series_capacity);
	series = &c->series[c->series_count++];
	*series = (struct series){ .name = xstrdup(name),
				   .unit = "s",
				   .count = n,
				   .capacity = n,
				   .batch = 1,
				   .first = center * 3,
				   .stop = STOP_CONVERGED };
	series->samples = xmalloc(n * sizeof(double));
	for (size_t i = 0; i < n; i++) {
		double sum = uniform(s) + uniform(s) + uniform(s) - 1.5;

		series->samples[i] = center * (1 + scatter * sum);
		if (uniform(s) < tail)
			series->samples[i] *= 1.5 + 4 * uniform(s);
	}
	statistics_compute(series->samples, n, 1, 0, NULL, &series->statistics);
	return series;
}

static uint64_t step(const struct sample *s, uint64_t full, uint64_t small)
{
	return s->options->small ? small : full;
}

static void add_metric(struct case_result *c, const char *name, const char *unit,
		       enum better better, bool headline, double value, double low, double high,
		       size_t n, const char *series)
{
	ARRAY_GROW(c->metrics, c->metric_count, c->metric_capacity);
	c->metrics[c->metric_count++] =
		(struct metric_value){ xstrdup(name), xstrdup(unit), better, headline,       value,
				       low,           high,          n,      xstrdup(series), NULL, 0 };
}

static void add_single(struct case_result *c, const char *name, const char *unit,
		       enum better better, double value)
{
	add_metric(c, name, unit, better, false, value, (double)NAN, (double)NAN, 1, "");
}

static void add_time(struct case_result *c, const struct series *series, const char *name,
		     bool headline)
{
	const struct statistics *t = &series->statistics;

	add_metric(c, name, "s", BETTER_LOWER, headline, t->median, t->low, t->high, t->n,
		   series->name);
}

static void add_rate(struct case_result *c, const struct series *series, const char *name,
		     const char *unit, double amount)
{
	const struct statistics *t = &series->statistics;

	add_metric(c, name, unit, BETTER_HIGHER, true, amount / t->median, amount / t->high,
		   amount / t->low, t->n, series->name);
}

static void end_badly(struct case_result *c, enum case_status status, const char *reason)
{
	c->status = status;
	free(c->reason);
	c->reason = xstrdup(reason);
	c->verification.done = status == CASE_FAILED;
}

/* One direction of the transfer suite: latency plus bytes over bandwidth. */
struct path {
	const char *direction, *memory, *access;
	double latency, bandwidth;
};

static void transfer_case(struct sample *s, const struct path *path, uint64_t bytes, int first,
			  int second)
{
	char size[32];
	const char *variant = path->memory ? path->memory : path->access ? path->access : "";
	char *id = xasprintf("transfer/%s%s%s/%s@cuda:%d%s", path->direction, *variant ? "/" : "",
			     variant, units_size(bytes, size, sizeof(size)), first,
			     second < 0 ? ""
			     : second   ? "+cuda:1"
					: "+cuda:0");
	struct case_result *c = add_case(s, "transfer", id, first, second);
	double seconds = (path->latency + (double)bytes / path->bandwidth) / s->options->speed;
	bool noisy = !s->options->healthy && bytes == 1024 && strcmp(path->direction, "d2h") == 0;
	struct series *time;

	add_word(c, "direction", path->direction);
	if (path->memory)
		add_word(c, "memory", path->memory);
	if (path->access)
		add_word(c, "access", path->access);
	add_size(c, bytes);
	if (!s->options->healthy && bytes == 1024 && strcmp(variant, "write_combined") == 0 &&
	    first == 0) {
		end_badly(c, CASE_FAILED, "byte 4096 is 0x3f, expected 0x91");
		return;
	}
	time = add_series(s, c, "transfer.time", seconds, noisy ? 0.2 : 0.006, 0, 35);
	add_rate(c, time, "transfer.bandwidth", "B/s", (double)bytes);
	add_time(c, time, "transfer.time", false);
	if (!s->options->healthy && bytes > ((uint64_t)200 << 20) &&
	    strcmp(path->direction, "local") == 0)
		c->after.throttle_reasons = 0x4;
}

static void transfer_suite(struct sample *s)
{
	static const struct path paths[] = {
		{ "h2d", "pinned", NULL, 1.6e-6, 55.4e9 },
		{ "h2d", "pageable", NULL, 6e-6, 13.2e9 },
		{ "h2d", "write_combined", NULL, 1.6e-6, 55.3e9 },
		{ "d2h", "pinned", NULL, 1.7e-6, 55.1e9 },
		{ "d2h", "pageable", NULL, 7e-6, 11.7e9 },
		{ "both", "pinned", NULL, 2.4e-6, 98.3e9 },
		{ "local", NULL, NULL, 2.1e-6, 1950e9 },
	};
	static const struct path peers[] = {
		{ "p2p", NULL, "on", 2.2e-6, 381e9 },
		{ "p2p", NULL, "off", 14e-6, 37e9 },
		{ "p2p_both", NULL, "on", 3.4e-6, 742e9 },
		{ "p2p_both", NULL, "off", 22e-6, 51e9 },
	};

	for (int d = 0; d < s->options->devices; d++)
		for (size_t p = 0; p < ARRAY_SIZE(paths); p++)
			for (uint64_t bytes = 1024; bytes <= (uint64_t)512 << 20;
			     bytes *= step(s, 4, 512))
				transfer_case(s, &paths[p], bytes, d, -1);
	for (int d = 0; s->options->devices >= 2 && d < 2; d++)
		for (size_t p = 0; p < ARRAY_SIZE(peers); p++)
			for (uint64_t bytes = 1024; bytes <= (uint64_t)512 << 20;
			     bytes *= step(s, 4, 512))
				transfer_case(s, &peers[p], bytes, d, 1 - d);
}

static void alloc_case(struct sample *s, const char *allocator, const char *operation,
		       const char *state, double base, double per_byte, uint64_t bytes, int device)
{
	char size[32];
	struct case_result *c = add_case(s, "alloc",
					 xasprintf("alloc/%s/%s%s%s/%s@cuda:%d", allocator,
						   operation, state ? "/" : "", state ? state : "",
						   units_size(bytes, size, sizeof(size)), device),
					 device, -1);
	struct series *latency;

	add_word(c, "allocator", allocator);
	add_word(c, "operation", operation);
	if (state)
		add_word(c, "state", state);
	add_size(c, bytes);
	if (!s->options->healthy && strcmp(allocator, "registered") == 0) {
		end_badly(c, CASE_SKIPPED, "cudaHostRegister: not supported on this machine");
		return;
	}
	if (!s->options->healthy && strcmp(allocator, "pool") == 0 && bytes >= (uint64_t)1 << 28 &&
	    strcmp(operation, "free") == 0) {
		end_badly(c, CASE_ERROR, "the worker was killed by signal 11 (Segmentation fault)");
		return;
	}
	latency =
		add_series(s, c, "alloc.latency",
			   (base + per_byte * (double)bytes) / s->options->speed, 0.015, 0.03, 200);
	add_time(c, latency, "alloc.latency", true);
	add_single(c, "alloc.latency_p95", "s", BETTER_LOWER, latency->statistics.p95);
	add_single(c, "alloc.latency_p99", "s", BETTER_LOWER, latency->statistics.p99);
}

static void alloc_suite(struct sample *s)
{
	static const struct {
		const char *name;
		double base, per_byte;
	} allocators[] = {
		{ "device", 1.1e-4, 1e-14 },     { "pool", 1.3e-6, 2e-14 },
		{ "pinned", 2.5e-4, 2.2e-10 },   { "registered", 2e-5, 9e-11 },
		{ "pageable", 1.5e-6, 1.9e-10 },
	};

	for (int d = 0; d < s->options->devices; d++) {
		for (size_t a = 0; a < ARRAY_SIZE(allocators); a++) {
			for (uint64_t bytes = 4096; bytes <= (uint64_t)1 << 30;
			     bytes *= step(s, 16, 1 << 16)) {
				double base = allocators[a].base, per_byte = allocators[a].per_byte;

				alloc_case(s, allocators[a].name, "alloc", "cold", base, per_byte,
					   bytes, d);
				alloc_case(s, allocators[a].name, "alloc", "reused", base / 3,
					   per_byte / 5, bytes, d);
				alloc_case(s, allocators[a].name, "free", NULL, base / 2,
					   per_byte / 3, bytes, d);
			}
		}
	}
}

static void matmul_suite(struct sample *s)
{
	static const struct {
		const char *name;
		double rate, bytes, error;
	} precisions[] = {
		{ "fp32", 49.8e12, 4, 3.1e-7 },
		{ "tf32", 391e12, 4, 2.9e-4 },
		{ "fp16", 742e12, 2, 2.4e-4 },
		{ "bf16", 768e12, 2, 1.9e-3 },
	};
	static const double shapes[][3] = { { 1024, 1024, 1024 },
					    { 4096, 4096, 4096 },
					    { 8192, 8192, 8192 },
					    { 16384, 128, 4096 } };

	for (int d = 0; d < s->options->devices; d++) {
		for (size_t i = 0;
		     i < (s->options->small ? 2 : ARRAY_SIZE(shapes)) * ARRAY_SIZE(precisions);
		     i++) {
			const double *shape = shapes[i / ARRAY_SIZE(precisions)];
			size_t p = i % ARRAY_SIZE(precisions);
			double flops = 2 * shape[0] * shape[1] * shape[2],
			       full = flops / (flops + 2e10);
			char *text = xasprintf("%.0fx%.0fx%.0f", shape[0], shape[1], shape[2]);
			struct case_result *c = add_case(
				s, "matmul",
				xasprintf("matmul/%s/%s@cuda:%d", precisions[p].name, text, d), d,
				-1);
			struct series *time;

			add_word(c, "precision", precisions[p].name);
			add_word(c, "size", text);
			free(text);
			time = add_series(s, c, "matmul.time",
					  flops / (precisions[p].rate * full) / s->options->speed,
					  0.004, 0, 40);
			add_rate(c, time, "matmul.throughput", "FLOP/s", flops);
			add_time(c, time, "matmul.time", false);
			add_single(c, "matmul.memory", "B", BETTER_LOWER,
				   precisions[p].bytes *
					   (shape[0] * shape[1] + shape[1] * shape[2] +
					    shape[0] * shape[2]));
			add_single(c, "matmul.error", "1", BETTER_LOWER,
				   precisions[p].error * sqrt(shape[2] / 1024));
			c->verification.error = precisions[p].error;
			c->verification.tolerance = 10 * precisions[p].error;
		}
	}
}

static void add_memory(struct case_result *c, int shares)
{
	static const struct {
		const char *name;
		double bytes;
	} parts[] = {
		{ "parallel.memory_parameters", 16.05e6 },
		{ "parallel.memory_gradients", 16.05e6 },
		{ "parallel.memory_optimizer", 32.1e6 },
		{ "parallel.memory_activations", 16.4e6 },
	};
	double total = 0;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		total += parts[i].bytes / shares;
	add_single(c, "parallel.memory", "B", BETTER_LOWER, total);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
		add_single(c, parts[i].name, "B", BETTER_LOWER, parts[i].bytes / shares);
}

/* Two stages, four micro-batches in units of 100 us: all forwards, then all backwards. */
static void add_timeline(struct case_result *c)
{
	static const struct {
		int rank;
		const char *stream, *operation;
		double spans[12];
	} rows[] = {
		{ 0, "compute", "forward", { 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3, 4 } },
		{ 0, "compute", "backward", { 3, 9, 11, 2, 11, 13, 1, 13, 15, 0, 15, 17 } },
		{ 0, "stage behind", "send", { 0, 1, 1.2, 1, 2, 2.2, 2, 3, 3.2, 3, 4, 4.2 } },
		{ 1, "stage before", "receive", { 0, 0, 1.2, 1, 1.2, 2.2, 2, 2.2, 3.2, 3, 3.2, 4.2 } },
		{ 1, "compute", "forward", { 0, 1.2, 2.2, 1, 2.2, 3.2, 2, 3.2, 4.2, 3, 4.2, 5.2 } },
		{ 1, "compute", "backward", { 3, 5.2, 7.2, 2, 7.2, 9.2, 1, 9.2, 11.2, 0, 11.2, 13.2 } },
	};

	c->timeline = xcalloc(ARRAY_SIZE(rows), sizeof(*c->timeline));
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct timeline_row *row = &c->timeline[c->timeline_count++];

		*row = (struct timeline_row){ rows[i].rank, xstrdup(rows[i].stream),
					      xstrdup(rows[i].operation),
					      xcalloc(12, sizeof(double)), 12 };
		for (size_t k = 0; k < 12; k++)
			row->spans[k] = rows[i].spans[k] * (k % 3 ? 1e-4 : 1);
	}
}

static void parallel_case(struct sample *s, const char *mode, int devices, const char *microbatches,
			  double speedup)
{
	struct case_result *c = add_case(
		s, "parallel",
		xasprintf("parallel/%s/%d%s%s@cuda:0%s", mode, devices, microbatches ? "/m" : "",
			  microbatches ? microbatches : "", devices == 2 ? "+cuda:1" : ""),
		0, devices == 2 ? 1 : -1);
	struct series *time;
	char count[8];

	snprintf(count, sizeof(count), "%d", devices);
	add_word(c, "mode", mode);
	add_parameter(c, "devices", count, devices, "1");
	if (microbatches)
		add_parameter(c, "microbatches", microbatches, strtod(microbatches, NULL), "1");
	if (devices > s->options->devices) {
		end_badly(c, CASE_SKIPPED, "needs 2 devices, there is 1");
		return;
	}
	time = add_series(s, c, "parallel.step_time", 4.1e-3 / speedup / s->options->speed, 0.005,
			  0, 30);
	add_time(c, time, "parallel.step_time", true);
	add_single(c, "parallel.throughput", "samples/s", BETTER_HIGHER,
		   1024 / time->statistics.median);
	add_single(c, "parallel.speedup", "1", BETTER_HIGHER, speedup);
	add_single(c, "parallel.efficiency", "1", BETTER_HIGHER, speedup / devices);
	add_single(c, "parallel.exposed_communication", "s", BETTER_LOWER,
		   devices == 1 ? 0 : 4.1e-3 * (1 / speedup - 0.5));
	add_memory(c, strcmp(mode, "layer_split") == 0 ? devices : 1);
	if (microbatches && strcmp(microbatches, "4") == 0)
		add_timeline(c);
}

static void parallel_suite(struct sample *s)
{
	parallel_case(s, "single", 1, NULL, 1);
	parallel_case(s, "ddp", 2, NULL, 1.62);
	parallel_case(s, "layer_split", 2, NULL, 0.94);
	parallel_case(s, "gpipe", 2, "4", 1.31);
	parallel_case(s, "gpipe", 2, "8", 1.37);
}

static void add_fact(struct result *result, const char *name, const char *value)
{
	result->environment = xrealloc(result->environment, result->environment_count + 1,
				       sizeof(*result->environment));
	result->environment[result->environment_count++] =
		(struct fact){ xstrdup(name), xstrdup(value) };
}

static void add_setting(struct result *result, const char *section, const char *key,
			const char *value, const char *origin)
{
	result->settings =
		xrealloc(result->settings, result->setting_count + 1, sizeof(*result->settings));
	result->settings[result->setting_count++] =
		(struct result_setting){ xstrdup(section), xstrdup(key), xstrdup(value),
					 xstrdup(origin) };
}

static void add_devices(struct result *result, const struct sample_options *options)
{
	result->device_count = (size_t)options->devices;
	result->devices = xcalloc(result->device_count, sizeof(*result->devices));
	for (int i = 0; i < options->devices; i++) {
		struct device_info *d = &result->devices[i];

		*d = (struct device_info){ .backend = "cuda",
					   .module = "cuda13",
					   .index = i,
					   .capability_major = 9,
					   .multiprocessors = 132,
					   .memory_bytes = UINT64_C(150754820096),
					   .l2_bytes = 62914560,
					   .clock_hz = 1.98e9,
					   .memory_clock_hz = 3.201e9,
					   .memory_bus_bits = 6144,
					   .pcie_generation = 5,
					   .pcie_width = 16,
					   .pcie_generation_max = 5,
					   .pcie_width_max = 16,
					   .ecc = 1,
					   .numa_node = i,
					   .peer_mask = options->devices == 2
								? (uint64_t)(i ? 1 : 2)
								: 0,
					   .nvlink_count = options->devices == 2 ? 18 : 0 };
		snprintf(d->id, sizeof(d->id), "cuda:%d", i);
		snprintf(d->name, sizeof(d->name), "%s", options->model);
		snprintf(d->pci, sizeof(d->pci), "0000:%02x:00.0", 0x3b + i);
		snprintf(d->uuid, sizeof(d->uuid), "GPU-0000000%d-0000-0000-0000-000000000000", i);
	}
}

void sample_report(struct result *result, const struct sample_options *options)
{
	struct sample s = { .result = result, .options = options, .random = 2026 };

	*result =
		(struct result){ .version = RESULT_VERSION,
				 .gpuproof_version = xstrdup("0.1.0"),
				 .run_id = xasprintf("5a3e%04x", (unsigned)(options->speed * 1000)),
				 .label = xstrdup("lab node 7"),
				 .started = xstrdup("2026-11-20T14:03:59Z"),
				 .finished = xstrdup("2026-11-20T14:05:12Z"),
				 .seconds = 73.2,
				 .state = xstrdup("complete"),
				 .command = xstrdup("gpuproof run quick --seed 7 -o results"),
				 .seed = 7,
				 .config_name = xstrdup("quick"),
				 .config_text = xstrdup("[run]\nlabel = lab node 7\n\n[suite "
							"transfer]\nsizes = 1KiB..512MiB *4\n") };
	add_devices(result, options);
	add_fact(result, "cpu", "2 x Intel Xeon Platinum 8480+");
	add_fact(result, "memory", "2.0 TiB");
	add_fact(result, "os", "Debian GNU/Linux 12 (bookworm), Linux 6.1.0");
	add_fact(result, "driver", options->driver);
	add_fact(result, "cuda runtime", "13.0");
	add_setting(result, "run", "label", "lab node 7", "lab.ini:2");
	add_setting(result, "run", "seed", "7", "--seed");
	add_setting(result, "suite transfer", "sizes", "1KiB..512MiB *4", "quick.ini:9");
	add_setting(result, "suite transfer", "directions", "h2d, d2h, both, local, p2p, p2p_both",
		    "default");
	for (unsigned i = 0; i <= options->repeat; i++) {
		transfer_suite(&s);
		alloc_suite(&s);
	}
	matmul_suite(&s);
	parallel_suite(&s);
	result->planned = result->case_count;
}
