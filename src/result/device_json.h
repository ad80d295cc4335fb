/*
 * Converts the probe's findings to single-line JSON and back: devices, facts about the environment,
 * components and findings. Readers zero their target first and leave it empty on failure;
 * fact_release() frees a fact.
 */
#ifndef GPUPROOF_RESULT_DEVICE_JSON_H
#define GPUPROOF_RESULT_DEVICE_JSON_H

#include <stddef.h>

#include "base/error.h"
#include "result/result.h"

char *device_info_to_json(const struct device_info *device);
enum status device_info_from_json(struct device_info *device, const char *text, size_t length,
				  struct error *err);

char *fact_to_json(const struct fact *fact);
enum status fact_from_json(struct fact *fact, const char *text, size_t length, struct error *err);
void fact_release(struct fact *fact);

char *component_to_json(const struct component *component);
enum status component_from_json(struct component *component, const char *text, size_t length,
				struct error *err);

char *finding_to_json(const struct finding *finding);
enum status finding_from_json(struct finding *finding, const char *text, size_t length,
			      struct error *err);

#endif
