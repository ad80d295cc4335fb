#include "base/former_names.h"

#include <string.h>

const struct former_name former_names[] = {
	{ NAME_KEY, "limit", "sisters", "outlier_margin" },
	{ NAME_KEY, "limit", "sisters_warn", "outlier_margin_warn" },
	{ NAME_KEY, "suite", "sisters", "identical_devices" },
	{ NAME_KEY, "suite", "plant", "inject" },
	{ NAME_METRIC, "", "burn.planted", "burn.injected" },
	{ NAME_METRIC, "", "node.accused", "node.suspect" },
	{ NAME_METRIC, "", "trainmem.refused_beside", "trainmem.refused_reserved" },
	{ NAME_METRIC, "", "trainmem.takes", "trainmem.allocations" },
	{ NAME_METRIC, "", "transfer.kept", "transfer.concurrent_share" },
	{ NAME_ASPECT, "", "products", "gemm" },
	{ NAME_OTHER, NULL, NULL, NULL },
};

const char *former_name_current(enum name_kind kind, const char *scope, const char *name)
{
	for (const struct former_name *f = former_names; f->former; f++)
		if (f->kind == kind && strcmp(f->scope, scope) == 0 && strcmp(f->former, name) == 0)
			return f->current;
	return name;
}

static const struct {
	const char *suite, *key;
} retired_keys[] = {
	{ "parallel", "fusion" },
	{ "parallel", "predict_bus" },
	{ "parallel", "predict_flops" },
	{ "parallel", "predict_latency" },
	{ "parallel", "predict_memory" },
	{ "parallel", "weight_gradient" },
	{ "stream", "cache" },
	{ "trainmem", "piece" },
	{ "trainmem", "search_tolerance" },
	{ "trainmem", "trial_time" },
	{ "transfer", "copy_kernel" },
};

bool former_names_key_is_retired(const char *suite, const char *key)
{
	for (size_t i = 0; i < sizeof(retired_keys) / sizeof(retired_keys[0]); i++)
		if ((!suite || strcmp(retired_keys[i].suite, suite) == 0) &&
		    strcmp(retired_keys[i].key, key) == 0)
			return true;
	return false;
}
