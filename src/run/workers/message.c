#include "run/workers/message.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const frames[] = {
	[MESSAGE_START] = "{\"start\":",       [MESSAGE_READY] = "{\"ready\":",
	[MESSAGE_PROGRESS] = "{\"progress\":", [MESSAGE_CASE] = "{\"case\":",
	[MESSAGE_PARTIAL] = "{\"partial\":",   [MESSAGE_LOST] = "{\"lost\":",
};

void worker_message_add_index(struct text *to, enum message_kind kind, size_t index)
{
	text_addf(to, "%s%zu}\n", frames[kind], index);
}

static void worker_message_add_number(struct text *to, double value)
{
	if (isfinite(value))
		text_addf(to, "%.9g", value);
	else
		text_add(to, "null");
}

void worker_message_add_progress(struct text *to, size_t samples, double median, double half_width)
{
	text_addf(to, "%s{\"samples\":%zu,\"median\":", frames[MESSAGE_PROGRESS], samples);
	worker_message_add_number(to, median);
	text_add(to, ",\"half_width\":");
	worker_message_add_number(to, half_width);
	text_add(to, "}}\n");
}

void worker_message_add_case(struct text *to, bool partial, const struct case_result *c)
{
	char *json = case_result_to_json(c);

	text_addf(to, "%s%s}\n", frames[partial ? MESSAGE_PARTIAL : MESSAGE_CASE], json);
	free(json);
}

void worker_message_add_lost(struct text *to, const struct lost_worker *lost)
{
	char *json = lost_worker_to_json(lost);

	text_addf(to, "%s%s}\n", frames[MESSAGE_LOST], json);
	free(json);
}

static bool worker_message_parse_number(const char *s, double *value)
{
	char *end;

	*value = NAN;
	if (strcmp(s, "null") == 0)
		return true;
	*value = strtod(s, &end);
	return end != s && *end == '\0' && isfinite(*value);
}

static bool worker_message_parse_body(const char *body, size_t length, struct message *out)
{
	char copy[128], median[32], half_width[32];
	int end = 0;

	if (out->kind >= MESSAGE_CASE) {
		out->json = body;
		out->json_length = length;
		return true;
	}
	if (length >= sizeof(copy))
		return false;
	memcpy(copy, body, length);
	copy[length] = '\0';
	if (out->kind == MESSAGE_PROGRESS)
		return sscanf(copy, "{\"samples\":%zu,\"median\":%31[^,],\"half_width\":%31[^}]}%n",
			      &out->samples, median, half_width, &end) == 3 &&
		       copy[end] == '\0' && end > 0 &&
		       worker_message_parse_number(median, &out->median) &&
		       worker_message_parse_number(half_width, &out->half_width);
	return copy[0] >= '0' && copy[0] <= '9' && sscanf(copy, "%zu%n", &out->index, &end) == 1 &&
	       copy[end] == '\0';
}

bool worker_message_parse(const char *line, size_t length, struct message *out)
{
	*out = (struct message){ .line = line, .line_length = length };
	for (int kind = MESSAGE_START; kind <= MESSAGE_LOST; kind++) {
		size_t opening = strlen(frames[kind]);

		if (length <= opening || memcmp(line, frames[kind], opening) != 0)
			continue;
		out->kind = (enum message_kind)kind;
		return line[length - 1] == '}' &&
		       worker_message_parse_body(line + opening, length - opening - 1, out);
	}
	return false;
}
