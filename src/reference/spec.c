#include "reference/spec.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "reference/derived.h"
#include "reference/gpu.h"

const struct embedded_file *spec_file(const char *device_name)
{
	const struct gpu *gpu = gpus_by_device(device_name);

	/* Some models have published figures only. */
	return gpu && !isnan(gpu_figure(gpu, "memory_bandwidth")) ? gpu->file : NULL;
}

bool spec_of_name(const char *device_name, const char *key, double *value, const char **status)
{
	const struct gpu *gpu = gpus_by_device(device_name);
	const struct sheet_entry *entry = gpu ? gpu_entry(gpu, key) : NULL;

	if (!entry || !entry->unit)
		return false;
	*value = entry->value;
	*status = gpu_read_sheet_status_name(entry->status);
	return true;
}

bool spec_lookup(const struct device_info *device, const char *key, double *value,
		 const char **status)
{
	if (spec_of_name(device->name, key, value, status))
		return true;
	*status = "device";
	return reference_derived_figure(device, key, value, NULL);
}

char *spec_words(const struct device_info *device, const char *key)
{
	struct text words = TEXT_EMPTY;
	const char *status;
	double value;

	if (spec_of_name(device->name, key, &value, &status)) {
		text_addf(&words, "data sheet (%s)", status);
	} else {
		text_add(&words, "computed from the driver's report: ");
		reference_derived_figure(device, key, &value, &words);
	}
	return text_detach(&words);
}

bool spec_peak(const struct sheet_row *rows, const struct case_result *c, const char *metric,
	       const struct device_info *device, struct spec_peak *peak)
{
	const struct sheet_row *row = quantity_sheet_row_of_case(rows, c, metric, device);
	const struct quantity quantity = row ? quantity_of_row(row) : (struct quantity){ 0 };
	const char *status;

	for (size_t i = 0; i < ARRAY_SIZE(quantity.peak) && quantity.peak[i]; i++) {
		if (!spec_lookup(device, quantity.peak[i], &peak->figure, &status))
			continue;
		peak->key = quantity.peak[i];
		peak->most =
			peak->figure * quantity.peak_factor / (row->factor > 0 ? row->factor : 1);
		return true;
	}
	return false;
}
