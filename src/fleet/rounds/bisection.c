#include "fleet/rounds/bisection.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void bisection_open(struct bisection *b, const size_t *nodes, size_t count)
{
	*b = (struct bisection){ .left_count = count, .stage = BISECTION_HALVES };
	b->left = xcalloc(count, sizeof(*b->left));
	b->right = xcalloc(count, sizeof(*b->right));
	b->proven = xcalloc(count, sizeof(*b->proven));
	memcpy(b->left, nodes, count * sizeof(*nodes));
	for (size_t i = 0; i < 2; i++)
		b->tries[i].nodes = xcalloc(count, sizeof(*nodes));
}

void bisection_close(struct bisection *b)
{
	free(b->left);
	free(b->right);
	free(b->proven);
	free(b->tries[0].nodes);
	free(b->tries[1].nodes);
}

static void bisection_add_nodes(struct bisection_try *t, const size_t *nodes, size_t count)
{
	memcpy(t->nodes + t->count, nodes, count * sizeof(*nodes));
	t->count += count;
}

static void bisection_prove_nodes(struct bisection *b, const size_t *nodes, size_t count)
{
	memcpy(b->proven + b->proven_count, nodes, count * sizeof(*nodes));
	b->proven_count += count;
}

static size_t low_half(size_t count)
{
	return count - count / 2;
}

/* Both halves; a single node with a proven one, or, where there is none, not at all. */
static void try_halves(struct bisection *b)
{
	size_t low = low_half(b->left_count), high = b->left_count - low;

	bisection_add_nodes(&b->tries[b->try_count++], b->left, low);
	if (high == 1 && !b->proven_count)
		return;
	bisection_add_nodes(&b->tries[b->try_count], b->left + low, high);
	if (high == 1)
		bisection_add_nodes(&b->tries[b->try_count], b->proven, 1);
	b->try_count++;
}

static void take_halves(struct bisection *b)
{
	size_t low = low_half(b->left_count), high = b->left_count - low;
	bool high_tried = b->try_count == 2;

	if (b->tries[0].shows) {
		/* Follows one of two that show it: a second fault is for another run. */
		if (high_tried && !b->tries[1].shows)
			bisection_prove_nodes(b, b->left + low, high);
		b->left_count = low;
	} else if (high_tried && b->tries[1].shows) {
		bisection_prove_nodes(b, b->left, low);
		memmove(b->left, b->left + low, high * sizeof(*b->left));
		b->left_count = high;
		b->singly = high == 1;
	} else {
		memcpy(b->right, b->left + low, high * sizeof(*b->left));
		b->left_count = low;
		b->right_count = high;
		b->stage = BISECTION_LEFT;
	}
}

static void bisection_take_pair(struct bisection *b)
{
	size_t guilty[2], count = 0;

	/* The first answer is kept in `right` while the second node is tried. */
	for (size_t i = 0; i < b->try_count; i++)
		if (b->tries[i].shows)
			b->right[b->right_count++] = b->left[(size_t)b->step + i];
	b->step += (int)b->try_count;
	if (b->step < 2)
		return;
	for (size_t i = 0; i < b->right_count; i++)
		guilty[count++] = b->right[i];
	b->right_count = 0;
	b->stage = BISECTION_OVER;
	b->singly = count > 0;
	if (!count)
		return; /* neither with another one: it is what connects them */
	memcpy(b->left, guilty, count * sizeof(*guilty));
	b->left_count = count;
}

/* The part that becomes smaller, and the one that stays. */
static void bisection_sides(struct bisection *b, size_t **part, size_t **count, size_t **stays,
			    size_t *stays_count)
{
	bool left = b->stage == BISECTION_LEFT;

	*part = left ? b->left : b->right;
	*count = left ? &b->left_count : &b->right_count;
	*stays = left ? b->right : b->left;
	*stays_count = left ? b->right_count : b->left_count;
}

static void bisection_take_part(struct bisection *b)
{
	size_t *part, *count, *stays, stays_count, low;

	bisection_sides(b, &part, &count, &stays, &stays_count);
	low = low_half(*count);
	if (b->tries[0].shows) {
		if (b->step == 1) {
			memmove(part, part + low, (*count - low) * sizeof(*part));
			*count -= low;
		} else {
			*count = low;
		}
		b->step = 0;
	} else if (b->step++ == 1) {
		b->step = 0; /* both are needed: it becomes no smaller this way */
		b->stage++;
	}
}

static void bisection_take_answers(struct bisection *b)
{
	if (!b->try_count)
		return;
	switch (b->stage) {
	case BISECTION_HALVES:
		take_halves(b);
		break;
	case BISECTION_PAIR:
		bisection_take_pair(b);
		break;
	case BISECTION_LEFT:
	case BISECTION_RIGHT:
		bisection_take_part(b);
		break;
	case BISECTION_OVER:
		break;
	}
	for (size_t i = 0; i < 2; i++)
		b->tries[i] = (struct bisection_try){ .nodes = b->tries[i].nodes };
	b->try_count = 0;
}

/* Stages that have nothing to try. */
static void bisection_move_on(struct bisection *b)
{
	if (b->stage == BISECTION_HALVES && b->left_count <= 2)
		b->stage = b->left_count == 2 && b->proven_count ? BISECTION_PAIR : BISECTION_OVER;
	if (b->stage == BISECTION_LEFT && b->left_count == 1)
		b->stage = BISECTION_RIGHT;
	if (b->stage == BISECTION_RIGHT && b->right_count == 1)
		b->stage = BISECTION_OVER;
	if (b->stage == BISECTION_OVER && b->right_count) {
		memcpy(b->left + b->left_count, b->right, b->right_count * sizeof(*b->right));
		b->left_count += b->right_count;
		b->right_count = 0;
	}
}

size_t bisection_next(struct bisection *b)
{
	bisection_take_answers(b);
	bisection_move_on(b);
	if (b->stage == BISECTION_HALVES)
		try_halves(b);
	else if (b->stage == BISECTION_PAIR) {
		size_t at_once = b->proven_count > 1 && b->step == 0 ? 2 : 1;

		/* Each of the two with a proven node; with one proven node, one after the other. */
		for (size_t i = 0; i < at_once; i++) {
			bisection_add_nodes(&b->tries[i], &b->left[(size_t)b->step + i], 1);
			bisection_add_nodes(&b->tries[i], &b->proven[i], 1);
		}
		b->try_count = at_once;
	} else if (b->stage != BISECTION_OVER) {
		size_t *part, *count, *stays, stays_count, low;

		bisection_sides(b, &part, &count, &stays, &stays_count);
		low = low_half(*count);
		if (b->step == 0)
			bisection_add_nodes(&b->tries[0], part, low);
		else
			bisection_add_nodes(&b->tries[0], part + low, *count - low);
		bisection_add_nodes(&b->tries[0], stays, stays_count);
		b->try_count = 1;
	}
	b->rounds += b->try_count > 0;
	return b->try_count;
}
