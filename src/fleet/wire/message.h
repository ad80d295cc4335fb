/*
 * Messages between the conductor of a run on several nodes and its agents: a call of fixed size,
 * then one JSON object a line over TCP; and the environment by which a launcher tells agents where
 * to call.
 *
 *	agent to conductor             conductor to agent
 *	hello   build, node     start   directory, run, silent_after, share, shares
 *	alive   planned, finished,     refuse  text: why
 *	        text: case in flight   alive
 *	done    state                  stop
 *	failed  text: why              lead    group, text: its nodes, scope, round, first, last,
 *	                                       asked
 *	listens group, address         join    the same, and address
 *	ended   group, status, rank,   end     group, text: why
 *	        text: why
 */
#ifndef GPUPROOF_FLEET_WIRE_MESSAGE_H
#define GPUPROOF_FLEET_WIRE_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/text.h"

#define FLEET_PROTOCOL 6
#define FLEET_TOKEN_BYTES 32
#define FLEET_TOKEN_LENGTH (2 * FLEET_TOKEN_BYTES)
/* No message is longer; of a caller whose hello is not accepted yet, FLEET_HELLO_MOST. */
#define FLEET_MESSAGE_MOST (1 << 20)
#define FLEET_HELLO_MOST 4096
#define FLEET_NAME_MOST 63

/*
 * The first bytes of a connection, before any message: nothing is parsed of a caller without the
 * token. The name is a hint for people.
 */
struct fleet_call {
	char token[FLEET_TOKEN_LENGTH]; /* hexadecimal digits */
	char node[FLEET_NAME_MOST];     /* filled up with spaces */
	char end;                       /* a line break */
};

/* "10.0.0.1:4242,127.0.0.1:4242": the conductor's addresses, tried in this order. */
#define FLEET_ADDRESS_VARIABLE "GPUPROOF_AGENT_ADDRESS"
/* 64 hexadecimal digits; never on a command line, which other users can read. */
#define FLEET_TOKEN_VARIABLE "GPUPROOF_AGENT_TOKEN"
/* The node's name where it is not the host's. */
#define FLEET_NODE_VARIABLE "GPUPROOF_AGENT_NODE"

/* Text is NULL or "" where it is not given; after reading never NULL. */
struct fleet_message {
	const char *kind;
	int64_t protocol;
	const char *build, *node;
	const char *directory, *run; /* run: run_id of the header in DIR/run.jsonl */
	double silent_after;         /* seconds */
	int64_t share, shares;       /* of this machine's GPUs, where agents share one machine */
	int64_t planned, finished;
	const char *state; /* as result.state */
	/* Cases of several nodes together (fleet/rounds.h). */
	int64_t groups; /* start: 1 if there will be some */
	int64_t group;  /* number, never the same twice */
	int64_t scope;  /* enum suite_groups */
	int64_t round;
	int64_t first, last;  /* cases of its plan */
	int64_t asked;        /* value of `nodes` that it is for; 0: all */
	const char *address;  /* of the leader's world: host, port, id and token */
	int64_t status, rank; /* of "ended": as in struct error, whose message is the text */
	const char *text;
};

/* Appends it with its line break. */
void wire_message_add(struct text *to, const struct fleet_message *message);
/*
 * Takes the next whole line out of what was read. False: there is none. A line that is no message
 * has the kind "".
 */
bool wire_message_next(struct text *in, struct fleet_message *message);
void wire_message_release(struct fleet_message *message);

/* 256 random bits as hexadecimal digits. */
enum status wire_message_token_make(char out[FLEET_TOKEN_LENGTH + 1], struct error *err);
/* The bytes that a caller begins with. */
struct fleet_call wire_message_call_make(const char *token, const char *node);
/*
 * True for the token, after the same time whatever differs; `node`: the name, "" if it is not
 * valid.
 */
bool wire_message_call_read(const struct fleet_call *call, const char *token,
			    char node[FLEET_NAME_MOST + 1]);
/* True if it can be the name of a folder: letters, digits, '.', '_', '-'; at most 63. */
bool wire_message_name_valid(const char *name);

#endif
