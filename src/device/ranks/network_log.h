/*
 * NCCL's choice of network, which only its log contains: the transport, the adapters, and whether
 * the adapter accesses GPU memory (GPUDirect RDMA). The log of a process is written to memory
 * instead of a file.
 */
#ifndef GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H
#define GPUPROOF_DEVICE_RANKS_NETWORK_LOG_H

#include <stddef.h>

/*
 * Call before NCCL's first call in this process: sets NCCL_DEBUG, NCCL_DEBUG_SUBSYS and
 * NCCL_DEBUG_FILE. Does nothing if one of them is set: the user wants that log.
 */
void network_log_open(void);

/* Choices of the library so far. */
struct network_choice {
	/* connections to other nodes, and those of them with GPUDirect RDMA; 0: unknown, or none */
	size_t all, direct;
	/*
	 * "NET/IB over mlx5_0:1/IB, GPUDirect RDMA". NULL: no log, or no connection to another
	 * node. The caller frees it.
	 */
	char *text;
};

/* Choices of this process. */
struct network_choice network_log_choice(void);
/* As `length` bytes of a log show; knows the lines of releases 2.4 to 2.28. */
struct network_choice network_log_choice_text(const char *log, size_t length);

#endif
