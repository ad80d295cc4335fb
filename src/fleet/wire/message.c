#include "fleet/wire/message.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/memory.h"
#include "net/net.h"
#include "result/json/json_fields.h"

static const struct field message_fields[] = {
	FIELD(fleet_message, kind, string),
	FIELD(fleet_message, protocol, int64, .optional = true),
	FIELD(fleet_message, build, string, .omitted = true),
	FIELD(fleet_message, node, string, .omitted = true),
	FIELD(fleet_message, directory, string, .omitted = true),
	FIELD(fleet_message, run, string, .omitted = true),
	FIELD(fleet_message, silent_after, real, .optional = true),
	FIELD(fleet_message, share, int64, .optional = true),
	FIELD(fleet_message, shares, int64, .optional = true),
	FIELD(fleet_message, planned, int64, .optional = true),
	FIELD(fleet_message, finished, int64, .optional = true),
	FIELD(fleet_message, state, string, .omitted = true),
	FIELD(fleet_message, groups, int64, .optional = true),
	FIELD(fleet_message, group, int64, .optional = true),
	FIELD(fleet_message, scope, int64, .optional = true),
	FIELD(fleet_message, round, int64, .optional = true),
	FIELD(fleet_message, first, int64, .optional = true),
	FIELD(fleet_message, last, int64, .optional = true),
	FIELD(fleet_message, asked, int64, .optional = true),
	FIELD(fleet_message, address, string, .omitted = true),
	FIELD(fleet_message, status, int64, .optional = true),
	FIELD(fleet_message, rank, int64, .optional = true),
	FIELD(fleet_message, text, string, .omitted = true),
	{ 0 },
};

void wire_message_add(struct text *to, const struct fleet_message *message)
{
	char *line = json_fields_line(message_fields, message);

	text_add(to, line);
	text_add_char(to, '\n');
	free(line);
}

bool wire_message_next(struct text *in, struct fleet_message *message)
{
	const char *end = in->length ? memchr(in->data, '\n', in->length) : NULL;
	struct error ignored = ERROR_NONE;
	size_t length;

	if (!end)
		return false;
	length = (size_t)(end - in->data);
	memset(message, 0, sizeof(*message));
	if (json_fields_parse(in->data, length, message_fields, message, &ignored) != STATUS_OK) {
		wire_message_release(message);
		message->kind = xstrdup("");
	}
	in->length -= length + 1;
	memmove(in->data, end + 1, in->length);
	return true;
}

void wire_message_release(struct fleet_message *message)
{
	json_fields_release(message_fields, message);
	memset(message, 0, sizeof(*message));
}

enum status wire_message_token_make(char out[FLEET_TOKEN_LENGTH + 1], struct error *err)
{
	unsigned char bytes[FLEET_TOKEN_BYTES];

	if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
		return error_errno(err, "getrandom");
	for (size_t i = 0; i < sizeof(bytes); i++)
		snprintf(out + 2 * i, 3, "%02x", bytes[i]);
	return STATUS_OK;
}

struct fleet_call wire_message_call_make(const char *token, const char *node)
{
	struct fleet_call call = { .end = '\n' };

	memset(&call, ' ', offsetof(struct fleet_call, end));
	memcpy(call.token, token, strnlen(token, sizeof(call.token)));
	memcpy(call.node, node, strnlen(node, sizeof(call.node)));
	return call;
}

bool wire_message_call_read(const struct fleet_call *call, const char *token,
			    char node[FLEET_NAME_MOST + 1])
{
	memcpy(node, call->node, FLEET_NAME_MOST);
	node[FLEET_NAME_MOST] = '\0';
	node[strcspn(node, " ")] = '\0';
	if (!wire_message_name_valid(node))
		*node = '\0';
	return net_equal(call->token, token, FLEET_TOKEN_LENGTH) && call->end == '\n';
}

bool wire_message_name_valid(const char *name)
{
	size_t length =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return length > 0 && length < 64 && !name[length] && *name != '.' && *name != '-' &&
	       strcasecmp(name, "ALL") != 0 && strcasecmp(name, "DEFAULT") != 0;
}
