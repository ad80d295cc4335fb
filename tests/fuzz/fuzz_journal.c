/* A line of the journal, which is also what a worker sends. */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "result/result.h"
#include "run/workers/message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A line is given without a NUL after it: one that is read too far is found. */
	char *line = malloc(size + !size);
	struct message message;
	struct case_result c;
	struct lost_worker lost;
	bool whole;
	struct error err = ERROR_NONE;

	memcpy(line, data, size);
	whole = !memchr(line, '\n', size) && worker_message_parse(line, size, &message);
	if (whole && message.kind == MESSAGE_LOST &&
	    lost_worker_from_json(&lost, message.json, message.json_length, &err) == STATUS_OK)
		lost_worker_release(&lost);
	if (whole && (message.kind == MESSAGE_CASE || message.kind == MESSAGE_PARTIAL) &&
	    case_result_from_json(&c, message.json, message.json_length, &err) == STATUS_OK)
		case_result_release(&c);
	free(line);
	return 0;
}
