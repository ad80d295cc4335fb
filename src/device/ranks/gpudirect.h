/*
 * GPUDirect RDMA: the network adapter accesses GPU memory directly, instead of through buffers in
 * host memory. NCCL decides once per process, by the distance of GPU and adapter and by
 * NCCL_NET_GDR_LEVEL.
 */
#ifndef GPUPROOF_DEVICE_RANKS_GPUDIRECT_H
#define GPUPROOF_DEVICE_RANKS_GPUDIRECT_H

enum gpudirect { GPUDIRECT_DEFAULT, GPUDIRECT_ON, GPUDIRECT_OFF };

/*
 * Call before NCCL's first call in this process or its children: at any distance (SYS), or never
 * (LOC). GPUDIRECT_DEFAULT changes nothing.
 */
void gpudirect_ask(enum gpudirect wanted);

#endif
