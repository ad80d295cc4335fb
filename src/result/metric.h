/* A metric: a named quantity with unit and direction. */
#ifndef GPUPROOF_RESULT_METRIC_H
#define GPUPROOF_RESULT_METRIC_H

enum better { BETTER_HIGHER, BETTER_LOWER, BETTER_NONE };

struct metric {
	const char *name; /* "transfer.bandwidth": suite.metric */
	const char *unit; /* SI base: "B/s", "s", "FLOP/s", "B", "1" (a ratio) */
	enum better better;
	int headline; /* 1: the suite's main figure, shown first and charted */
	const char *help; /* one line: its definition */
};

#endif
