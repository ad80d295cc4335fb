#include "result/anonymise/anonymise.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "result/anonymise/anonymise_parts.h"
#include "result/json/json_fields.h"

/* A rule is this path's, or that of something within it. */
static bool is_within(const char *rule, const char *path, size_t length)
{
	return strncmp(rule, path, length) == 0 &&
	       (!rule[length] || rule[length] == '.' || rule[length] == '[');
}

static const struct anonymise_rule *rule_within(const char *path)
{
	const size_t length = strlen(path);

	for (const struct anonymise_rule *r = anonymise_rules; r->path; r++)
		if (is_within(r->path, path, length))
			return r;
	return NULL;
}

/* The path of a member as the rules have it: its name, or * for any. */
static char *member_path(const char *parent, const char *name)
{
	char *path = xasprintf("%s%s%s", parent, *parent ? "." : "", name), *any;

	if (rule_within(path))
		return path;
	any = xasprintf("%s%s*", parent, *parent ? "." : "");
	if (!rule_within(any)) {
		free(any);
		return path;
	}
	free(path);
	return any;
}

/* A case by its status, a check by its verdict. */
static bool is_in_error(const json_t *object)
{
	const char *status = json_string_value(json_object_get(object, "status"));
	const char *verdict = json_string_value(json_object_get(object, "verdict"));

	return (status && strcmp(status, "ERROR") == 0) ||
	       (verdict && strcmp(verdict, "ERROR") == 0);
}

/*
 * NULL: the member is left out. `object` and `name`: of which it is a member; NULL and "" for an
 * element.
 */
static char *treated(struct anonymiser *a, const struct anonymise_rule *rule, const json_t *object,
		     const char *name, const char *text)
{
	const char *key = json_string_value(json_object_get(object, "key"));

	switch (rule ? rule->treatment : TREAT_DROP) {
	case TREAT_DROP:
		return xstrdup("");
	case TREAT_KEEP:
		return xstrdup(text);
	case TREAT_NAME:
		return anonymise_name(a, rule->kind, text);
	case TREAT_TEXT:
		return anonymise_text(a, text);
	case TREAT_REASON:
		return is_in_error(object) ? anonymise_quoted(a, text) : anonymise_text(a, text);
	case TREAT_QUOTED:
		return anonymise_quoted(a, text);
	case TREAT_LABEL:
		return anonymise_label(a, text);
	case TREAT_CASE:
		return anonymise_case(a, text);
	case TREAT_LIMIT:
		return anonymise_limit(a, text);
	case TREAT_FILE:
		return anonymise_file(a, text);
	case TREAT_PLACE:
		return anonymise_place(a, text);
	case TREAT_SECTION:
		return anonymise_section(a, text);
	case TREAT_VALUE:
		return anonymise_setting(a, key ? key : "", text);
	case TREAT_INI:
		return anonymise_ini(a, text);
	case TREAT_FACT:
		return anonymise_fact(a, name, text);
	}
	return xstrdup("");
}

static json_t *rewritten(struct anonymiser *a, const char *path, const json_t *object,
			 const char *name, const json_t *value);

static json_t *rewritten_object(struct anonymiser *a, const char *path, const json_t *object)
{
	json_t *out = json_object(), *item;
	const char *name;

	json_object_foreach((json_t *)object, name, item)
	{
		char *member = member_path(path, name);
		json_t *changed = rewritten(a, member, object, name, item);

		if (changed)
			json_object_set_new(out, name, changed);
		free(member);
	}
	return out;
}

static json_t *rewritten_array(struct anonymiser *a, const char *path, const json_t *array)
{
	char *element = xasprintf("%s[]", path);
	json_t *out = json_array();

	for (size_t i = 0; i < json_array_size(array); i++)
		json_array_append_new(out,
				      rewritten(a, element, NULL, "", json_array_get(array, i)));
	free(element);
	return out;
}

static json_t *rewritten(struct anonymiser *a, const char *path, const json_t *object,
			 const char *name, const json_t *value)
{
	const struct anonymise_rule *rule = rule_within(path);
	const bool own = rule && strcmp(rule->path, path) == 0;
	json_t *out;
	char *text;

	if (!json_is_string(value) && own && rule->treatment == TREAT_KEEP)
		return json_incref((json_t *)value);
	if (json_is_object(value))
		return rewritten_object(a, path, value);
	if (json_is_array(value))
		return rewritten_array(a, path, value);
	if (!json_is_string(value))
		return json_incref((json_t *)value);
	text = treated(a, own ? rule : NULL, object, name, json_string_value(value));
	out = text ? json_string(text) : NULL;
	free(text);
	return out;
}

/* The result as an anonymised document. */
static enum status rewrite(struct anonymiser *a, const struct result *result, json_t **out,
			   struct error *err)
{
	char *text = result_to_json(result);
	json_t *before;
	enum status status = json_parse(text, strlen(text), &before, err);

	free(text);
	if (status != STATUS_OK)
		return status;
	*out = rewritten(a, "", NULL, "", before);
	json_decref(before);
	return STATUS_OK;
}

/* Rewriting learns each name that it replaces. */
void anonymiser_learn_result(struct anonymiser *a, const struct result *result)
{
	struct error err = ERROR_NONE;
	json_t *document;

	if (rewrite(a, result, &document, &err) == STATUS_OK)
		json_decref(document);
}

enum status anonymise_result(struct anonymiser *a, struct result *result, struct error *err)
{
	struct result out;
	json_t *after;
	char *text;

	/* Ids of devices and cases are kept as they are, and those of several nodes name them. */
	if (result->node_count)
		return error_set(err, STATUS_UNSUPPORTED,
				 "a result of several nodes cannot be anonymised: its ids name the "
				 "nodes; anonymise those below nodes/ one by one");
	if (rewrite(a, result, &after, err) != STATUS_OK)
		return err->status;
	text = json_dumps(after, JSON_COMPACT | JSON_REAL_PRECISION(17));
	json_decref(after);
	if (!text)
		return error_set(err, STATUS_INTERNAL, "the anonymised result is no JSON");
	if (result_from_json(&out, text, strlen(text), err) == STATUS_OK) {
		if (*out.config_name) {
			free(out.command);
			out.command = xasprintf("gpuproof run %s", out.config_name);
		}
		result_release(result);
		*result = out;
	}
	free(text);
	return err->status;
}
