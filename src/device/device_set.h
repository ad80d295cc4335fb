/*
 * Sets of devices of any size, by position: those of a communicator's ranks, on one or several
 * nodes. Within a node a device is identified by its index in its backend.
 */
#ifndef GPUPROOF_DEVICE_DEVICE_SET_H
#define GPUPROOF_DEVICE_DEVICE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct device_address {
	int node, index;
};

/* Devices without duplicates, in the order of the calls. All zeros: empty. */
struct device_set {
	struct device_address *items; /* owned */
	size_t count, capacity;
};

void device_set_add(struct device_set *set, struct device_address address);
bool device_set_has(const struct device_set *set, struct device_address address);
/* True if all devices are on `node`. */
bool device_set_on_node(const struct device_set *set, int node);
void device_set_release(struct device_set *set);

/* Maximum number of devices of one backend in a node. */
#define NODE_DEVICES_MOST 1024

/* Devices of one backend in a node as a bit set: bit i % 64 of word i / 64. */
struct device_bits {
	uint64_t words[NODE_DEVICES_MOST / 64];
};

static inline bool device_bits_has(const struct device_bits *bits, int index)
{
	return index >= 0 && index < NODE_DEVICES_MOST && bits->words[index / 64] >> index % 64 & 1;
}

static inline void device_bits_add(struct device_bits *bits, int index)
{
	if (index >= 0 && index < NODE_DEVICES_MOST)
		bits->words[index / 64] |= UINT64_C(1) << index % 64;
}

#endif
