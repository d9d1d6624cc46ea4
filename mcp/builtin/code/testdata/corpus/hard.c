#ifndef HARD_H
#define HARD_H
#include <stddef.h>

#define SWAP(a, b) \
    do { \
        int t = (a); /* not { */ \
        (a) = (b); (b) = t; \
    } while (0)
int after_macro;

int before(void) { return 1; } /* a comment that begins behind code
   and goes on here,

   behind an empty line */

/* A long comment

 * line 1, which isn't "code" (
 * line 2, which isn't "code" (
 * line 3, which isn't "code" (
 * line 4, which isn't "code" (
 * line 5, which isn't "code" (
 * line 6, which isn't "code" (
 * line 7, which isn't "code" (
 * line 8, which isn't "code" (
 * line 9, which isn't "code" (
 * line 10, which isn't "code" (
 * line 11, which isn't "code" (
 * line 12, which isn't "code" (
 * line 13, which isn't "code" (
 * line 14, which isn't "code" (
 * line 15, which isn't "code" (
 * line 16, which isn't "code" (
 * line 17, which isn't "code" (
 * line 18, which isn't "code" (
 * line 19, which isn't "code" (
 * line 20, which isn't "code" (
 * line 21, which isn't "code" (
 * line 22, which isn't "code" (
 * line 23, which isn't "code" (
 * line 24, which isn't "code" (
 * line 25, which isn't "code" (
 * line 26, which isn't "code" (
 * line 27, which isn't "code" (
 * line 28, which isn't "code" (
 * line 29, which isn't "code" (
 * line 30, which isn't "code" (
 * line 31, which isn't "code" (
 * line 32, which isn't "code" (
 * line 33, which isn't "code" (
 * line 34, which isn't "code" (
 * line 35, which isn't "code" (
 * line 36, which isn't "code" (
 * line 37, which isn't "code" (
 * line 38, which isn't "code" (
 * line 39, which isn't "code" (
 * line 40, which isn't "code" (
 * line 41, which isn't "code" (
 * line 42, which isn't "code" (
 * line 43, which isn't "code" (
 * line 44, which isn't "code" (
 * line 45, which isn't "code" (
 * line 46, which isn't "code" (
 * line 47, which isn't "code" (
 * line 48, which isn't "code" (
 * line 49, which isn't "code" (
 * line 50, which isn't "code" (
 * line 51, which isn't "code" (
 * line 52, which isn't "code" (
 * line 53, which isn't "code" (
 * line 54, which isn't "code" (
 * line 55, which isn't "code" (
 * line 56, which isn't "code" (
 * line 57, which isn't "code" (
 * line 58, which isn't "code" (
 * line 59, which isn't "code" (
 * line 60, which isn't "code" (
 * line 61, which isn't "code" (
 * line 62, which isn't "code" (
 * line 63, which isn't "code" (
 * line 64, which isn't "code" (
 * line 65, which isn't "code" (
 * line 66, which isn't "code" (
 * line 67, which isn't "code" (
 * line 68, which isn't "code" (
 * line 69, which isn't "code" (
 * line 70, which isn't "code" (
 * line 71, which isn't "code" (
 * line 72, which isn't "code" (
 * line 73, which isn't "code" (
 * line 74, which isn't "code" (
 * line 75, which isn't "code" (
 * line 76, which isn't "code" (
 * line 77, which isn't "code" (
 * line 78, which isn't "code" (
 * line 79, which isn't "code" (
 * line 80, which isn't "code" (
 * line 81, which isn't "code" (
 * line 82, which isn't "code" (
 * line 83, which isn't "code" (
 * line 84, which isn't "code" (
 * line 85, which isn't "code" (
 * line 86, which isn't "code" (
 * line 87, which isn't "code" (
 * line 88, which isn't "code" (
 * line 89, which isn't "code" (
 * line 90, which isn't "code" (
 * line 91, which isn't "code" (
 * line 92, which isn't "code" (
 * line 93, which isn't "code" (
 * line 94, which isn't "code" (
 * line 95, which isn't "code" (
 * line 96, which isn't "code" (
 * line 97, which isn't "code" (
 * line 98, which isn't "code" (
 * line 99, which isn't "code" (
 * line 100, which isn't "code" (
 * line 101, which isn't "code" (
 * line 102, which isn't "code" (
 * line 103, which isn't "code" (
 * line 104, which isn't "code" (
 * line 105, which isn't "code" (
 * line 106, which isn't "code" (
 * line 107, which isn't "code" (
 * line 108, which isn't "code" (
 * line 109, which isn't "code" (
 * line 110, which isn't "code" (
 * line 111, which isn't "code" (
 * line 112, which isn't "code" (
 * line 113, which isn't "code" (
 * line 114, which isn't "code" (
 * line 115, which isn't "code" (
 * line 116, which isn't "code" (
 * line 117, which isn't "code" (
 * line 118, which isn't "code" (
 * line 119, which isn't "code" (
 * line 120, which isn't "code" (
 * int inside(void) {
 */
int victim(void)
{
    return '{' + '"';
}

/* next */ int next(void) { return 2; }
/* begins
   here */ int behind_comment(void) { return 3; }

struct point {
    int x;  /* the first
             * of two */
    int y;  // the second
    int (*call)(int a,
        int b);
};

typedef struct
{
    int a;
} pair_t;

static const int one = 1,
    two = 2,
    three = 3;

enum color {
    RED,
    GREEN = 1 + 2, /* , */
    BLUE
};

#ifdef WIDE
int width(int a) {
#else
int width(long a) {
#endif
    return (int) a;
}

/**
 * Two branches inside.
 */
static inline int
branches(int a)
{
#ifdef WIDE
    if (a > 1) {
#else
    if (a > 2) {
#endif
        return 1;
    }
    return 0;
}

ATTRIBUTE(1, 2)
static int
attributed(const char *s)
{
    return s[0];
}

TEST_END

int
main(void)
{
    return 0;
}
#endif
