/* A licence. */
#include <stdio.h>

#define SQUARE(x) ((x) * (x))
#define EACH(list, item) \
	for (struct node *item = (list)->head; \
	     item; item = item->next)

/* A node. */
struct node {
	int value; /* its value */
	struct node *next;
	union { int i; float f; } as;
};

typedef struct {
	struct node *head;
} list_t;

typedef int (*compare_fn)(const void *, const void *);

enum colour { RED, GREEN = 2, /* } */ BLUE };

static const char *names[] = {
	"{", "}",
};
extern int debug;
int counter = 0, other;

int sum(const list_t *list);

/**
 * Sums a list.
 */
static inline int
sum_from(const struct node *n, int start)
{
#ifdef DEBUG
	if (n) {
#else
	if (n && n->value) {
#endif
		return n->value + start;
	}
	return start;
}

int sum(const list_t *list)
{
	int local = 0;
	EACH(list, item) { local += item->value; }
	return local;
}

char *
copy(char *a, char b)
{ return a + (b == '{'); }

typedef struct pair {
	int a;
} pair_t;
