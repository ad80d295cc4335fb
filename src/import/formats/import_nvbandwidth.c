/*
 * nvbandwidth -j. A test is a matrix of numbers as strings in GB/s, with "N/A" for missing ones.
 * Version 0.9 writes null for its list of devices; versions before 0.8 have no list.
 */
#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "import/formats/nvbandwidth.h"

/*
 * nvbandwidth without -j: "Running TEST.", a sentence, a heading of device numbers, a row for each
 * device, "SUM TEST NUMBER".
 */

#define MOST_COLUMNS 1024

struct nvb_log {
	struct nvb_devices devices;
	char host[128];
	char test[128];  /* running test; "": none */
	size_t line;     /* line of "Running" */
	bool done, part; /* the test has its figures; the matrix is one direction of two */
	size_t columns, rows, first_row; /* of the matrix being read */
	double *cells;
	size_t cell_count, cell_capacity;
	char *failure; /* the tool's message while the test ran; NULL */
};

static enum status end_running(struct import *import, void *state)
{
	struct nvb_log *log = state;
	enum status status = STATUS_OK;

	if (*log->test && !log->done)
		status = nvb_add_failure(import, &log->devices, log->line, log->test,
					 log->failure ? log->failure : "the test has no figures");
	free(log->failure);
	log->failure = NULL;
	log->test[0] = '\0';
	log->columns = 0;
	return status;
}

static enum status take_nvb_version(const struct import_line *l)
{
	import_tool(l->import, "nvbandwidth %.30s (text)", l->v[0]);
	return STATUS_OK;
}

static enum status take_nvb_device(const struct import_line *l)
{
	struct nvb_log *log = l->state;

	if ((size_t)atoi(l->v[0]) < log->devices.count) /* the list is repeated */
		return STATUS_OK;
	if (!nvb_add_device(l->import, &log->devices, l->v[1], log->host))
		return import_error(l->import, l->number, "expected \"Device 0: NAME (PCI)\"");
	return STATUS_OK;
}

/* "Process  0 (node-a): device 0: NVIDIA H200 (00000000:19:00)" */
static enum status take_nvb_process(const struct import_line *l)
{
	struct nvb_log *log = l->state;

	if ((size_t)atoi(l->v[0]) < log->devices.count)
		return STATUS_OK;
	if (!nvb_add_device(l->import, &log->devices, l->v[3], l->v[1]))
		return import_error(l->import, l->number, "expected \"device 0: NAME (PCI)\"");
	return STATUS_OK;
}

static enum status take_running(const struct import_line *l)
{
	struct nvb_log *log = l->state;
	enum status status = end_running(l->import, log);
	size_t length = strlen(l->v[0]);

	while (length && l->v[0][length - 1] == '.')
		l->v[0][--length] = '\0';
	snprintf(log->test, sizeof(log->test), "%s", l->v[0]);
	log->line = l->number;
	log->done = log->part = false;
	return status;
}

/* "SUM host_to_device_memcpy_ce 110.30": the matrix above is complete. */
static enum status nvbandwidth_text_take_sum(const struct import_line *l)
{
	struct nvb_log *log = l->state;
	enum status status = STATUS_OK;
	double told, sum = 0;

	if (!*log->test || !log->rows)
		return STATUS_OK;
	for (size_t i = 0; i < log->cell_count; i++)
		sum += isfinite(log->cells[i]) ? log->cells[i] : 0;
	if (import_real(l->v[1], &told) &&
	    fabs(told - sum) > 0.0051 * (double)(log->cell_count + 1))
		return import_error(l->import, l->number,
				    "the sum of the matrix is %.2f, not %.20s: a row of it is lost",
				    sum, l->v[1]);
	if (!log->part)
		status = nvb_add_matrix(l->import, &log->devices,
					&(struct nvb_matrix){ .test = log->test,
							      .rows = log->rows,
							      .columns = log->columns,
							      .cells = log->cells,
							      .line = log->first_row });
	log->done |= !log->part;
	log->columns = log->rows = 0;
	return status;
}

static bool nvbandwidth_text_is_failure(const char *line)
{
	static const char *const marks[] = {
		"CUDA_ERROR",      "ERROR",      "Invalid value when checking",
		"Error:",          "NVML_ERROR", "Assertion",
		"terminate called"
	};

	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		if (strstr(line, marks[i]))
			return true;
	return false;
}

static bool is_number_or_none(const char *word)
{
	double value;

	return import_real(word, &value) || strcmp(word, "N/A") == 0;
}

/* True if the words are column numbers: 0 1 2 ... */
static bool nvbandwidth_text_is_heading(char **words, size_t count)
{
	char number[24];

	for (size_t i = 0; i < count; i++) {
		snprintf(number, sizeof(number), "%zu", i);
		if (strcmp(words[i], number) != 0)
			return false;
	}
	return count > 0;
}

static enum status nvbandwidth_text_take_row_of(struct import *import, struct nvb_log *log,
						size_t line, char **words, size_t count)
{
	if (count != log->columns + 1)
		return import_error(import, line,
				    "expected a number for each of the %zu columns, not %zu",
				    log->columns, count - 1);
	log->first_row = log->rows++ ? log->first_row : line;
	for (size_t i = 1; i < count; i++) {
		double value;

		if (!import_real(words[i], &value))
			value = NAN;
		ARRAY_GROW(log->cells, log->cell_count, log->cell_capacity);
		log->cells[log->cell_count++] = value;
	}
	return STATUS_OK;
}

static enum status take_nvb_other(const struct import_line *l)
{
	struct nvb_log *log = l->state;
	char *words[MOST_COLUMNS + 1];
	size_t count, numbers = 0;

	if (*log->test && !log->failure && nvbandwidth_text_is_failure(l->v[0]))
		log->failure = xstrdup(l->v[0]);
	if (*log->test && strstr(l->v[0], "bandwidth (GB/s)"))
		log->part = strstr(l->v[0], "Read1") || strstr(l->v[0], "Read2") ||
			    strstr(l->v[0], "Write1") || strstr(l->v[0], "Write2");
	count = import_fields(l->v[0], ' ', words, MOST_COLUMNS + 1);
	if (count == 1 && !log->devices.count)
		snprintf(log->host, sizeof(log->host), "%s", words[0]);
	if (!*log->test)
		return STATUS_OK;
	if (!log->columns && nvbandwidth_text_is_heading(words, count)) {
		log->columns = count;
		log->rows = log->cell_count = 0;
		return STATUS_OK;
	}
	while (numbers + 1 < count && is_number_or_none(words[numbers + 1]))
		numbers++;
	if (log->columns && numbers && numbers + 1 == count)
		return nvbandwidth_text_take_row_of(l->import, log, l->number, words, count);
	return STATUS_OK;
}

static const struct import_rule nvb_lines[] = {
	{ "nvbandwidth Version: %w", take_nvb_version },
	{ "Driver Version: %w", .fact = "driver" },
	{ "Device %d: %r", take_nvb_device },
	{ "Process %d (%t): device %d: %r", take_nvb_process },
	{ "Running %w", take_running },
	{ "Waived", INTO(struct nvb_log, done) },
	{ "Waiving", INTO(struct nvb_log, done) },
	{ "SUM %w %n", nvbandwidth_text_take_sum },
	{ "&&&& PERF %w %n", nvbandwidth_text_take_sum },
	{ "MIN %w %n" },
	{ "MAX %w %n" },
	{ "AVG %w %n" },
	{ "%r", take_nvb_other },
	{ 0 },
};

static void nvb_release(void *state)
{
	struct nvb_log *log = state;

	free(log->failure);
	free(log->cells);
	free(log->devices.items);
}

/* Shared by all tests of a file. */
struct nvb_file {
	struct nvb_devices devices;
	const char *error; /* error of the whole run; "" */
	bool told;         /* a test already reports it as its reason */
};

static enum status nvbandwidth_read_cell(struct import *import, const json_t *cell,
					 const struct json_path *path, double *value)
{
	const char *text = json_string_value(cell);

	*value = import_figure(cell);
	if (isnan(*value) && (!text || strcmp(text, "N/A") != 0))
		return import_json_error(import, path, "expected a number or \"N/A\"");
	return STATUS_OK;
}

static enum status nvbandwidth_read_matrix(struct import *import, struct nvb_file *file,
					   const char *name, const json_t *json,
					   const struct json_path *path)
{
	size_t rows = json_array_size(json), columns = 0;
	enum status status = STATUS_OK;
	double *cells;

	for (size_t i = 0; i < rows; i++) {
		size_t size = json_array_size(json_array_get(json, i));

		if (!json_is_array(json_array_get(json, i)))
			return import_json_error(import, NTH(path, i), "expected an array");
		if (i && size != columns)
			return import_json_error(import, NTH(path, i),
						 "expected %zu numbers, not %zu", columns, size);
		columns = size;
	}
	cells = xcalloc(rows * columns + 1, sizeof(*cells));
	for (size_t i = 0; i < rows; i++)
		for (size_t j = 0; status == STATUS_OK && j < columns; j++)
			status = nvbandwidth_read_cell(import,
						       json_array_get(json_array_get(json, i), j),
						       NTH(NTH(path, i), j),
						       &cells[i * columns + j]);
	if (status == STATUS_OK)
		status = nvb_add_matrix(import, &file->devices,
					&(struct nvb_matrix){ .test = name,
							      .rows = rows,
							      .columns = columns,
							      .cells = cells,
							      .path = path });
	free(cells);
	return status;
}

/* The machine or the build does not support the test, so it was skipped. */
static bool was_not_tried(const char *status)
{
	return strcmp(status, "Waived") == 0 || strcmp(status, "Not Found") == 0;
}

static enum status nvbandwidth_read_test(struct import *import, void *state, const json_t *test,
					 const struct json_path *path)
{
	struct nvb_file *file = state;
	const json_t *name = import_member(import, test, path, "name", JSON_STRING);
	const json_t *status = import_member(import, test, path, "status", JSON_STRING);
	const char *error = import_string(test, "error");
	const json_t *matrix;

	if (!name || !status)
		return STATUS_USAGE;
	if (was_not_tried(json_string_value(status)))
		return STATUS_OK;
	if (strcmp(json_string_value(status), "Passed") != 0 || *error) {
		file->told |= !*error && *file->error;
		error = *error ? error : file->error;
		return nvb_add_failure(import, &file->devices, 1, json_string_value(name),
				       *error ? error : json_string_value(status));
	}
	matrix = import_member(import, test, path, "bandwidth_matrix", JSON_ARRAY);
	return matrix ? nvbandwidth_read_matrix(import, file, json_string_value(name), matrix,
						AT(path, "bandwidth_matrix"))
		      : STATUS_USAGE;
}

/* "0: NVIDIA H200 (00000000:3b:00): (host)" */
static enum status nvbandwidth_read_device(struct import *import, void *devices, const json_t *item,
					   const struct json_path *path)
{
	const char *text = json_string_value(item), *name = text ? strstr(text, ": ") : NULL;
	char *copy = name ? xstrdup(name + 2) : NULL;
	bool known = copy && nvb_add_device(import, devices, copy, "");

	free(copy);
	return known ? STATUS_OK : import_json_error(import, path, "expected \"0: NAME (PCI)\"");
}

static enum status nvbandwidth_read_list(struct import *import, struct nvb_devices *devices,
					 const json_t *list, const struct json_path *path)
{
	if (list && !json_is_null(list) && !json_is_array(list))
		return import_json_error(import, path, "expected an array");
	devices->listed = json_array_size(list) > 0;
	return import_each(import, list, path, nvbandwidth_read_device, devices);
}

static enum status read_nvb_json(struct import *import, const json_t *json, struct nvb_file *file)
{
	const struct json_path *top = AT(NULL, "nvbandwidth");
	const json_t *root = import_member(import, json, NULL, "nvbandwidth", JSON_OBJECT);
	const json_t *list = root ? json_object_get(root, "testcases") : NULL;
	enum status status;
	const json_t *runtime;

	if (!root)
		return STATUS_USAGE;
	file->error = import_string(root, "error");
	if (!list && !*file->error)
		return import_json_error(import, top, "'testcases' is missing");
	runtime = json_object_get(root, "CUDA Runtime Version");
	import_tool(import, "nvbandwidth %s", import_string(root, "version"));
	import_fact(import, "driver", import_string(root, "Driver Version"));
	import_fact(import, "warning", import_string(root, "warning"));
	if (json_is_integer(runtime)) {
		int version = (int)json_integer_value(runtime);
		char text[32];

		snprintf(text, sizeof(text), "%d.%d", version / 1000, version % 1000 / 10);
		import_fact(import, "cuda runtime", text);
	}
	status = nvbandwidth_read_list(import, &file->devices,
				       json_object_get(root, "GPU Device list"),
				       AT(top, "GPU Device list"));
	if (status == STATUS_OK)
		status = import_each(import, list, AT(top, "testcases"), nvbandwidth_read_test,
				     file);
	if (status == STATUS_OK && *file->error && !file->told)
		status = nvb_add_failure(import, &file->devices, 1, "nvbandwidth", file->error);
	return status;
}

static enum status read_nvb_root(struct import *import, const json_t *json)
{
	struct nvb_file file = { .error = "" };
	enum status status = read_nvb_json(import, json, &file);

	free(file.devices.items);
	return status;
}

const struct import_format import_nvbandwidth = {
	.name = "nvbandwidth",
	.summary = "nvbandwidth -j > FILE; without -j its figures are rounded",
	.marks = { "\"nvbandwidth\"", "nvbandwidth Version" },
	.silent = "samples, size of the buffers (512 MiB unless set), clocks, power, temperatures, "
		  "time of its start",
	.tool = "nvbandwidth (text)",
	.rules = nvb_lines,
	.state_bytes = sizeof(struct nvb_log),
	.finish = end_running,
	.release = nvb_release,
	.read_json = read_nvb_root,
};
