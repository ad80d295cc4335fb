/*
 * Which tile of C a block makes: the blocks that run together make a patch of C that is about as
 * high as wide, so that they share what they read of A and B in the last-level cache.
 */
#ifndef GPUPROOF_KERNELS_TILE_ORDER_CUH
#define GPUPROOF_KERNELS_TILE_ORDER_CUH

#define TILE_ORDER_GROUP 8

static __device__ __forceinline__ void tile_of_block(int block, int rows, int columns, int *row,
						     int *column)
{
	int group = block / (TILE_ORDER_GROUP * columns), first = group * TILE_ORDER_GROUP;
	int height = rows - first < TILE_ORDER_GROUP ? rows - first : TILE_ORDER_GROUP;
	int within = block - first * columns;

	*row = first + within % height;
	*column = within / height;
}

#endif
