/*
 * Variation between nights: how much the values of one series differ from night to night without a
 * change.
 *
 *	struct night_spread spread;
 *	history_spread(history, "transfer.bandwidth", "transfer/h2d/pinned/64MiB@cuda:0", NULL,
 *		       &spread, err);
 *	if (spread.nights >= 8)
 *		... spread.ratio is the standard deviation of one night's value, 0.01 is 1 % ...
 *
 * It includes the variation between sessions (clocks, placement, state of the host) and between
 * launches of one session. For the difference of two nights, multiply by sqrt(2).
 */
#ifndef GPUPROOF_HISTORY_HISTORY_SPREAD_H
#define GPUPROOF_HISTORY_HISTORY_SPREAD_H

#include "history/history.h"

struct night_spread {
	double ratio;  /* standard deviation of log values; NaN if no machine has two nights */
	size_t nights; /* number of values; 0: no such series */
};

/*
 * Variation of the nights since the last change in the newest epoch. `machine` as in struct
 * history_series (UUID of a device, or host); NULL pools all machines with this case, each around
 * its own median. An unknown series is not an error.
 */
enum status history_spread(struct store *history, const char *metric, const char *case_id,
			   const char *machine, struct night_spread *out, struct error *err);

#endif
