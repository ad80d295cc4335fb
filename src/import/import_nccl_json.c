/*
 * nccl-tests -J: version 2 of its JSON. Without MPI it lists only the first device, whatever there
 * are.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "import/nccl.h"

/* Numbers that are no number are the text "nan". */
static enum status read_number(struct import *import, const json_t *object,
			       const struct json_path *path, const char *name, double *value)
{
	const struct json_path here = { path, name, 0 };
	const json_t *json = json_object_get(object, name);

	*value = NAN;
	if (json_is_number(json))
		*value = json_number_value(json);
	if (*value < 0)
		return import_json_error(import, &here, "expected a number of at least 0");
	if (json_is_number(json))
		return STATUS_OK;
	if (!json)
		return import_json_error(import, path, "'%s' is missing", name);
	if (!json_is_null(json) && strcmp(import_string(object, name), "nan") != 0)
		return import_json_error(import, &here, "expected a number");
	return STATUS_OK;
}

static enum status read_place(struct import *import, const json_t *result,
			      const struct json_path *path, const char *name, struct nccl_row row)
{
	const struct json_path here = { path, name, 0 };
	const json_t *json = json_object_get(result, name);
	const char *time = json_object_get(json, "cpu_time") ? "cpu_time" : "time";
	const struct json_path time_path = { &here, time, 0 };

	if (!json || json_is_null(json))
		return STATUS_OK;
	row.in_place = strcmp(name, "in_place") == 0;
	if (read_number(import, json, &here, time, &row.time_us) != STATUS_OK ||
	    read_number(import, json, &here, "alg_bw", &row.algbw_gbs) != STATUS_OK ||
	    read_number(import, json, &here, "bus_bw", &row.busbw_gbs) != STATUS_OK ||
	    read_number(import, json, &here, "nwrong", &row.wrong) != STATUS_OK)
		return STATUS_USAGE;
	if (row.time_us == 0)
		return import_json_error(import, &time_path, "expected a time above 0");
	if (!nccl_add(import, &row))
		return import_json_error(import, &here,
					 "repeats an earlier result (is it the output of several "
					 "runs?)");
	return STATUS_OK;
}

static enum status read_result(struct import *import, const json_t *result,
			       const struct json_path *path, struct nccl_row row)
{
	enum status status;

	if (!json_is_object(result))
		return import_json_error(import, path, "expected an object");
	if (!import_member(import, result, path, "type", JSON_STRING))
		return STATUS_USAGE;
	row.type = import_string(result, "type");
	status = read_number(import, result, path, "size", &row.bytes);
	if (status == STATUS_OK && !(row.bytes >= 0))
		status = import_json_error(import, path, "'size' is no size");
	if (status == STATUS_OK)
		status = read_place(import, result, path, "out_of_place", row);
	if (status == STATUS_OK)
		status = read_place(import, result, path, "in_place", row);
	return status;
}

static enum status read_devices(struct import *import, const json_t *json,
				const struct json_path *path, size_t *ranks)
{
	const struct json_path config_path = { path, "config", 0 };
	const json_t *config = import_member(import, json, path, "config", JSON_OBJECT);
	const json_t *devices =
		config ? import_member(import, config, &config_path, "devices", JSON_ARRAY) : NULL;
	json_int_t threads = json_integer_value(json_object_get(config, "nthreads"));
	json_int_t gpus = json_integer_value(json_object_get(config, "ngpus"));
	size_t listed = json_array_size(devices);

	if (!devices)
		return STATUS_USAGE;
	if (!listed || threads < 1 || gpus < 1 || threads > 1024 || gpus > 1024)
		return import_json_error(import, &config_path, "says not which devices ran");
	*ranks = (size_t)(threads * gpus) > listed ? (size_t)(threads * gpus) : listed;
	for (size_t i = 0; i < *ranks; i++)
		import_device(import, "cuda", (int)i,
			      import_string(json_array_get(devices, i < listed ? i : 0),
					    "device_info"));
	return STATUS_OK;
}

static const char *collective_of(struct import *import, const json_t *json)
{
	const char *program = json_string_value(json_array_get(json_object_get(json, "args"), 0));

	if (import->options->collective)
		return nccl_collective(import->options->collective);
	return program ? nccl_collective(program) : NULL;
}

static void read_facts(struct import *import, const json_t *json)
{
	json_int_t version = json_integer_value(json_object_get(json, "nccl_version"));
	char text[32];

	import_tool(import, "nccl-tests (JSON)");
	if (version > 0) {
		snprintf(text, sizeof(text), "%d.%d.%d", (int)(version / 10000),
			 (int)(version % 10000 / 100), (int)(version % 100));
		import_fact(import, "nccl", text);
	}
}

static enum status read_root(struct import *import, const json_t *json)
{
	const struct json_path results_path = { NULL, "results", 0 };
	const json_t *results = import_member(import, json, NULL, "results", JSON_ARRAY);
	struct nccl_row row = { .collective = collective_of(import, json) };
	enum status status;

	if (!results)
		return STATUS_USAGE;
	if (!row.collective)
		return import_error(import, 1,
				    "which collective ran is not known: say it with --collective");
	read_facts(import, json);
	status = read_devices(import, json, NULL, &row.ranks);
	for (size_t i = 0; status == STATUS_OK && i < json_array_size(results); i++) {
		const struct json_path here = { &results_path, NULL, i };

		status = read_result(import, json_array_get(results, i), &here, row);
	}
	return status;
}

static enum status nccl_json_read(struct import *import)
{
	return import_json(import, read_root);
}

const struct import_format import_nccl_json = {
	.name = "nccl-json",
	.summary = "nccl-tests: all_reduce_perf ... -J FILE",
	.for_people = "# nThread",
	.instead = "import it as nccl-text, or run the test with -J FILE",
	.read = nccl_json_read,
};
