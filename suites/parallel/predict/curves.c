#include "suites/parallel/predict/curves.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void curve_add(struct curve *curve, double x, double seconds)
{
	size_t i = curve->count;

	if (!(x > 0 && seconds > 0) || curve->count == CURVE_POINTS)
		return;
	for (size_t k = 0; k < curve->count; k++)
		if (curve->x[k] == x) {
			curve->seconds[k] = fmin(curve->seconds[k], seconds);
			return;
		}
	for (; i > 0 && curve->x[i - 1] > x; i--) {
		curve->x[i] = curve->x[i - 1];
		curve->seconds[i] = curve->seconds[i - 1];
	}
	curve->x[i] = x;
	curve->seconds[i] = seconds;
	curve->count++;
}

/* The least seconds per byte or operation of a curve. */
static double least_each(const struct curve *curve)
{
	double least = INFINITY;

	for (size_t i = 0; i < curve->count; i++)
		least = fmin(least, curve->seconds[i] / curve->x[i]);
	return least;
}

/*
 * Below the smallest: what that took beyond its size at the highest rate is what any size takes. So
 * a product of milliseconds shrinks with its operations, and one of microseconds hardly at all.
 */
static double curve_below(const struct curve *curve, double x)
{
	return curve->seconds[0] - (curve->x[0] - x) * least_each(curve);
}

double curve_at(const struct curve *curve, double x)
{
	size_t last = curve->count - 1, i = 0;
	double position;

	if (curve->count == 0)
		return NAN;
	if (x <= curve->x[0])
		return curve_below(curve, x);
	if (x >= curve->x[last])
		return curve->seconds[last] * x / curve->x[last];
	while (curve->x[i + 1] < x)
		i++;
	position = log(x / curve->x[i]) / log(curve->x[i + 1] / curve->x[i]);
	return curve->seconds[i] * pow(curve->seconds[i + 1] / curve->seconds[i], position);
}

double curve_between(const struct curve *curve, double x)
{
	size_t last = curve->count - 1, i = 0;

	if (curve->count == 0 || x <= curve->x[0] || x >= curve->x[last])
		return curve_at(curve, x);
	while (curve->x[i + 1] < x)
		i++;
	return curve->seconds[i] + (curve->seconds[i + 1] - curve->seconds[i]) * (x - curve->x[i]) /
					   (curve->x[i + 1] - curve->x[i]);
}

void curves_open(struct curves *c, const struct result *result, const char *device,
		 const char *precision)
{
	*c = (struct curves){ .result = result,
			      .device = device,
			      .precision = precision,
			      .transport = "auto",
			      .messages = "auto" };
}

static bool is(const struct case_result *c, const char *name, const char *text)
{
	const struct case_parameter *p = case_parameter(c, name);

	return p && strcmp(p->text, text) == 0;
}

/* A case of that suite on the first device that counts. */
static bool usable(const struct curves *curves, const struct case_result *c, const char *suite)
{
	return c->status == CASE_OK && strcmp(c->suite, suite) == 0 &&
	       strcmp(c->device, curves->device) == 0;
}

static double lacking(struct curves *c, const char *format, ...)
{
	size_t length = strlen(c->missing);
	char what[96];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(what, sizeof(what), format, arguments);
	va_end(arguments);
	if (!strstr(c->missing, what))
		snprintf(c->missing + length, sizeof(c->missing) - length, "%s%s",
			 length ? "; " : "", what);
	return NAN;
}

/* "4096" is a cube, "8192x1024x4096" is m x n x k. */
static bool shape_of(const struct case_result *c, double *shape)
{
	const struct case_parameter *size = case_parameter(c, "size");

	if (!size)
		return false;
	if (sscanf(size->text, "%lfx%lfx%lf", &shape[0], &shape[1], &shape[2]) == 3)
		return true;
	if (sscanf(size->text, "%lf", &shape[0]) != 1)
		return false;
	shape[1] = shape[2] = shape[0];
	return true;
}

/* The step's products are the library's choice or, where it searched, the fastest it offers. */
static bool is_library(const struct case_result *c)
{
	return is(c, "implementation", "blas") || is(c, "implementation", "lt");
}

/*
 * The products of one kind over their operations. `exact` (NULL: none) gets the seconds of the
 * product of this very shape, 0 where it was not measured: slim products take longer than their
 * operations say.
 */
static void products(const struct curves *curves, const char *transposes, const double *wanted,
		     double *exact, struct curve *out)
{
	*out = (struct curve){ 0 };
	for (size_t i = 0; i < curves->result->case_count; i++) {
		const struct case_result *c = &curves->result->cases[i];
		const struct metric_value *rate = case_metric(c, "matmul.throughput");
		double shape[3], seconds;

		if (!usable(curves, c, "matmul") || !rate || !shape_of(c, shape) ||
		    !is(c, "precision", curves->precision) || !is_library(c) ||
		    !is(c, "transpose", transposes) || !is(c, "batch", "1") || !is(c, "scale", "1"))
			continue;
		seconds = 2 * shape[0] * shape[1] * shape[2] / rate->value;
		curve_add(out, 2 * shape[0] * shape[1] * shape[2], seconds);
		if (exact && memcmp(shape, wanted, sizeof(shape)) == 0)
			*exact = *exact > 0 ? fmin(*exact, seconds) : seconds;
	}
}

/* Reads two arrays and writes one. */
static void memory_curve(const struct curves *curves, struct curve *out)
{
	*out = (struct curve){ 0 };
	for (size_t i = 0; i < curves->result->case_count; i++) {
		const struct case_result *c = &curves->result->cases[i];
		const struct metric_value *rate = case_metric(c, "stream.bandwidth");
		const struct case_parameter *size = case_parameter(c, "size");

		if (usable(curves, c, "stream") && rate && size && is(c, "operation", "triad") &&
		    is(c, "precision", "fp32"))
			curve_add(out, 3 * size->number, 3 * size->number / rate->value);
	}
}

double curves_memory(struct curves *curves, double bytes)
{
	struct curve curve;

	if (curves->rates.memory > 0)
		return bytes / curves->rates.memory;
	memory_curve(curves, &curve);
	return curve.count ? curve_at(&curve, bytes)
			   : lacking(curves, "memory (suite stream: triad in fp32)");
}

static double element_bytes(const struct curves *c)
{
	if (strcmp(c->precision, "fp64") == 0)
		return 8;
	return strcmp(c->precision, "fp16") == 0 || strcmp(c->precision, "bf16") == 0 ? 2 : 4;
}

/*
 * Reading its operands and writing its result, at the highest rate that was measured. 0: unknown.
 */
static double moving(const struct curves *c, double m, double n, double k)
{
	double bytes = (m * k + k * n + m * n) * element_bytes(c);
	struct curve curve;

	memory_curve(c, &curve);
	return curve.count ? bytes * least_each(&curve) : 0;
}

/*
 * As many operations take what they take at the highest rate, and a rest: of filling the device and
 * emptying it. Memory that moves the operands of a slim product takes longer than the operations,
 * and the rest remains.
 */
double curves_product(struct curves *c, const char *transposes, double m, double n, double k)
{
	const double shape[3] = { m, n, k };
	double exact = 0, operations = 2 * m * n * k, fastest;
	struct curve curve;

	if (c->rates.flops > 0)
		return operations / c->rates.flops;
	products(c, transposes, shape, &exact, &curve);
	if (curve.count == 0)
		products(c, "nn", shape, &exact, &curve);
	if (curve.count == 0)
		return lacking(c, "products in %s (suite matmul)", c->precision);
	fastest = operations * least_each(&curve);
	return exact > 0 ? exact
			 : curve_at(&curve, operations) + fmax(moving(c, m, n, k) - fastest, 0);
}

static double parameter(const struct case_result *c, const char *name)
{
	const struct case_parameter *p = case_parameter(c, name);

	return p ? p->number : NAN;
}

double curves_attention(struct curves *c, bool forward, double head_size, double sequence,
			double operations)
{
	double nearest = INFINITY, rate = NAN;

	if (c->rates.flops > 0)
		return operations / c->rates.flops;
	for (size_t i = 0; i < c->result->case_count; i++) {
		const struct case_result *k = &c->result->cases[i];
		const struct metric_value *throughput = case_metric(k, "attention.throughput");
		double away = fabs(log(parameter(k, "head_size") / head_size)) +
			      fabs(log(parameter(k, "sequence") / sequence));

		if (!usable(c, k, "attention") || !throughput ||
		    !is(k, "implementation", "fused") ||
		    !is(k, "pass", forward ? "forward" : "backward") || !is(k, "mask", "causal") ||
		    !is(k, "precision",
			strcmp(c->precision, "tf32") == 0 ? "fp32" : c->precision) ||
		    !(away < nearest))
			continue;
		nearest = away;
		rate = throughput->value;
	}
	return rate > 0 ? operations / rate
			: lacking(c, "attention in %s (suite attention)", c->precision);
}

double curves_convolution(struct curves *c, const char *pass, bool depthwise, double operations)
{
	const char *kind = depthwise ? "depthwise" : "plain", *precision = c->precision;
	struct curve curve = { 0 };

	if (c->rates.flops > 0)
		return operations / c->rates.flops;
	for (size_t i = 0; i < c->result->case_count; i++) {
		const struct case_result *k = &c->result->cases[i];
		const struct metric_value *time = case_metric(k, "convolution.time"),
					  *rate = case_metric(k, "convolution.throughput");

		if (usable(c, k, "convolution") && time && rate && is(k, "pass", pass) &&
		    is(k, "kind", kind) && is(k, "precision", precision))
			curve_add(&curve, time->value * rate->value, time->value);
	}
	return curve.count ? curve_at(&curve, operations)
			   : lacking(c, "%s convolutions' %s in %s (suite convolution)", kind, pass,
				     precision);
}

static double factor_of(const char *operation, int ranks)
{
	double n = ranks;

	if (strcmp(operation, "all_reduce") == 0)
		return 2 * (n - 1) / n;
	return strcmp(operation, "all_gather") == 0 || strcmp(operation, "reduce_scatter") == 0
		       ? (n - 1) / n
		       : 1;
}

/* Collectives without the parameter used the default transport. */
static bool goes_over(const struct case_result *c, const char *transport)
{
	return case_parameter(c, "transport") ? is(c, "transport", transport)
					      : strcmp(transport, "auto") == 0;
}

/* Time never falls with size: a smaller tensor that took longer than a larger one was disturbed. */
static void collectives(const struct curves *curves, const char *transport, const char *operation,
			int ranks, struct curve *out)
{
	*out = (struct curve){ 0 };
	for (size_t i = 0; i < curves->result->case_count; i++) {
		const struct case_result *c = &curves->result->cases[i];
		const struct metric_value *time = case_metric(c, "collective.time");
		const struct case_parameter *size = case_parameter(c, "size");

		if (usable(curves, c, "collective") && time && size &&
		    c->device_count == (size_t)ranks && is(c, "operation", operation) &&
		    goes_over(c, transport))
			curve_add(out, size->number, time->value);
	}
	for (size_t i = out->count; i-- > 1;)
		out->seconds[i - 1] = fmin(out->seconds[i - 1], out->seconds[i]);
}

double curves_collective(struct curves *c, const char *operation, int ranks, double bytes)
{
	struct curve curve;

	if (ranks < 2)
		return 0;
	if (c->rates.bus > 0)
		return c->rates.latency + factor_of(operation, ranks) * bytes / c->rates.bus;
	collectives(c, c->transport, operation, ranks, &curve);
	if (curve.count > 0)
		return curve_between(&curve, bytes);
	return strcmp(c->transport, "auto") == 0
		       ? lacking(c, "%s of %d devices (suite collective)", operation, ranks)
		       : lacking(c, "%s of %d devices over %s (suite collective)", operation, ranks,
				 c->transport);
}

double curves_latency(struct curves *c, const char *operation, int ranks)
{
	return c->rates.bus > 0 ? 0 : curves_collective(c, operation, ranks, 0);
}

/* Seconds of an operation of suite launch; NaN: not measured. */
static double launched(const struct curves *c, const char *operation)
{
	for (size_t i = 0; i < c->result->case_count; i++) {
		const struct case_result *k = &c->result->cases[i];
		const struct metric_value *time = case_metric(k, "launch.time");

		if (usable(c, k, "launch") && time && is(k, "operation", operation))
			return time->value;
	}
	return NAN;
}

double curves_event_record(struct curves *c)
{
	double event_record = launched(c, "record") - launched(c, "back_to_back");

	return c->rates.bus <= 0 && event_record > 0 ? event_record : 0;
}

double curves_stream_wait(struct curves *c)
{
	double stream_wait = launched(c, "handover") - launched(c, "back_to_back");

	return c->rates.bus > 0 || isnan(stream_wait) ? NAN : fmax(stream_wait, 0);
}

double curves_message(struct curves *c, double bytes)
{
	struct curve curve;

	collectives(c, c->messages, "send_recv", 2, &curve);
	return curve.count && c->rates.bus <= 0 ? curve_between(&curve, bytes)
						: curves_collective(c, "send_recv", 2, bytes);
}

double curves_flops(struct curves *c)
{
	struct curve curve;
	double best = NAN;

	if (c->rates.flops > 0)
		return c->rates.flops;
	products(c, "nn", NULL, NULL, &curve);
	for (size_t i = 0; i < curve.count; i++)
		best = fmax(best, curve.x[i] / curve.seconds[i]);
	return best;
}

double curves_bus(struct curves *c, int ranks)
{
	struct curve curve;
	double best = NAN;

	if (c->rates.bus > 0)
		return c->rates.bus;
	collectives(c, c->transport, "all_reduce", ranks, &curve);
	for (size_t i = 0; i < curve.count; i++)
		best = fmax(best, factor_of("all_reduce", ranks) * curve.x[i] / curve.seconds[i]);
	return best;
}
