/*
 * One case of congestion: every rank's part. The ranks of some nodes, the victims, repeat an
 * operation of their own; those of the others load the network with another one. Measured are the
 * load alone, the victims alone, and the victims under load.
 */
#ifndef GPUPROOF_CONGESTION_MEASURE_H
#define GPUPROOF_CONGESTION_MEASURE_H

#include "measure/run.h"

/* Work of the other nodes; `incast`: all of them send to the first one. */
enum load { LOAD_ALL_TO_ALL, LOAD_INCAST, LOAD_ALL_REDUCE, LOAD_BROADCAST };

/* Fewest victims, and fewest nodes that load the network: with one nothing crosses it. */
#define CONGESTION_NODES_LEAST 2

/* How many of `nodes` are victims; leaves at least CONGESTION_NODES_LEAST others of 4 and more. */
int congestion_victims(int nodes, double share);
/*
 * True if the node is one: they are evenly spaced, so that each part of the network has some, and
 * others in each turn (from 0).
 */
bool congestion_is_victim(int node, int nodes, int victims, int turn);

/* struct suite's run and state. */
enum status congestion_run(struct run *run, struct error *err);
void *congestion_open_state(void);
void congestion_close_state(void *state);

#endif
