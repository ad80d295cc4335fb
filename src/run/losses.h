/* Workers that were lost, until a case reports them. */
#ifndef GPUPROOF_RUN_LOSSES_H
#define GPUPROOF_RUN_LOSSES_H

#include "result/result.h"

/* In the order in which they were lost. The owner releases them. */
struct losses {
	struct lost_worker *items;
	size_t count, capacity;
};

void losses_add(struct losses *losses, struct lost_worker *lost); /* empties `lost` */
void losses_attach(struct losses *losses,
		   struct case_result *c); /* moves all of them into the case */
void losses_release(struct losses *losses);

#endif
