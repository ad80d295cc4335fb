#include "cli/topics.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

const struct embedded_file *topic_find(const char *name)
{
	char *file = xasprintf("%s.txt", name);
	const struct embedded_file *topic = embedded_find(embedded_topics, file);

	free(file);
	return topic;
}

char *topic_summary(const struct embedded_file *topic)
{
	const char *text = (const char *)topic->data;

	return xstrndup(text, strcspn(text, "\n"));
}

const char *topic_body(const struct embedded_file *topic)
{
	const char *text = (const char *)topic->data;

	text += strcspn(text, "\n");
	return text + strspn(text, "\n");
}

char *topic_name(const struct embedded_file *topic)
{
	return xstrndup(topic->name, strcspn(topic->name, "."));
}
