/* Device properties that are known without opening the device for work. */
#ifndef GPUPROOF_DEVICE_DEVICE_INFO_H
#define GPUPROOF_DEVICE_DEVICE_INFO_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "device/device_set.h"

enum device_capability {
	DEVICE_HAS_FP64 = 1 << 0,
	DEVICE_HAS_FP32 = 1 << 1,
	DEVICE_HAS_TF32 = 1 << 2,
	DEVICE_HAS_FP16 = 1 << 3, /* GEMM with FP16 operands, FP32 accumulation */
	DEVICE_HAS_BF16 = 1 << 4,
	DEVICE_HAS_POOLS = 1 << 5, /* stream-ordered allocation */
	DEVICE_HAS_COLLECTIVES = 1 << 6,
	/* its memory belongs to the operating system: CPU, integrated GPU */
	DEVICE_SHARES_HOST_MEMORY = 1 << 7,
	DEVICE_HAS_FP8 = 1 << 8,  /* GEMM with E4M3 operands */
	DEVICE_HAS_INT8 = 1 << 9, /* GEMM with INT8 operands */
	/* GEMM with FP16 operands and FP16 accumulation */
	DEVICE_HAS_FP16_ACC16 = 1 << 10,
	/* tensor instructions of 9.0, and a module with code for them */
	DEVICE_HAS_WGMMA = 1 << 11,
	DEVICE_IS_HOST = 1 << 12,          /* the CPU itself, or a partition of its cores */
	DEVICE_HAS_TENSOR_CORES = 1 << 13, /* matrix multiply instructions */
	DEVICE_HAS_CONVOLUTIONS = 1 << 14  /* a library of convolutions */
};

/* Unknown numbers are 0, unknown text is "". */
struct device_info {
	char id[96];      /* "cuda:0", "host:1"; in a multi-node result "node7/cuda:0" */
	char backend[16]; /* "cuda", "host" */
	char module[16];  /* "cuda13", "cuda11", "built-in" */
	/* index of the node in the run, from 0; set by the caller, not by backends */
	int node;
	int index; /* index within the backend */
	char name[128];
	char uuid[64];
	char serial[32]; /* serial number printed on the board */
	char vbios[32];  /* firmware version, "96.00.74.00.01"; "": unknown */
	char pci[32];    /* "0000:3b:00.0" */
	/* compute capability, or the emulated one */
	int capability_major, capability_minor;
	/* the real compute capability ("9.0") if another one is emulated, else "" */
	char emulated_on[8];
	int multiprocessors; /* host: cores of this partition */
	uint64_t memory_bytes, memory_free_bytes;
	uint64_t l2_bytes;
	double clock_hz, memory_clock_hz; /* maximum */
	int memory_bus_bits;
	int pcie_generation, pcie_width; /* current link; maximum below */
	int pcie_generation_max, pcie_width_max;
	int ecc;                  /* 1 on, 0 off, -1 unknown or none */
	int numa_node;            /* -1 unknown */
	unsigned capabilities;    /* enum device_capability */
	struct device_bits peers; /* devices of this backend whose memory it can access */
	int nvlink_count;         /* active links; 0: none or unknown */
	/* B/s of the node's fastest active port, one direction; set by the conductor */
	double nic_bandwidth;
};

/* True if `backend` names the device's backend ("cuda") or its module ("cuda11"). */
static inline bool device_is_of(const struct device_info *info, const char *backend)
{
	return strcmp(info->backend, backend) == 0 || strcmp(info->module, backend) == 0;
}

/*
 * In a multi-node run an id is "n1/cuda:0": length of the node's name (0: none), and the id on that
 * node, a part of `id`.
 */
static inline size_t device_node_length(const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? (size_t)(slash - id) : 0;
}

static inline const char *device_id_on_node(const char *id)
{
	const char *slash = strchr(id, '/');

	return slash ? slash + 1 : id;
}

static inline bool device_id_is_of_node(const char *id, const char *node)
{
	size_t length = strlen(node);

	return strncmp(id, node, length) == 0 && id[length] == '/';
}

static inline bool device_ids_share_node(const char *a, const char *b)
{
	size_t length = device_node_length(a);

	return length == device_node_length(b) && memcmp(a, b, length) == 0;
}

static inline struct device_address device_address(const struct device_info *info)
{
	return (struct device_address){ info->node, info->index };
}

static inline bool device_is_host(const struct device_info *info)
{
	return info->capabilities & DEVICE_IS_HOST;
}

/*
 * Capabilities implied by backend and compute capability. A backend sets them with its own; readers
 * of documents older than these bits, and of other tools' files, add them.
 */
static inline unsigned device_implied_capabilities(const struct device_info *info)
{
	if (strcmp(info->backend, "host") == 0)
		return DEVICE_IS_HOST;
	return info->capability_major >= 7 ? DEVICE_HAS_TENSOR_CORES : 0;
}

#endif
