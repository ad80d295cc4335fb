/*
 * The spread between nights: how far apart the figures of one series are from night to night, while
 * nothing changes.
 *
 *	struct night_spread spread;
 *	history_spread(history, "transfer.bandwidth", "transfer/h2d/pinned/64MiB@cuda:0", NULL,
 *		       &spread, err);
 *	if (spread.nights >= 8)
 *		... spread.ratio is the standard deviation of one night's value, 0.01 is 1 % ...
 *
 * It contains what differs between visits (clocks, placement, the state of the host) and what
 * differs between launches of one visit. For the difference of two nights multiply by sqrt(2).
 */
#ifndef GPUPROOF_HISTORY_HISTORY_SPREAD_H
#define GPUPROOF_HISTORY_HISTORY_SPREAD_H

#include "history/history.h"

struct night_spread {
	double ratio;  /* of the logarithms of values; NaN when no machine has two nights */
	size_t nights; /* the figures it was computed from; 0: no such series */
};

/*
 * Spread of the nights since the last change in the newest epoch. `machine` as in struct
 * history_series (a device's UUID, or the host); NULL pools all machines that have this case, each
 * around its own median. An unknown series is no error.
 */
enum status history_spread(struct store *history, const char *metric, const char *case_id,
			   const char *machine, struct night_spread *out, struct error *err);

#endif
