#include "suites/stream/variants.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"

/* { packs in flight, threads, blocks per multiprocessor, streaming } */
static const struct stream_variant arrays[] = {
	{ 4, 256, 0, 0 }, { 1, 1024, 0, 0 }, { 2, 512, 0, 0 },  { 4, 512, 0, 0 }, { 4, 1024, 0, 0 },
	{ 4, 256, 8, 0 }, { 4, 512, 2, 0 },  { 1, 1024, 0, 1 }, { 4, 256, 0, 1 }, { 4, 512, 0, 1 },
	{ 2, 512, 2, 1 }, { 4, 512, 2, 1 },  { 4, 256, 1, 1 },
};
static const struct stream_variant sums[] = {
	{ 4, 512, 4, 0 },  { 4, 256, 8, 0 },  { 8, 256, 4, 0 },
	{ 8, 512, 2, 0 },  { 8, 512, 4, 0 },  { 4, 1024, 2, 0 },
	{ 8, 1024, 1, 0 }, { 2, 1024, 2, 0 }, { 8, 256, 16, 0 },
};
static const struct stream_variant scattered[] = {
	{ 8, 256, 8, 0 }, { 8, 512, 4, 0 }, { 8, 1024, 2, 0 }, { 8, 256, 16, 0 }, { 8, 128, 16, 0 },
};
/* On a CPU, threads are cores; non-temporal stores are the only choice. */
static const struct stream_variant on_host[] = { { 1, 32, 0, 0 }, { 1, 32, 0, 1 } };

const struct stream_variant *stream_variants(const struct device_info *info,
					     enum stream_operation operation, size_t *count)
{
	switch (operation) {
	case STREAM_STRIDED:
	case STREAM_RANDOM:
		*count = device_is_host(info) ? 1 : ARRAY_SIZE(scattered);
		return device_is_host(info) ? on_host : scattered;
	case STREAM_DOT:
	case STREAM_READ:
		*count = device_is_host(info) ? 1 : ARRAY_SIZE(sums);
		return device_is_host(info) ? on_host : sums;
	default:
		*count = device_is_host(info) ? ARRAY_SIZE(on_host) : ARRAY_SIZE(arrays);
		return device_is_host(info) ? on_host : arrays;
	}
}

char *stream_variant_text(const struct stream_variant *v, const struct device_info *info, char *out,
			  size_t size)
{
	char blocks[48] = "";

	if (v->blocks)
		snprintf(blocks, sizeof(blocks), ", at most %u blocks per multiprocessor",
			 v->blocks);
	if (device_is_host(info))
		snprintf(out, size, "%s", v->streaming ? "streaming stores" : "ordinary stores");
	else
		snprintf(out, size,
			 "%u 16-byte accesses in flight per thread and array, blocks of %u "
			 "threads%s%s",
			 v->unroll, v->threads, blocks, v->streaming ? ", streaming" : "");
	return out;
}
