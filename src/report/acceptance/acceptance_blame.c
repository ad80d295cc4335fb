/*
 * Whom the answer names: the worst first; devices that failed by themselves as long as there is
 * room, all others together with those of the same verdict and cause.
 */
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "report/acceptance/acceptance.h"
#include "report/view/view.h"

#define MOST_ALONE 4 /* devices that have an item each */
#define MOST_NAMED 8 /* of an item's devices, unless they failed: those are named all */

struct blamed {
	const struct device_info *device; /* NULL: the machine */
	const struct verdict_check *worst;
	size_t checks, order;
};

static void add_check(struct blamed *b, const struct verdict_check *c)
{
	if (!acceptance_is_bad(c))
		return;
	b->checks++;
	b->worst = !b->worst || acceptance_worse(c, b->worst) ? c : b->worst;
}

/* `d` past the devices: the machine. */
static struct blamed blamed_of(const struct result *r, const struct device_items *checks, size_t d)
{
	const struct verdicts *v = r->judgement;
	struct blamed b = { .device = d < r->device_count ? &r->devices[d] : NULL, .order = d };

	for (size_t i = checks->starts[d]; b.device && i < checks->starts[d + 1]; i++)
		add_check(&b, &v->checks[checks->items[i]]);
	for (size_t i = 0; !b.device && i < v->count; i++)
		if (*v->checks[i].devices == '\0')
			add_check(&b, &v->checks[i]);
	return b;
}

static int by_badness(const void *a, const void *b)
{
	const struct blamed *p = a, *q = b;

	return acceptance_worse(p->worst, q->worst) ? -1
	       : acceptance_worse(q->worst, p->worst)
		       ? 1
		       : (p->order > q->order) - (p->order < q->order);
}

static bool alike(const struct blamed *a, const struct blamed *b)
{
	return a->worst->verdict == b->worst->verdict && a->worst->cause == b->worst->cause;
}

static char *names_of(const struct blamed *list, size_t count)
{
	bool failed = list[0].worst->verdict == VERDICT_FAIL;
	size_t named = failed || count <= MOST_NAMED ? count : MOST_NAMED;
	struct text out = TEXT_EMPTY;

	for (size_t i = 0; i < named; i++)
		text_addf(&out, "%s%s", i ? ", " : "",
			  list[i].device ? view_string(list[i].device->id) : "the machine");
	if (count > named)
		text_addf(&out, " and %zu more", count - named);
	return text_detach(&out);
}

/* One item for `count` of them, the worst first. */
static void add_item(const struct blamed *list, size_t count, struct tree *items)
{
	const struct verdict_check *c = list[0].worst;
	const struct device_info *alone = count == 1 ? list[0].device : NULL;
	struct tree *item = tree_item(items);
	char *numbers = check_numbers(c);
	size_t checks = 0;

	for (size_t i = 0; i < count; i++)
		checks += list[i].checks;
	tree_text_owned(item, "device", names_of(list, count));
	view_text(item, "uuid", alone ? alone->uuid : "");
	view_text(item, "serial", alone ? alone->serial : "");
	tree_text(item, "word", verdict_name(c->verdict));
	tree_text(item, "symbol", acceptance_symbol(c->verdict));
	view_text(item, "what", *c->case_id ? c->case_id : strcmp(c->limit, "run") ? c->limit : "");
	view_text(item, "numbers", numbers);
	view_text(item, "reason", c->reason);
	view_text(item, "cause", cause_name(c->cause));
	view_text(item, "action", cause_action(c->cause));
	free(numbers);
	if (checks > 1)
		tree_textf(item, "more", "and %zu more", checks - 1);
	else
		tree_text(item, "more", "");
}

/* Takes those that are like the first out of the list and to its front; returns how many. */
static size_t gather(struct blamed *list, size_t count)
{
	struct blamed *others = xcalloc(count, sizeof(*others));
	size_t same = 0, other = 0;

	for (size_t i = 0; i < count; i++) {
		if (alike(&list[i], &list[0]))
			list[same++] = list[i];
		else
			others[other++] = list[i];
	}
	for (size_t i = 0; i < other; i++)
		list[same + i] = others[i];
	free(others);
	return same;
}

void acceptance_blame(const struct acceptance *a, const struct acceptance_devices *devices,
		      struct tree *page)
{
	const struct result *r = a->result;
	struct blamed *list = xcalloc(r->device_count + 1, sizeof(*list));
	struct tree *items = tree_list(page, "blamed");
	size_t count = 0;

	for (size_t i = 0; i <= r->device_count; i++) {
		list[count] = blamed_of(r, &devices->checks, i);
		count += list[count].worst != NULL;
	}
	if (count)
		qsort(list, count, sizeof(*list), by_badness);
	for (size_t i = 0, taken; i < count; i += taken) {
		taken = list[i].worst->verdict == VERDICT_FAIL && i < MOST_ALONE
				? 1
				: gather(list + i, count - i);
		add_item(list + i, taken, items);
	}
	tree_flag(page, "has_blamed", items->count != 0);
	free(list);
}
