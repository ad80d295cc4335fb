/*
 * Thinning of old nights: a history of years stays small, and says the same as before.
 *
 * Of nights before a day only some keep their figures: the first in each THIN_EVERY days that a
 * series has a value in, in each epoch; nights within THIN_AROUND nights of a change; incomplete
 * and rejected ones; days with a note. A thinned night stays in the list with its devices and its
 * verdict.
 *
 * All series are judged before and after. A series of which anything but its count of nights is
 * said otherwise keeps all its nights; where that does not help either, nothing is thinned. It is
 * one transaction: a crash undoes it.
 */
#ifndef GPUPROOF_HISTORY_THIN_THIN_H
#define GPUPROOF_HISTORY_THIN_THIN_H

#include "history/store.h"

#define THIN_EVERY 7   /* days */
#define THIN_AROUND 15 /* nights of the series before and after a change */
#define THIN_LATEST 30 /* days that stay whole: warnings and comparisons of nodes look at them */

struct thinning {
	size_t nights; /* thinned now */
	size_t whole;  /* series that keep all their nights, since they would be judged otherwise */
};

/*
 * STATUS_USAGE: `before` is less than THIN_LATEST days before the history's last night, or the
 * history would say something else.
 */
enum status history_thin(struct store *store, int64_t before, struct thinning *out,
			 struct error *err);

#endif
