#include "report/format.h"

#include <ctype.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "base/units.h"

#define NOTHING "\u2013"

/* "3.1×10⁻⁷" of "3.1e-07". */
static void format_power(const char *plain, char *out, size_t size)
{
	static const char *const digits[] = { "⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹" };
	const char *e = plain + strspn(plain, "-.0123456789");
	const char *p = e + 1;
	struct text t = TEXT_EMPTY;

	if (*e != 'e') { /* the end, or a unit */
		snprintf(out, size, "%s", plain);
		return;
	}
	if (e != plain + 1 || *plain != '1') {
		text_add_bytes(&t, plain, (size_t)(e - plain));
		text_add(&t, "×");
	}
	text_addf(&t, "10%s", *p == '-' ? "⁻" : "");
	p += *p == '-' || *p == '+';
	p += *p == '0' && p[1] != '\0' && isdigit((unsigned char)p[1]);
	for (; isdigit((unsigned char)*p); p++)
		text_add(&t, digits[*p - '0']);
	text_add(&t, p); /* a unit */
	snprintf(out, size, "%s", t.data);
	text_release(&t);
}

char *format_short(double value, double factor, char *out, size_t size)
{
	char plain[FORMAT_SIZE];

	snprintf(plain, sizeof(plain), "%.6g", value / factor + 0.0);
	format_power(plain, out, size);
	return out;
}

char *format_quantity(double value, const char *unit, char *out, size_t size)
{
	char plain[FORMAT_SIZE];
	const char *prefix, *micro;

	if (isnan(value)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (strcmp(unit, "%") == 0) {
		/* Three digits: percent are parts of something, which has its own. */
		snprintf(out, size, "%.*f\u00a0%%", value == 0 ? 0 : fabs(value) < 9.995 ? 2 : fabs(value) < 99.95 ? 1 : 0, value);
		return out;
	}
	units_format(value, unit, plain, sizeof(plain));
	units_prefix(value, unit, &prefix);
	micro = strcmp(prefix, "u") == 0 ? strchr(plain, 'u') : NULL;
	if (micro)
		snprintf(out, size, "%.*sµ%s", (int)(micro - plain), plain, micro + 1);
	else
		format_power(plain, out, size);
	return out;
}

bool format_is_share(const char *metric)
{
	static const char *const names[] = {
		"parallel.efficiency",	     "parallel.weak_efficiency", "parallel.overlap",
		"parallel.idle",	     "parallel.added_work",	 "parallel.bubble",
		"parallel.compute_inflation", "parallel.bubble_model",	 "parallel.prediction_error",
		"parallel.mfu",		     "parallel.hfu",		 "trainmem.saved",
		"trainmem.activations_saved", "trainmem.fragmentation",	 "trainmem.accounted",
	};

	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(metric, names[i]) == 0)
			return true;
	return false;
}

char *format_value(const struct metric_value *m, char *out, size_t size)
{
	const char *unit = m && m->unit ? m->unit : "";

	if (!m || !isfinite(m->value))
		return format_quantity(NAN, unit, out, size);
	if (m->name && format_is_share(m->name))
		return format_quantity(100 * m->value, "%", out, size);
	/* A single reading that is whole is a count: it has no digits behind the point. */
	if (strcmp(unit, "1") == 0 && !isfinite(m->low) && m->value == floor(m->value) &&
	    fabs(m->value) < 1e7) {
		snprintf(out, size, "%.0f", m->value);
		return out;
	}
	return format_quantity(m->value, unit, out, size);
}

char *format_rounded(double value, const char *unit, char *out, size_t size)
{
	char digits[32], name[FORMAT_SIZE];
	double rounded, factor, shown;
	int leading;

	if (!isfinite(value))
		return format_quantity(value, unit, out, size);
	snprintf(digits, sizeof(digits), "%.2e", value);
	rounded = strtod(digits, NULL);
	factor = format_unit(rounded, unit, name, sizeof(name));
	shown = rounded / factor;
	leading = shown == 0 ? 2 : (int)floor(log10(fabs(shown)) + 1e-9);
	snprintf(out, size, "%.*f %s", leading < 2 ? 2 - leading : 0, shown, name);
	return out;
}

double format_unit(double value, const char *unit, char *out, size_t size)
{
	const char *prefix;
	double factor = units_prefix(value, unit, &prefix);

	snprintf(out, size, "%s%s", strcmp(prefix, "u") == 0 ? "µ" : prefix,
		 strcmp(unit, "1") == 0 ? "" : unit);
	return factor;
}

char *format_scaled(double value, double factor, char *out, size_t size)
{
	double shown = value / factor;
	int leading, digits;

	if (isnan(value)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (shown != 0 && (fabs(shown) < 1e-3 || fabs(shown) >= 1e7)) {
		char plain[FORMAT_SIZE];

		snprintf(plain, sizeof(plain), "%.3e", shown);
		format_power(plain, out, size);
		return out;
	}
	leading = shown == 0 ? 0 : (int)floor(log10(fabs(shown)) + 1e-5);
	digits = shown == 0 || leading > 3 ? 0 : 3 - leading;
	snprintf(out, size, "%.*f", digits, shown);
	return out;
}

char *format_interval(const struct metric_value *m, char *out, size_t size)
{
	char low[FORMAT_SIZE], high[FORMAT_SIZE];
	const char *prefix;
	double factor = units_prefix(m->value, m->unit, &prefix);

	if (!isfinite(m->low) || !isfinite(m->high))
		snprintf(out, size, "%s", "");
	else
		snprintf(out, size, "[%s, %s]", format_scaled(m->low, factor, low, sizeof(low)),
			 format_scaled(m->high, factor, high, sizeof(high)));
	return out;
}

char *format_percent(double ratio, char *out, size_t size)
{
	double percent = 100 * ratio;

	if (!isfinite(percent))
		snprintf(out, size, NOTHING);
	else
		snprintf(out, size, "%.*f\u00a0%%",
			 fabs(percent) < 1    ? 2
			 : fabs(percent) < 10 ? 1
					      : 0,
			 percent);
	return out;
}

char *format_spread(double value, double low, double high, char *out, size_t size)
{
	char percent[FORMAT_SIZE];
	double half = fmax(high - value, value - low);

	if (!isfinite(low) || !isfinite(high) || value == 0)
		snprintf(out, size, "%s", "");
	else
		snprintf(out, size, "±%s",
			 format_percent(half / fabs(value), percent, sizeof(percent)));
	return out;
}

char *format_ratio(double ratio, char *out, size_t size)
{
	char number[FORMAT_SIZE];

	if (!isfinite(ratio)) {
		snprintf(out, size, NOTHING);
		return out;
	}
	if (ratio >= 0.1 && ratio < 100)
		snprintf(number, sizeof(number), "%.*f", ratio < 10 ? 2 : 1, ratio);
	else
		format_scaled(ratio, 1, number, sizeof(number));
	snprintf(out, size, "%s×", number);
	return out;
}

char *format_seconds(double seconds, char *out, size_t size)
{
	long whole = isfinite(seconds) && seconds < 1e15 ? lround(seconds) : 0;

	if (!isfinite(seconds))
		snprintf(out, size, NOTHING);
	else if (seconds < 99.95)
		snprintf(out, size, "%.1f s", seconds);
	else if (whole < 3600)
		snprintf(out, size, "%ld min %ld s", whole / 60, whole % 60);
	else
		snprintf(out, size, "%ld h %ld min", whole / 3600, whole % 3600 / 60);
	return out;
}

char *format_spaced(const char *text, char *out, size_t size)
{
	size_t digits = strspn(text, "0123456789.");
	size_t letters = strspn(text + digits, "KMGTiB");

	if (digits && letters && !text[digits + letters])
		snprintf(out, size, "%.*s\u00a0%s", (int)digits, text, text + digits);
	else
		snprintf(out, size, "%s", text);
	return out;
}

/*
 * Words of suites that read badly as they are; every other value is shown with spaces for its
 * underscores.
 */
static const struct {
	const char *parameter, *value, *words;
} words[] = {
	{ "transport", "nccl", "over NCCL" },
	{ "transport", "shared_memory", "over shared memory" },
	{ "transport", "peer_copy", "by copies to the other device" },
	{ "transport", "host_copy", "by copies through the host" },
	{ "direction", "h2d", "host to device" },
	{ "direction", "d2h", "device to host" },
	{ "direction", "both", "host and device, both ways" },
	{ "direction", "local", "within the device" },
	{ "direction", "p2p", "device to device" },
	{ "direction", "p2p_both", "between devices, both ways" },
	{ "direction", "p2p_read", "device to device, read" },
	{ "direction", "p2p_read_both", "between devices, both ways, read" },
	{ "direction", "h2d_all", "host to all devices together" },
	{ "direction", "d2h_all", "all devices to the host together" },
	{ "direction", "both_all", "host and all devices, both ways together" },
	{ "direction", "host_to_all", "host to one of all busy devices" },
	{ "direction", "all_to_host", "one of all busy devices to the host" },
	{ "direction", "host_to_all_both", "host to one of all devices busy both ways" },
	{ "direction", "all_to_host_both", "one of all devices busy both ways to the host" },
	{ "direction", "all_to_one_write", "all devices write to one" },
	{ "direction", "all_to_one_read", "all devices read from one" },
	{ "direction", "one_to_all_write", "one device writes to all" },
	{ "direction", "one_to_all_read", "one device reads from all" },
	{ "direction", "latency_host", "loads from the host" },
	{ "direction", "latency_p2p", "loads from another device" },
	{ "direction", "latency_local", "loads from the device's own memory" },
	{ "direction", "p2p_pairs", "all devices in pairs at once" },
	{ "engine", "sm", "by kernel" },
	{ "access", "on", "peer access on" },
	{ "access", "off", "peer access off" },
	{ "precision", "fp64", "FP64" },
	{ "precision", "fp32", "FP32" },
	{ "precision", "tf32", "TF32" },
	{ "precision", "fp16", "FP16" },
	{ "precision", "bf16", "BF16" },
	{ "precision", "fp16_storage", "FP16 only" },
	{ "precision", "fp16_mixed", "FP16 mixed" },
	{ "precision", "bf16_mixed", "BF16 mixed" },
	{ "precision", "fp16_acc16", "FP16, FP16 sums" },
	{ "precision", "fp8", "FP8" },
	{ "precision", "int8", "INT8" },
	{ "implementation", "blas", "BLAS" },
	{ "implementation", "lt", "cuBLASLt by search" },
	{ "implementation", "simt", "own kernel, ordinary units" },
	{ "implementation", "half2", "own kernel, pairs" },
	{ "implementation", "tensor", "own kernel, tensor cores" },
	{ "unit", "fma", "multiply-add units" },
	{ "unit", "tensor", "tensor cores" },
	{ "unit", "roofline", "numbers from memory" },
	{ "allocator", "pool_release", "pool, threshold 0" },
	{ "allocator", "vmm", "virtual memory" },
	{ "allocator", "caching", "caching, PyTorch's rules" },
	{ "growth", "once", "all at once" },
	{ "growth", "copy", "by copying" },
	{ "growth", "double", "by copying, doubled" },
	{ "growth", "map", "by mapping" },
	{ "loading", "lazy", "lazy loading" },
	{ "loading", "eager", "eager loading" },
	{ "memory_limit", "none", "whole card" },
	{ "offload", "none", "nothing offloaded" },
	{ "offload", "host", "outputs offloaded to the host" },
	{ "segments", "0", "nothing computed again" },
	{ "accumulate", "1", "no accumulation" },
	{ "activation", "in_place", "ReLU in place" },
	{ "activation", "out_of_place", "ReLU out of place" },
	{ "optimizer", "adam", "Adam" },
	{ "optimizer", "sgd", "SGD" },
	{ "mode", "ddp", "DDP" },
	{ "mode", "gpipe", "GPipe" },
	{ "mode", "1f1b", "1F1B" },
	{ "mode", "1f1b_eager", "eager 1F1B" },
	{ "mode", "zero1", "ZeRO-1" },
	{ "mode", "zero2", "ZeRO-2" },
	{ "mode", "zero3", "ZeRO-3" },
	{ "mode", "dp_naive", "naive data parallel" },
};

/* "device" of "devices", "microbatch" of "microbatches". */
static void make_singular(char *name)
{
	size_t length = strlen(name);

	if (text_ends_with(name, "ches") || text_ends_with(name, "shes") ||
	    text_ends_with(name, "xes"))
		name[length - 2] = '\0';
	else if (text_ends_with(name, "s"))
		name[length - 1] = '\0';
}

/*
 * "4 devices", "batch 256", "bucket 25 MiB": a number needs to be told what it is, but for sizes.
 */
static char *format_named(const struct case_parameter *parameter, char *out, size_t size)
{
	char name[FORMAT_SIZE], value[FORMAT_SIZE];

	format_metric(parameter->name, name, sizeof(name));
	format_spaced(parameter->text, value, sizeof(value));
	if (!text_ends_with(name, "s")) {
		snprintf(out, size, "%.50s %.40s", name, value);
		return out;
	}
	if (strcmp(value, "1") == 0)
		make_singular(name);
	snprintf(out, size, "%.40s %.50s", value, name);
	return out;
}

static bool needs_name(const char *name, const char *value, const char *unit)
{
	if (value[strspn(value, "0123456789")] == '\0')
		return *name != '\0';
	return unit && strcmp(unit, "B") == 0 && *name && strcmp(name, "size") != 0;
}

char *format_parameter(const struct case_parameter *parameter, char *out, size_t size)
{
	const char *value = parameter->text ? parameter->text : "";
	const char *name = parameter->name ? parameter->name : "";

	*out = '\0';
	if (strcmp(value, "-") == 0 || !*value)
		return out;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (strcmp(words[i].parameter, name) == 0 && strcmp(words[i].value, value) == 0) {
			snprintf(out, size, "%s", words[i].words);
			return out;
		}
	}
	if (needs_name(name, value, parameter->unit))
		return format_named(parameter, out, size);
	format_spaced(value, out, size);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
}

char *format_metric(const char *name, char *out, size_t size)
{
	const char *dot = strchr(name, '.');

	snprintf(out, size, "%s", dot ? dot + 1 : name);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
}

void format_capital(char *s)
{
	if (*s >= 'a' && *s <= 'z')
		*s = (char)(*s - 'a' + 'A');
}

const char *format_better(enum better better)
{
	switch (better) {
	case BETTER_HIGHER:
		return "higher is better";
	case BETTER_LOWER:
		return "lower is better";
	case BETTER_NONE:
		break;
	}
	return "neither is better";
}

static const struct {
	const char *word, *symbol;
} statuses[] = {
	[CASE_OK] = { "OK", "✓" },
	[CASE_SKIPPED] = { "not run", "○" },
	[CASE_FAILED] = { "wrong result", "✗" },
	[CASE_ERROR] = { "error", "!" },
};

const char *format_status_word(enum case_status status)
{
	return statuses[status].word;
}

const char *format_status_symbol(enum case_status status)
{
	return statuses[status].symbol;
}

/* Bytes of the first `longest` characters. */
static size_t cut_at(const char *text, size_t longest)
{
	size_t at = 0;

	for (size_t characters = 0; text[at] && characters < longest; characters++) {
		at++;
		while (((unsigned char)text[at] & 0xc0) == 0x80)
			at++;
	}
	return at;
}

char *format_cut(const char *text, size_t longest)
{
	size_t at = cut_at(text, longest);

	if (!text[at])
		return xstrdup(text);
	return xasprintf("%.*s… (%zu bytes)", (int)at, text, strlen(text));
}

char *format_label(const char *text, size_t longest)
{
	size_t at = cut_at(text, longest);

	if (!text[at])
		return xstrdup(text);
	return xasprintf("%.*s…", (int)cut_at(text, longest - 1), text);
}
