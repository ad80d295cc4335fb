/*
 * Published knowledge about GPU models: data sheets and figures that others measured.
 * configs/gpus/NAME.ini, compiled in; NAME is also that of the model's limits (configs/limits).
 *
 *      [gpu]
 *      name = H200 SXM 141GB            ; for people
 *      label = H200                     ; for people in a hurry: a column's head
 *      match = NVIDIA H200 | H200 SXM*  ; device names, as the driver has them; * at the end:
 *                                       anything follows
 *      source = where the data sheet's figures come from
 *
 *	[read]                           ; read in a public source
 *	memory_bandwidth = 4800 GB/s
 *	architecture = Hopper
 *	[derived]                        ; follow from read figures by a formula
 *	pcie_bandwidth = 63.02 GB/s
 *	[to-verify]                      ; common knowledge without a source: shown with that word
 *
 *	[published sgemm best]           ; measured by others
 *	quantity = gemm_fp32             ; quantity.h
 *	value = 14.78 TFLOP/s            ; or a range: 499 GB/s .. 503 GB/s
 *	devices = 8                      ; working together; default 1
 *	workload = ResNet-50, FP32       ; where the quantity alone does not say it
 *	conditions = M=4096 N=7000 K=4096, CUDA 10.1
 *	source = DB                      ; sources.ini: [source DB] title, where, kind
 *	above_peak = boost               ; allows a value above the data sheet, and says why
 *
 * Keys of data sheets: figures that limits may refer to (plan/limits/spec_keys.h), counts and words
 * (gpu_read.c). Every function takes figures in SI base units.
 *
 * Adding a GPU model or a published figure: one file, or one section, there; its source in
 * configs/gpus/sources.ini.
 */
#ifndef GPUPROOF_REFERENCE_GPU_H
#define GPUPROOF_REFERENCE_GPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/embedded.h"
#include "base/error.h"
#include "reference/quantity.h"

enum sheet_status { SHEET_READ, SHEET_DERIVED, SHEET_TO_VERIFY };
const char *
gpu_read_sheet_status_name(enum sheet_status status); /* "read", "derived", "to-verify" */

struct sheet_entry {
	char *key;
	const char *unit; /* unit of the value; NULL: a word, only in text */
	double value;
	char *text; /* as in the file */
	enum sheet_status status;
};

struct published {
	char *name;
	const struct quantity *quantity;
	/* value is the middle of a range; for a single value low and high are NaN */
	double value, low, high;
	int devices;
	char *workload, *conditions, *above_peak; /* "" */
	char *source;                             /* id */
};

struct gpu {
	char *id; /* "v100-sxm2" */
	const struct embedded_file *file;
	char *name, *label, *match, *source;
	struct sheet_entry *entries;
	size_t entry_count, entry_capacity;
	struct published *published;
	size_t published_count, published_capacity;
};

struct gpu_source {
	char *id, *title, *where, *kind;
};

/* Reads one file. Errors name file:line; *gpu is then empty. */
enum status gpu_read(struct gpu *gpu, const struct embedded_file *file, struct error *err);
void gpu_read_release(struct gpu *gpu);

/* All shipped models, oldest architecture first: read once, kept until the program ends. */
const struct gpu *gpus_all(size_t *count);
const struct gpu_source *gpus_sources(size_t *count);
/* True if the file contains sources instead of a GPU. */
bool gpus_is_sources(const struct embedded_file *file);

/* NULL: unknown. */
const struct gpu *gpus_by_id(const char *id);
const struct gpu *gpus_by_device(const char *device_name);

const struct sheet_entry *gpu_entry(const struct gpu *gpu, const char *key);
/* A value of the data sheet; NaN if it has none. */
double gpu_figure(const struct gpu *gpu, const char *key);
/* A word of the data sheet; "" if it has none. */
const char *gpu_words(const struct gpu *gpu, const char *key);
/* Upper bound of a quantity on this GPU: `*entry` times a factor; NaN: unknown. */
double gpu_peak(const struct gpu *gpu, const struct quantity *quantity,
		const struct sheet_entry **entry);

#endif
