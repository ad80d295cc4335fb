/*
 * dcgmi diag -j: verdicts of NVIDIA's diagnostics, one case per test and GPU. DCGM 4 has entities
 * and a summary of each test. Earlier versions have gpu_id or gpu_ids.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/reading.h"

/* The serial number of an entity; "" before DCGM 4. */
static const char *dcgm_serial_of(const json_t *root, const char *group, int number)
{
	const json_t *groups = json_object_get(root, "entity_groups");

	for (size_t g = 0; g < json_array_size(groups); g++) {
		const json_t *one = json_array_get(groups, g);
		const json_t *entities = json_object_get(one, "entities");

		if (strcmp(import_json_string(one, "entity_group"), group) != 0)
			continue;
		for (size_t i = 0; i < json_array_size(entities); i++) {
			const json_t *e = json_array_get(entities, i);

			if (import_json_figure(json_object_get(e, "entity_id")) == number)
				return import_json_string(e, "serial_num");
		}
	}
	return "";
}

static size_t dcgm_device(struct import *import, const char *group, int number)
{
	bool gpu = strcmp(group, "GPU") == 0;
	const struct import_device device = { .backend = gpu ? "cuda" : "host",
					      .number = number,
					      .name = gpu ? "" : "CPU",
					      .serial =
						      dcgm_serial_of(import->root, group, number) };

	return building_device(import, &device);
}

/* Devices of a result: an entity, "gpu_id": "0", or "gpu_ids": "0,1". Without any, the host. */
static size_t find_dcgm_devices(struct import *import, const json_t *result, size_t *devices,
				size_t most)
{
	double entity = import_json_figure(json_object_get(result, "entity_id"));
	const char *group = import_json_string(result, "entity_group");
	const char *ids = import_json_string(result, "gpu_ids");
	size_t count = 0;

	ids = *ids ? ids : import_json_string(result, "gpu_id");
	if (entity >= 0 && entity < 4096)
		devices[count++] = dcgm_device(import, *group ? group : "GPU", (int)entity);
	while (isdigit((unsigned char)*ids) && count < most) {
		devices[count++] = dcgm_device(import, "GPU", atoi(ids) % 4096);
		ids += strspn(ids, "0123456789");
		ids += strspn(ids, ", ");
	}
	if (!count)
		devices[count++] = dcgm_device(import, "CPU", 0);
	return count;
}

/* Text of a warning: a string or an object with "warning", alone or in a list. */
static const char *dcgm_words(const json_t *json)
{
	const char *words = json_string_value(json);

	if (json_is_array(json))
		return json_array_size(json) ? dcgm_words(json_array_get(json, 0)) : "";
	if (json_is_object(json))
		words = import_json_string(json, "warning");
	return words ? words : "";
}

static void add_dcgm_case(struct import *import, const char *test, const json_t *result,
			  const char *status)
{
	size_t devices[64], count = find_dcgm_devices(import, result, devices, ARRAY_SIZE(devices));
	struct case_result *c =
		building_case(import, "dcgm", devices, count, PARAMETERS(WORD("test", test)));
	const char *words = dcgm_words(json_object_get(result, "warnings"));
	const char *info = dcgm_words(json_object_get(result, "info"));

	if (*words && *info)
		building_left_out(import, "additional information of tests");
	words = *words ? words : info;
	if (strcasecmp(status, "pass") == 0)
		case_result_note(c, words);
	else if (strcasecmp(status, "skip") == 0 || strcasecmp(status, "not run") == 0)
		import_skipped(c, *words ? words : "DCGM skipped this test");
	else if (strcasecmp(status, "fail") == 0 || strcasecmp(status, "warn") == 0)
		import_failed(c, "DCGM reports %s%s%s", status, *words ? ": " : "", words);
	else
		import_broken(c, "DCGM reports %s%s%s", status, *words ? ": " : "", words);
}

/* If no result of the test explains its summary, the summary becomes a case of the host. */
static void read_dcgm_test(struct import *import, const json_t *test)
{
	const char *name = import_json_string(test, "name");
	const json_t *list = json_object_get(test, "results");
	const json_t *summary = json_object_get(test, "test_summary");
	const char *verdict = import_json_string(summary, "status");
	bool explained = !*verdict || strcasecmp(verdict, "pass") == 0;

	if (!*name)
		import_json_error(import, test, NULL, "'name' is missing");
	for (size_t i = 0; !building_stopped(import) && i < json_array_size(list); i++) {
		const json_t *result = json_array_get(list, i);
		const char *status;

		if (!json_is_object(result))
			import_json_item_error(import, list, i, "expected an object");
		else if (import_json_member(import, result, "status", JSON_STRING)) {
			status = import_json_string(result, "status");
			explained |= strcasecmp(status, "pass") != 0;
			add_dcgm_case(import, name, result, status);
		}
	}
	if (!explained && !building_stopped(import))
		add_dcgm_case(import, name, summary, verdict);
}

static void read_dcgm_category(struct import *import, const json_t *category)
{
	import_json_each(import, json_object_get(category, "tests"), read_dcgm_test);
}

static void read_dcgm_root(struct import *import, const json_t *json)
{
	const char *top = json_object_get(json, "DCGM Diagnostic") ? "DCGM Diagnostic"
								   : "DCGM GPU Diagnostic";
	const json_t *root = import_json_member(import, json, top, JSON_OBJECT);
	const json_t *meta = json_object_get(json, "metadata");
	const char *error = import_json_string(root, "runtime_error"), *version;
	const json_t *list = json_object_get(root, "test_categories");
	json_t *words;

	if (!root)
		return;
	meta = meta ? meta : root;
	version = import_json_string(meta, "version");
	building_tool(import, "dcgmi diag%s%.20s", *version ? " " : "", version);
	building_fact(import, "driver", import_json_string(meta, "Driver Version Detected"));
	if (!list && !*error)
		import_json_error(import, root, NULL, "'test_categories' is missing");
	import_json_each(import, list, read_dcgm_category);
	if (!*error)
		return;
	words = json_pack("{s:s}", "warnings", error);
	add_dcgm_case(import, "diagnostic", words, "Error");
	json_decref(words);
}

const struct import_format import_dcgm = {
	.name = "dcgm-diag",
	.summary = "dcgmi diag -r 3 -j > FILE",
	.marks = { "\"DCGM Diagnostic\"", "\"DCGM GPU Diagnostic\"" },
	.silent = "measured values, names of GPUs, host, start time",
	.read_json = read_dcgm_root,
};
