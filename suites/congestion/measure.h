/*
 * One case of congestion on one rank. The ranks of some nodes, the victims, repeat an operation;
 * those of the others load the network with another one. Measures the load alone, the victims
 * alone, and the victims under load.
 */
#ifndef GPUPROOF_CONGESTION_MEASURE_H
#define GPUPROOF_CONGESTION_MEASURE_H

#include "measure/run.h"

/* Load by the other nodes; `incast`: all of them send to the first one. */
enum load { LOAD_ALL_TO_ALL, LOAD_INCAST, LOAD_ALL_REDUCE, LOAD_BROADCAST };

/*
 * Minimum number of victims, and of nodes that load the network: with one, no traffic crosses it.
 */
#define CONGESTION_NODES_LEAST 2

/*
 * Number of victims among `nodes`; leaves at least CONGESTION_NODES_LEAST others if there are 4 or
 * more.
 */
int congestion_measure_victims(int nodes, double share);
/*
 * True if the node is a victim. Victims are evenly spaced, so that each part of the network has
 * some, and differ in each turn (from 0).
 */
bool congestion_measure_is_victim(int node, int nodes, int victims, int turn);

/* run() and state of struct suite. */
enum status congestion_measure_run(struct run *run, struct error *err);
void *congestion_measure_open_state(void);
void congestion_measure_close_state(void *state);

#endif
