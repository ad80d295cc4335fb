/*
 * Which way of which kernel was tried. What each compute capability should take is written down
 * here a second time: the dispatch is right when exactly these ways were launched.
 */
#include "gpu_check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ALWAYS 0, 1000

enum needs {
	NEEDS_NOTHING,
	NEEDS_CUBLAS,
	NEEDS_CUDNN,
	NEEDS_WGMMA,
	NEEDS_NO_WGMMA, /* where there is WGMMA that is better */
	NEEDS_NOT_90    /* 9.0 without WGMMA has no way at all */
};

/* Ways that capabilities from `since` on and before `until` take. */
static const struct way {
	const char *kernel, *path;
	int since, until;
	enum needs needs;
} ways[] = {
	{ "gate", "", ALWAYS, NEEDS_NOTHING },
	{ "gemm_simt", "plain tiles", 0, 80, NEEDS_NOTHING },
	{ "gemm_simt", "plain tiles, narrow loads", ALWAYS, NEEDS_NOTHING },
	{ "gemm_simt", "small tiles, asynchronous copies", 80, 1000, NEEDS_NOTHING },
	{ "gemm_simt", "large tiles, asynchronous copies", 80, 1000, NEEDS_NOTHING },
	{ "gemm_half2", "FP16 pairs", 53, 1000, NEEDS_NOTHING },
	{ "gemm_tensor", "WMMA", 70, 1000, NEEDS_NOTHING },
	{ "gemm_tensor", "WMMA, narrow loads", 70, 1000, NEEDS_NOTHING },
	{ "attention_forward", "SIMT", ALWAYS, NEEDS_NOTHING },
	{ "attention_forward", "WMMA", 70, 75, NEEDS_NOTHING },
	{ "attention_forward", "MMA", 75, 1000, NEEDS_NO_WGMMA },
	{ "attention_forward", "WGMMA", 90, 91, NEEDS_WGMMA },
	{ "attention_backward", "SIMT", ALWAYS, NEEDS_NOTHING },
	{ "attention_backward", "WMMA", 70, 75, NEEDS_NOTHING },
	{ "attention_backward", "MMA", 75, 1000, NEEDS_NO_WGMMA },
	{ "attention_backward", "WGMMA", 90, 91, NEEDS_WGMMA },
	{ "convolution_forward", "cuDNN", ALWAYS, NEEDS_CUDNN },
	{ "convolution_forward", "SIMT", ALWAYS, NEEDS_NOTHING },
	{ "convolution_forward", "MMA", 75, 1000, NEEDS_NOTHING },
	{ "convolution_forward", "MMA, rows of images", 75, 1000, NEEDS_NOTHING },
	{ "convolution_data_gradient", "cuDNN", ALWAYS, NEEDS_CUDNN },
	{ "convolution_data_gradient", "SIMT", ALWAYS, NEEDS_NOTHING },
	{ "convolution_data_gradient", "MMA", 75, 1000, NEEDS_NOTHING },
	{ "convolution_weight_gradient", "cuDNN", ALWAYS, NEEDS_CUDNN },
	{ "convolution_weight_gradient", "SIMT", ALWAYS, NEEDS_NOTHING },
	{ "convolution_weight_gradient", "MMA", 75, 1000, NEEDS_NOTHING },
	{ "peak_fma", "", ALWAYS, NEEDS_NOTHING },
	{ "peak_fma", "FP16 pairs", 53, 1000, NEEDS_NOTHING },
	{ "peak_tensor", "WMMA", 70, 1000, NEEDS_NOT_90 },
	{ "peak_tensor", "WGMMA", 90, 91, NEEDS_WGMMA },
	{ "gemm", "cublasSgemmEx: FP16 storage, FP32 arithmetic", 0, 50, NEEDS_CUBLAS },
	{ "gemm", "cublasGemmEx: FP16 storage, FP32 arithmetic", 50, 70, NEEDS_CUBLAS },
	{ "gemm", "cublasGemmEx", ALWAYS, NEEDS_CUBLAS },
	{ "gemm", "cublasGemmEx, with tensor cores", 70, 1000, NEEDS_CUBLAS },
	{ "gemm", "cublasLtMatmul", ALWAYS, NEEDS_CUBLAS },
};

/* All other kernels have one way, which every device takes. */
static const char *const kernels[] = {
#define KERNEL_HOST(name)
#define KERNEL_CUDA(name) #name,
#define KERNEL(name) #name,
#include "kernels/kernels.def"
};

/* A launched kernel, and whether every check of it passed. */
static struct noted {
	struct code_path path;
	bool wrong;
} noted[128];
static size_t noted_count;

void coverage_note(struct device *device, bool passed)
{
	struct code_path paths[128];
	size_t count = device->backend->paths ? device->backend->paths(paths, ARRAY_SIZE(paths))
					      : 0,
	       at;

	for (size_t i = 0; i < count; i++) {
		for (at = 0; at < noted_count; at++)
			if (strcmp(noted[at].path.kernel, paths[i].kernel) == 0 &&
			    strcmp(noted[at].path.path, paths[i].path) == 0)
				break;
		if (at == ARRAY_SIZE(noted))
			continue;
		if (at == noted_count)
			noted[noted_count++] = (struct noted){ paths[i], false };
		noted[at].wrong |= !passed;
	}
}

/* "FP16 pairs" stands for its rates as well. */
static bool is_way(const char *kernel, const char *path, const struct noted *n)
{
	if (strcmp(n->path.kernel, kernel) != 0)
		return false;
	return strcmp(n->path.path, path) == 0 ||
	       (strcmp(path, "FP16 pairs") == 0 && strncmp(n->path.path, path, strlen(path)) == 0);
}

static const struct noted *find_noted(const char *kernel, const char *path)
{
	for (size_t i = 0; i < noted_count; i++)
		if (is_way(kernel, path, &noted[i]))
			return &noted[i];
	return NULL;
}

/* Why a way is not taken on this device, into `reason`; false: it should be. */
static bool left_out(const struct way *w, const struct device_info *info, char *reason, size_t size)
{
	int capability = info->capability_major * 10 + info->capability_minor;
	bool wgmma = info->capabilities & DEVICE_HAS_WGMMA;

	if (capability < w->since)
		snprintf(reason, size, "- (from %d.%d)", w->since / 10, w->since % 10);
	else if (capability >= w->until)
		snprintf(reason, size, "- (before %d.%d)", w->until / 10, w->until % 10);
	else if (w->needs == NEEDS_CUDNN && !(info->capabilities & DEVICE_HAS_CONVOLUTIONS))
		snprintf(reason, size, "- (no cuDNN)");
	else if (w->needs == NEEDS_WGMMA && !wgmma)
		snprintf(reason, size, "- (no WGMMA in %s)", info->module);
	else if (w->needs == NEEDS_NO_WGMMA && wgmma)
		snprintf(reason, size, "- (WGMMA instead)");
	else if (w->needs == NEEDS_NOT_90 && capability == 90)
		snprintf(reason, size, "- (needs WGMMA)");
	else
		return false;
	return true;
}

static bool has_cublas(const char *kernel)
{
	for (size_t i = 0; i < noted_count; i++)
		if (strcmp(noted[i].path.kernel, kernel) == 0)
			return true;
	return false;
}

/* One line of the table; 1 when it is not as it should be. */
static int write_way(const struct way *w, const struct device_info *info, FILE *out)
{
	const struct noted *n = find_noted(w->kernel, w->path);
	char cell[96] = "right", reason[64];
	bool apart = left_out(w, info, reason, sizeof(reason));
	int bad = 0;

	if (apart)
		snprintf(cell, sizeof(cell), "%s", reason);
	if (!apart && !n && w->needs == NEEDS_CUBLAS && !has_cublas(w->kernel))
		snprintf(cell, sizeof(cell), "- (no cuBLAS for %s)", info->module);
	else if (!apart && !n)
		bad = snprintf(cell, sizeof(cell), "NOT LAUNCHED") > 0;
	else if (!apart && n->wrong)
		bad = snprintf(cell, sizeof(cell), "WRONG") > 0;
	else if (apart && n)
		bad = snprintf(cell, sizeof(cell), "LAUNCHED ALTHOUGH %s", reason + 2) > 0;
	fprintf(out, "%s\t%s\t%s\n", w->kernel, w->path[0] ? w->path : "one code for all", cell);
	return bad;
}

static bool has_ways(const char *kernel)
{
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		if (strcmp(ways[i].kernel, kernel) == 0)
			return true;
	return false;
}

/* Launched code paths that are not expected. */
static int unexpected(FILE *out)
{
	int count = 0;

	for (size_t i = 0; i < noted_count; i++) {
		bool known = !has_ways(noted[i].path.kernel) && noted[i].path.path[0] == '\0';

		for (size_t w = 0; w < ARRAY_SIZE(ways); w++)
			known |= is_way(ways[w].kernel, ways[w].path, &noted[i]);
		if (known)
			continue;
		fprintf(out, "%s\t%s\tUNEXPECTED\n", noted[i].path.kernel, noted[i].path.path);
		count++;
	}
	return count;
}

int coverage_write(const struct device_info *info, const char *file)
{
	FILE *out = fopen(file, "w");
	int bad = 0;

	if (!out) {
		perror(file);
		return 1;
	}
	for (size_t i = 0; i < ARRAY_SIZE(kernels); i++) {
		const struct way only = { kernels[i], "", ALWAYS, NEEDS_NOTHING };

		if (!has_ways(kernels[i]))
			bad += write_way(&only, info, out);
	}
	for (size_t i = 0; i < ARRAY_SIZE(ways); i++)
		bad += write_way(&ways[i], info, out);
	bad += unexpected(out);
	return fclose(out) == 0 ? bad : bad + 1;
}
