/* Functions in the styles of bash (parameters declared after the brackets) and
   of Vim (the type on a line of its own, indented). */
#include <stdio.h>

static int declared PARAMS((int, char *));
int a = 1;

/* Adds. */
int
add (a, b)
     int a;
     char **b;
{
  return a;
}

#if defined (JOB_CONTROL)
/* It is in a conditional. */
static char *
get (name, value)
     const char *name;
     SHELL_VAR *value;
{
  struct x { int a; } y;
#if defined (A)
  return 1;
#else
  return 2;
#endif
}
#endif

void
none ()
{
}

int
main (argc, argv, env)
     int argc;
     char **argv, **env;
{
  return 0;
}

int
one (p) char *p;
{
  return 1;
}

int
call (p, f, table)
     int p;
     int (*f) PARAMS((int));
     char table[10];
{
  return f (p);
}

int same (a) int a; { return a; }
int (*pointer) (int);

static int	x = 1;
static void	foo(int a, char_u *b);

/*
 * Does it.
 */
    static void
foo(a, b)
    int	    a;
    char_u  *b;
{
    if (a)
	return;
}

    void
bar(
    int	    a,	// first
    char_u  *b)
{
    return;
}

    int
baz(void)
{
    return 1;
}

#if defined(A) || defined(PROTO)
/*
 * It is in a conditional, too.
 */
    unsigned long
last(int a, int b UNUSED)
{
    return a;
}
#endif

int
broken(a)
    int a;
#ifdef X
{
    return 1;
#else
{
#endif
    return a;
}
