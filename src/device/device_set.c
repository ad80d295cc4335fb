#include "device/device_set.h"

#include <stdlib.h>

#include "base/memory.h"

void device_set_add(struct device_set *set, struct device_address address)
{
	if (device_set_has(set, address))
		return;
	ARRAY_GROW(set->items, set->count, set->capacity);
	set->items[set->count++] = address;
}

bool device_set_has(const struct device_set *set, struct device_address address)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].node == address.node && set->items[i].index == address.index)
			return true;
	return false;
}

bool device_set_on_node(const struct device_set *set, int node)
{
	for (size_t i = 0; i < set->count; i++)
		if (set->items[i].node != node)
			return false;
	return true;
}

void device_set_release(struct device_set *set)
{
	free(set->items);
	*set = (struct device_set){ 0 };
}
