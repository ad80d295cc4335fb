#include "cli/output/list_gpus.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/units.h"
#include "cli/command.h"
#include "cli/output/table.h"
#include "reference/gpu.h"
#include "result/json/json_writer.h"

static void list_gpus_write_sheet(struct json_writer *w, const struct gpu *gpu)
{
	writer_key(w, "sheet");
	writer_open(w, '{');
	for (size_t i = 0; i < gpu->entry_count; i++) {
		const struct sheet_entry *entry = &gpu->entries[i];

		writer_key(w, entry->key);
		writer_open_inline(w, '{');
		if (entry->unit) {
			writer_real_member(w, "value", entry->value);
			writer_text_member(w, "unit", entry->unit);
		} else {
			writer_text_member(w, "text", entry->text);
		}
		writer_text_member(w, "status", sheet_status_name(entry->status));
		writer_close(w, '}');
	}
	writer_close(w, '}');
}

static void list_gpus_write_published(struct json_writer *w, const struct gpu *gpu)
{
	writer_key(w, "published");
	writer_open(w, '[');
	for (size_t i = 0; i < gpu->published_count; i++) {
		const struct published *p = &gpu->published[i];

		writer_open_inline(w, '{');
		writer_text_member(w, "name", p->name);
		writer_text_member(w, "quantity", p->quantity->name);
		writer_real_member(w, "value", p->value);
		writer_real_member(w, "low", p->low);
		writer_real_member(w, "high", p->high);
		writer_text_member(w, "unit", p->quantity->unit);
		writer_key(w, "devices");
		writer_signed(w, p->devices);
		writer_text_member(w, "workload", p->workload);
		writer_text_member(w, "conditions", p->conditions);
		writer_text_member(w, "source", p->source);
		writer_text_member(w, "above_peak", p->above_peak);
		writer_close(w, '}');
	}
	writer_close(w, ']');
}

static void list_gpus_write_sources(struct json_writer *w)
{
	size_t count;
	const struct gpu_source *sources = gpus_sources(&count);

	writer_key(w, "sources");
	writer_open(w, '{');
	for (size_t i = 0; i < count; i++) {
		writer_key(w, sources[i].id);
		writer_open_inline(w, '{');
		writer_text_member(w, "title", sources[i].title);
		writer_text_member(w, "where", sources[i].where);
		writer_text_member(w, "kind", sources[i].kind);
		writer_close(w, '}');
	}
	writer_close(w, '}');
}

static void gpus_print_json(const struct gpu *gpus, size_t count)
{
	struct json_writer w = { .expand = 4 };
	char *text;

	writer_open(&w, '{');
	writer_key(&w, "gpus");
	writer_open(&w, '[');
	for (size_t i = 0; i < count; i++) {
		writer_open(&w, '{');
		writer_text_member(&w, "id", gpus[i].id);
		writer_text_member(&w, "name", gpus[i].name);
		writer_text_member(&w, "label", gpus[i].label);
		writer_text_member(&w, "match", gpus[i].match);
		writer_text_member(&w, "source", gpus[i].source);
		list_gpus_write_sheet(&w, &gpus[i]);
		list_gpus_write_published(&w, &gpus[i]);
		writer_close(&w, '}');
	}
	writer_close(&w, ']');
	list_gpus_write_sources(&w);
	writer_close(&w, '}');
	text = writer_finish(&w);
	fputs(text, stdout);
	free(text);
}

/* "4.800 TB/s", "none", "-" */
static const char *list_gpu_figure(const struct gpu *gpu, const char *key, char *out, size_t size)
{
	double value = gpu_figure(gpu, key);
	const struct sheet_entry *entry = gpu_entry(gpu, key);

	if (isfinite(value))
		units_format(value, entry->unit, out, size);
	else
		snprintf(out, size, "-");
	return out;
}

static void list_gpus_print_table(const struct gpu *gpus, size_t count)
{
	static const char *const head[] = { "GPU",  "ARCHITECTURE", "CAPABILITY", "MEMORY AT",
					    "FP32", "FP16 TENSOR",  "PUBLISHED",  "NAME" };
	struct output_table table = TABLE_EMPTY;

	table_row(&table, head, sizeof(head) / sizeof(head[0]));
	for (size_t i = 0; i < count; i++) {
		char memory[32], fp32[32], tensor[32], published[24];
		const char *cells[] = {
			gpus[i].id,
			gpu_words(&gpus[i], "architecture"),
			gpu_words(&gpus[i], "capability"),
			list_gpu_figure(&gpus[i], "memory_bandwidth", memory, sizeof(memory)),
			list_gpu_figure(&gpus[i], "fp32", fp32, sizeof(fp32)),
			list_gpu_figure(&gpus[i], "fp16_tensor", tensor, sizeof(tensor)),
			published,
			gpus[i].name
		};

		snprintf(published, sizeof(published), "%zu", gpus[i].published_count);
		table_row(&table, cells, sizeof(cells) / sizeof(cells[0]));
	}
	table_finish(&table, stdout);
}

int list_gpus(struct call *call)
{
	const struct list_arguments *a = call->arguments;
	size_t count;
	const struct gpu *gpus = gpus_all(&count);

	if (a->json)
		gpus_print_json(gpus, count);
	else
		list_gpus_print_table(gpus, count);
	return EXIT_ACCEPTED;
}
