/*
 * Threadblock swizzle: maps a block index to a tile of C. Concurrent blocks cover a roughly square
 * patch, so that they share A and B in L2.
 */
#ifndef GPUPROOF_KERNELS_TILE_ORDER_CUH
#define GPUPROOF_KERNELS_TILE_ORDER_CUH

#define TILE_ORDER_GROUP 8

static __device__ __forceinline__ void tile_order_of_block(int block, int rows, int columns,
							   int *row, int *column)
{
	int group = block / (TILE_ORDER_GROUP * columns), first = group * TILE_ORDER_GROUP;
	int height = rows - first < TILE_ORDER_GROUP ? rows - first : TILE_ORDER_GROUP;
	int within = block - first * columns;

	*row = first + within % height;
	*column = within / height;
}

#endif
