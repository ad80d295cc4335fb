/* The words of suites as people read them: parameters, metrics, directions, statuses. */
#include "report/view/format.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"

bool format_is_share(const char *metric)
{
	static const char *const names[] = {
		"parallel.efficiency",	     "parallel.weak_efficiency", "parallel.overlap",
		"parallel.idle",	     "parallel.added_work",	 "parallel.bubble",
		"parallel.compute_inflation", "parallel.bubble_model",	 "parallel.bubble_schedule",
		"parallel.prediction_error", "parallel.mfu",		 "parallel.hfu",
		"trainmem.saved",
		"trainmem.activations_saved", "trainmem.fragmentation",	 "trainmem.accounted",
		"alloc.external_frag",	     "burn.found",		 "selftest.found",
		"selftest.detected",	     "selftest.false_alarms",	 "selftest.clock_error",
		"selftest.slowdown",	     "selftest.telemetry_effect",
	};

	if (text_ends_with(metric, "_share"))
		return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(metric, names[i]) == 0)
			return true;
	return false;
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
	{ "direction", "both", "host and device, bidirectional" },
	{ "direction", "local", "within the device" },
	{ "direction", "p2p", "device to device" },
	{ "direction", "p2p_both", "between devices, bidirectional" },
	{ "direction", "p2p_read", "device to device, read" },
	{ "direction", "p2p_read_both", "between devices, bidirectional, read" },
	{ "direction", "h2d_all", "host to all devices together" },
	{ "direction", "d2h_all", "all devices to the host together" },
	{ "direction", "both_all", "host and all devices, both directions together" },
	{ "direction", "host_to_all", "host to one of all busy devices" },
	{ "direction", "all_to_host", "one of all busy devices to the host" },
	{ "direction", "host_to_all_both", "host to one of all devices busy in both directions" },
	{ "direction", "all_to_host_both", "one of all devices busy in both directions to the host" },
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
	{ "overlap", "off", "without overlap" },
	{ "offload", "none", "nothing offloaded" },
	{ "offload", "host", "outputs offloaded to the host" },
	{ "losses", "host", "losses fetched by the host" },
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
 * "4 devices", "batch 256", "bucket 25 MiB": numbers other than sizes need their name.
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

/* "4096×4096×128" of "4096x4096x128"; "" where the text is no shape. */
static char *format_shape(const char *text, char *out, size_t size)
{
	struct text shape = TEXT_EMPTY;
	size_t digits = strspn(text, "0123456789"), sides = 0;

	for (; digits; digits = *text == 'x' ? strspn(++text, "0123456789") : 0) {
		text_addf(&shape, "%s%.*s", sides++ ? "×" : "", (int)digits, text);
		text += digits;
	}
	snprintf(out, size, "%s", sides > 1 && !*text ? shape.data : "");
	text_release(&shape);
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
	if (strcmp(name, "fill") == 0) {
		snprintf(out, size, "card %.20s full", value);
		return out;
	}
	if (format_shape(value, out, size)[0])
		return out;
	if (needs_name(name, value, parameter->unit))
		return format_named(parameter, out, size);
	format_spaced(value, out, size);
	for (char *p = out; *p; p++)
		if (*p == '_')
			*p = ' ';
	return out;
}

/* Names of metrics that are no words. */
static const struct {
	const char *name, *words;
} metrics[] = {
	{ "algbw", "algorithm bandwidth" },
	{ "busbw", "bus bandwidth" },
	{ "speedup", "speed-up" },
	{ "external_frag", "external fragmentation" },
	{ "bandwidth_h2d", "bandwidth from host to device" },
	{ "bandwidth_d2h", "bandwidth from device to host" },
	{ "time_h2d", "time from host to device" },
	{ "time_d2h", "time from device to host" },
	{ "mfu", "MFU" },
	{ "hfu", "HFU" },
};

char *format_metric(const char *name, char *out, size_t size)
{
	const char *dot = strchr(name, '.');

	name = dot ? dot + 1 : name;
	for (size_t i = 0; i < ARRAY_SIZE(metrics); i++)
		if (strcmp(metrics[i].name, name) == 0)
			name = metrics[i].words;
	snprintf(out, size, "%s", name);
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
