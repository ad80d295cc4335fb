#include "kernels/soak.h"

#include <string.h>

#include "kernels/fp8.h"
#include "kernels/launch/elements.h"
#include "device/host/host_kernel.h"

/* Below this number of words a second thread does not pay off. */
#define GRAIN 16384

/* One record per part; merged in memory order. */
struct findings {
	const void *arguments;
	struct wrong_words parts[HOST_PARALLEL_MAX];
};

static void soak_host_record(struct wrong_words *found, uint64_t offset, uint64_t address,
			     uint64_t expected, uint64_t got)
{
	if (found->recorded < WRONG_WORDS)
		found->words[found->recorded++] =
			(struct wrong_word){ offset, address, expected, got };
	found->count++;
	found->flipped |= got ^ expected;
}

static void soak_host_merge(struct wrong_words *out, const struct wrong_words *parts,
			    unsigned count)
{
	for (unsigned p = 0; p < count; p++) {
		out->compared += parts[p].compared;
		out->count += parts[p].count;
		out->flipped |= parts[p].flipped;
		for (uint64_t i = 0; i < parts[p].recorded; i++)
			if (out->recorded < WRONG_WORDS)
				out->words[out->recorded++] = parts[p].words[i];
	}
}

static void soak_host_sweep_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct findings *f = context;
	const struct soak_memory_arguments *a = f->arguments;

	memset(&f->parts[part], 0, sizeof(f->parts[part]));
	for (uint64_t n = begin; n < end; n++) {
		uint64_t i = a->descending ? a->words - 1 - n : n, index = a->first + i;
		uint64_t *at = (uint64_t *)a->memory + i, address = (uint64_t)(uintptr_t)at;
		uint64_t expected = soak_pattern_word(a->expected, index, address);

		if (a->check && *at != expected)
			soak_host_record(&f->parts[part], 8 * index, address, expected, *at);
		f->parts[part].compared += a->check;
		if (a->write)
			*at = soak_pattern_word(a->next, index, address);
	}
}

static enum status soak_memory_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_memory_arguments *a = arguments;
	struct findings found = { .arguments = a };
	unsigned parts;

	if (a->words % 2 || (uintptr_t)a->memory % 16)
		return error_set(err, STATUS_INTERNAL,
				 "soak_memory: memory must be aligned to 16 bytes, and as long");
	parts = host_stream_parallel(stream, a->words, GRAIN, soak_host_sweep_slice, &found);
	if (a->check)
		soak_host_merge(a->out, found.parts, parts);
	return STATUS_OK;
}
HOST_KERNEL(soak_memory)

static void soak_host_fill_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	const struct soak_operand_arguments *a = context;

	(void)part;
	for (uint64_t i = begin; i < end; i++) {
		uint32_t row = (uint32_t)(i % a->rows), column = (uint32_t)(i / a->rows);
		int32_t value =
			soak_value(a->seed, a->row_period ? row % a->row_period : row,
				   a->column_period ? column % a->column_period : column, a->range);
		float single = (float)value;

		if (a->precision == PRECISION_FP64)
			((double *)a->memory)[i] = value;
		else if (precision_bytes(a->precision) == 4)
			((float *)a->memory)[i] = single;
		else if (a->precision == PRECISION_INT8)
			((int8_t *)a->memory)[i] = (int8_t)value;
		else if (a->precision == PRECISION_FP8)
			((uint8_t *)a->memory)[i] = fp8_from_float(single);
		else
			elements_to_16((uint16_t *)a->memory + i, &single, 1, a->precision);
	}
}

static enum status soak_operand_run(struct stream *stream, const void *arguments, struct error *err)
{
	struct soak_operand_arguments a = *(const struct soak_operand_arguments *)arguments;

	(void)err;
	host_stream_parallel(stream, a.rows * a.columns, GRAIN, soak_host_fill_slice, &a);
	return STATUS_OK;
}
HOST_KERNEL(soak_operand)

static uint64_t soak_host_element_at(const void *memory, uint64_t index, uint32_t bytes)
{
	return bytes == 8 ? ((const uint64_t *)memory)[index] : ((const uint32_t *)memory)[index];
}

static void soak_host_check_column(const struct soak_table_arguments *a, uint64_t column,
				   struct wrong_words *found)
{
	uint32_t kind = (uint32_t)((column + a->column_offset) % a->column_period),
		 at = a->row_offset % a->row_period;

	for (uint64_t row = 0; row < a->rows; row++) {
		uint32_t entry = kind * a->row_period + at;
		uint64_t expected = soak_host_element_at(a->table, entry, a->element_bytes) ^
				    (entry == a->canary),
			 index = column * a->rows + row;
		uint64_t got = soak_host_element_at(a->memory, index, a->element_bytes);

		if (got != expected)
			soak_host_record(found, a->element_bytes * index,
					 (uint64_t)(uintptr_t)a->memory + a->element_bytes * index,
					 expected, got);
		at = at + 1 == a->row_period ? 0 : at + 1;
	}
	found->compared += a->rows;
}

static void soak_host_table_slice(void *context, unsigned part, uint64_t begin, uint64_t end)
{
	struct findings *f = context;

	memset(&f->parts[part], 0, sizeof(f->parts[part]));
	for (uint64_t column = begin; column < end; column++)
		soak_host_check_column(f->arguments, column, &f->parts[part]);
}

static enum status soak_table_run(struct stream *stream, const void *arguments, struct error *err)
{
	const struct soak_table_arguments *a = arguments;
	struct findings found = { .arguments = a };
	unsigned parts;

	if (a->rows % 4 || (uintptr_t)a->memory % 16 || a->row_period < 4 ||
	    a->row_period > SOAK_ROW_PERIOD_MOST)
		return error_set(err, STATUS_INTERNAL,
				 "soak_table: rows, alignment or period do not fit");
	parts = host_stream_parallel(stream, a->columns, 1 + GRAIN / (a->rows + 1),
				     soak_host_table_slice, &found);
	soak_host_merge(a->out, found.parts, parts);
	return STATUS_OK;
}
HOST_KERNEL(soak_table)
