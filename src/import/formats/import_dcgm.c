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

struct dcgm {
	const json_t *groups; /* "entity_groups": serial numbers; NULL: before DCGM 4 */
};

static const char *serial_of(const struct dcgm *d, const char *group, int number)
{
	for (size_t g = 0; g < json_array_size(d->groups); g++) {
		const json_t *one = json_array_get(d->groups, g);
		const json_t *entities = json_object_get(one, "entities");

		if (strcmp(import_string(one, "entity_group"), group) != 0)
			continue;
		for (size_t i = 0; i < json_array_size(entities); i++) {
			const json_t *e = json_array_get(entities, i);

			if (import_figure(json_object_get(e, "entity_id")) == number)
				return import_string(e, "serial_num");
		}
	}
	return "";
}

static size_t dcgm_device(struct import *import, const struct dcgm *d, const char *group,
			  int number)
{
	bool gpu = strcmp(group, "GPU") == 0;
	const struct import_device device = { .backend = gpu ? "cuda" : "host",
					      .number = number,
					      .name = gpu ? "" : "CPU",
					      .serial = serial_of(d, group, number) };

	return import_device(import, &device);
}

/* Devices of a result: an entity, "gpu_id": "0", or "gpu_ids": "0,1". Without any, the host. */
static size_t find_dcgm_devices(struct import *import, const struct dcgm *d, const json_t *result,
				size_t *devices, size_t most)
{
	double entity = import_figure(json_object_get(result, "entity_id"));
	const char *group = import_string(result, "entity_group");
	const char *ids = import_string(result, "gpu_ids");
	size_t count = 0;

	ids = *ids ? ids : import_string(result, "gpu_id");
	if (entity >= 0 && entity < 4096)
		devices[count++] = dcgm_device(import, d, *group ? group : "GPU", (int)entity);
	while (!count || (*ids && count < most)) {
		if (!isdigit((unsigned char)*ids)) {
			if (!count)
				devices[count++] = dcgm_device(import, d, "CPU", 0);
			break;
		}
		devices[count++] = dcgm_device(import, d, "GPU", atoi(ids) % 4096);
		ids += strspn(ids, "0123456789");
		ids += strspn(ids, ", ");
	}
	return count;
}

/* Text of a warning: a string or an object with "warning", alone or in a list. */
static const char *dcgm_words(const json_t *json)
{
	const char *words = json_string_value(json);

	if (json_is_array(json))
		return json_array_size(json) ? dcgm_words(json_array_get(json, 0)) : "";
	if (json_is_object(json))
		words = import_string(json, "warning");
	return words ? words : "";
}

static enum status add_dcgm_case(struct import *import, const struct dcgm *d, const char *test,
				 const json_t *result, const char *status)
{
	size_t devices[64];
	size_t count = find_dcgm_devices(import, d, result, devices, ARRAY_SIZE(devices));
	struct case_result *c = import_case(import, 1, "dcgm", devices, count, WORDS("test", test));
	const char *words;

	if (!c)
		return STATUS_USAGE;
	c = import_named(import, c);
	words = dcgm_words(json_object_get(result, "warnings"));
	if (!*words)
		words = dcgm_words(json_object_get(result, "info"));
	else if (*dcgm_words(json_object_get(result, "info")))
		import_left_out(import, "info of tests");
	if (strcasecmp(status, "pass") == 0)
		case_result_note(c, words);
	else if (strcasecmp(status, "skip") == 0 || strcasecmp(status, "not run") == 0)
		import_skipped(c, *words ? words : "DCGM skipped it");
	else if (strcasecmp(status, "fail") == 0 || strcasecmp(status, "warn") == 0)
		import_failed(c, "DCGM says %s%s%s", status, *words ? ": " : "", words);
	else
		import_broken(c, "DCGM says %s%s%s", status, *words ? ": " : "", words);
	return STATUS_OK;
}

/* If no result of the test explains its summary, the summary becomes a case of the host. */
static enum status dcgm_read_summary(struct import *import, const struct dcgm *d,
				     const json_t *test, const char *name, bool explained)
{
	const json_t *summary = json_object_get(test, "test_summary");
	const char *status = import_string(summary, "status");

	if (!*status || explained || strcasecmp(status, "pass") == 0)
		return STATUS_OK;
	return add_dcgm_case(import, d, name, summary, status);
}

static enum status read_dcgm_test(struct import *import, void *d, const json_t *test,
				  const struct json_path *path)
{
	const char *name = import_string(test, "name");
	const json_t *list = json_object_get(test, "results");
	enum status status = STATUS_OK;
	bool explained = false;

	if (!*name)
		return import_json_error(import, path, "'name' is missing");
	for (size_t i = 0; status == STATUS_OK && i < json_array_size(list); i++) {
		const json_t *result = json_array_get(list, i);
		const json_t *word = import_member(import, result, NTH(AT(path, "results"), i),
						   "status", JSON_STRING);

		if (!word)
			return STATUS_USAGE;
		explained |= strcasecmp(json_string_value(word), "pass") != 0;
		status = add_dcgm_case(import, d, name, result, json_string_value(word));
	}
	return status == STATUS_OK ? dcgm_read_summary(import, d, test, name, explained) : status;
}

static enum status read_dcgm_category(struct import *import, void *d, const json_t *category,
				      const struct json_path *path)
{
	return import_each(import, json_object_get(category, "tests"), AT(path, "tests"),
			   read_dcgm_test, d);
}

static enum status read_dcgm_root(struct import *import, const json_t *json)
{
	const char *top = json_object_get(json, "DCGM Diagnostic") ? "DCGM Diagnostic"
								   : "DCGM GPU Diagnostic";
	const json_t *root = import_member(import, json, NULL, top, JSON_OBJECT);
	const json_t *meta = json_object_get(json, "metadata");
	struct dcgm d = { json_object_get(json, "entity_groups") };
	const char *error = import_string(root, "runtime_error");
	const json_t *list = json_object_get(root, "test_categories");
	enum status status;

	if (!root)
		return STATUS_USAGE;
	meta = meta ? meta : root;
	import_tool(import, "dcgmi diag%s%.20s", *import_string(meta, "version") ? " " : "",
		    import_string(meta, "version"));
	import_fact(import, "driver", import_string(meta, "Driver Version Detected"));
	if (!list && !*error)
		return import_json_error(import, AT(NULL, top), "'test_categories' is missing");
	status = import_each(import, list, AT(AT(NULL, top), "test_categories"), read_dcgm_category,
			     &d);
	if (status == STATUS_OK && *error) {
		json_t *words = json_pack("{s:s}", "warnings", error);

		status = add_dcgm_case(import, &d, "diagnostic", words, "Error");
		json_decref(words);
	}
	return status;
}

const struct import_format import_dcgm = {
	.name = "dcgm-diag",
	.summary = "dcgmi diag -r 3 -j > FILE",
	.marks = { "\"DCGM Diagnostic\"", "\"DCGM GPU Diagnostic\"" },
	.silent = "figures, names of GPUs, host, time of its start",
	.read_json = read_dcgm_root,
};
