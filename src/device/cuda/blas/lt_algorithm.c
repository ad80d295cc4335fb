#include "device/cuda/blas/lt_algorithm.h"

#include <stdint.h>
#include <stdio.h>

#include "base/memory.h"
#include "base/text.h"

/* The ids' names in cublasLt.h; newer ids than these are shown as numbers. */
#define TILE(shape) [CUBLASLT_MATMUL_TILE_##shape] = #shape,
static const char *const tiles[] = {
	TILE(8x8) TILE(8x16) TILE(16x8) TILE(8x32) TILE(16x16) TILE(32x8) TILE(8x64) TILE(16x32)
		TILE(32x16) TILE(64x8) TILE(32x32) TILE(32x64) TILE(64x32) TILE(32x128) TILE(64x64)
			TILE(128x32) TILE(64x128) TILE(128x64) TILE(64x256) TILE(128x128)
				TILE(256x64) TILE(64x512) TILE(128x256) TILE(256x128) TILE(512x64)
					TILE(64x96) TILE(96x64) TILE(96x128) TILE(128x160)
						TILE(160x128) TILE(192x128) TILE(128x192)
							TILE(128x96)
};
#undef TILE

#define STAGES(shape) [CUBLASLT_MATMUL_STAGES_##shape] = #shape,
static const char *const stages[] = {
	STAGES(16x1) STAGES(16x2) STAGES(16x3) STAGES(16x4) STAGES(16x5) STAGES(16x6) STAGES(32x1)
		STAGES(32x2) STAGES(32x3) STAGES(32x4) STAGES(32x5) STAGES(32x6) STAGES(64x1)
			STAGES(64x2) STAGES(64x3) STAGES(64x4) STAGES(64x5) STAGES(64x6)
				STAGES(128x1) STAGES(128x2) STAGES(128x3) STAGES(128x4)
					STAGES(128x5) STAGES(128x6) STAGES(32x10) STAGES(8x4)
						STAGES(16x10) STAGES(8x5) STAGES(8x3) STAGES(8xAUTO)
							STAGES(16xAUTO) STAGES(32xAUTO)
								STAGES(64xAUTO) STAGES(128xAUTO)
};
#undef STAGES

#define CLUSTER(shape) [CUBLASLT_CLUSTER_SHAPE_##shape##x1] = #shape,
static const char *const clusters[] = { CLUSTER(1x1) CLUSTER(2x1) CLUSTER(4x1) CLUSTER(1x2) CLUSTER(
	2x2) CLUSTER(4x2) CLUSTER(1x4) CLUSTER(2x4) CLUSTER(4x4) CLUSTER(8x1) CLUSTER(1x8) };
#undef CLUSTER

static const struct {
	const char *word;
	cublasLtMatmulAlgoConfigAttributes_t attribute;
	const char *const *names;
	size_t name_count;
} parts[] = {
	{ "algorithm", CUBLASLT_ALGO_CONFIG_ID, NULL, 0 },
	{ "tile", CUBLASLT_ALGO_CONFIG_TILE_ID, tiles, ARRAY_SIZE(tiles) },
	{ "stages", CUBLASLT_ALGO_CONFIG_STAGES_ID, stages, ARRAY_SIZE(stages) },
	{ "cluster", CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, clusters, ARRAY_SIZE(clusters) },
	{ "split-k", CUBLASLT_ALGO_CONFIG_SPLITK_NUM, NULL, 0 },
	{ "reduction", CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, NULL, 0 },
	{ "swizzle", CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, NULL, 0 },
	{ "option", CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION, NULL, 0 },
};

/* Attributes have 2 or 4 bytes; both are small and little-endian. */
static bool read_attribute(const cublasLtMatmulAlgo_t *algorithm,
			   cublasLtMatmulAlgoConfigAttributes_t attribute, uint32_t *out)
{
	size_t written;

	*out = 0;
	return cublaslt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, attribute, out,
							     sizeof(*out),
							     &written) == CUBLAS_STATUS_SUCCESS ||
	       cublaslt.cublasLtMatmulAlgoConfigGetAttribute(algorithm, attribute, out,
							     sizeof(uint16_t),
							     &written) == CUBLAS_STATUS_SUCCESS;
}

void lt_algorithm_describe(const cublasLtMatmulAlgo_t *algorithm, char *out, size_t size)
{
	struct text text = TEXT_EMPTY;

	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		uint32_t value;

		if (!read_attribute(algorithm, parts[i].attribute, &value))
			continue;
		text_addf(&text, "%s%s ", text.length ? ", " : "", parts[i].word);
		if (value < parts[i].name_count && parts[i].names[value])
			text_add(&text, parts[i].names[value]);
		else if (value == UINT32_MAX)
			text_add(&text, "auto"); /* -1: the library's own choice */
		else
			text_addf(&text, "%u", value);
	}
	snprintf(out, size, "%s", text.length ? text.data : "unknown");
	text_release(&text);
}

static bool set(cublasLtMatmulAlgo_t *algorithm, cublasLtMatmulAlgoConfigAttributes_t attribute,
		const void *value, size_t size)
{
	return cublaslt.cublasLtMatmulAlgoConfigSetAttribute(algorithm, attribute, value, size) ==
	       CUBLAS_STATUS_SUCCESS;
}

static bool turn_swizzle(cublasLtMatmulAlgo_t *algorithm)
{
	uint32_t supported = 0, value;
	size_t written;

	if (cublaslt.cublasLtMatmulAlgoCapGetAttribute(algorithm,
						       CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT,
						       &supported, sizeof(supported),
						       &written) != CUBLAS_STATUS_SUCCESS ||
	    !supported || !read_attribute(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &value))
		return false;
	value = !value;
	return set(algorithm, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING, &value, sizeof(value));
}

/* Algorithms for older devices have no clusters: 0. */
static bool change_cluster(cublasLtMatmulAlgo_t *algorithm, int cluster)
{
	static const uint16_t shapes[LT_CLUSTERS] = {
		CUBLASLT_CLUSTER_SHAPE_2x1x1, CUBLASLT_CLUSTER_SHAPE_1x2x1,
		CUBLASLT_CLUSTER_SHAPE_2x2x1, CUBLASLT_CLUSTER_SHAPE_1x1x1,
		CUBLASLT_CLUSTER_SHAPE_4x1x1, CUBLASLT_CLUSTER_SHAPE_1x4x1,
	};
	uint32_t own;

	if (!read_attribute(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &own) || own == 0 ||
	    own == shapes[cluster])
		return false;
	return set(algorithm, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID, &shapes[cluster],
		   sizeof(shapes[cluster]));
}

bool lt_algorithm_vary(cublasLtMatmulAlgo_t *algorithm, bool swizzle, int cluster)
{
	if (swizzle && !turn_swizzle(algorithm))
		return false;
	return cluster < 0 || change_cluster(algorithm, cluster);
}
