/* Variants of a kernel of kernels/memory/stream.h to try on a device. */
#ifndef GPUPROOF_SUITES_STREAM_VARIANTS_H
#define GPUPROOF_SUITES_STREAM_VARIANTS_H

#include "kernels/memory/stream.h"

/* Never empty; the first is the default. */
const struct stream_variant *stream_variants(const struct device_info *info,
					     enum stream_operation operation, size_t *count);
/* Text for messages: "4 packs in flight, 512 threads". Returns `out`. */
char *stream_variant_text(const struct stream_variant *variant, const struct device_info *info,
			  char *out, size_t size);

#endif
