/* defects.c: has the defect that its argument names, so that a test can see a checker catch it.
 *
 *   heap      reads past a heap block      (AddressSanitizer, valgrind)
 *   leak      loses a heap block           (AddressSanitizer, valgrind)
 *   overflow  overflows a signed integer   (UndefinedBehaviorSanitizer)
 *   cast      casts a float out of range   (UndefinedBehaviorSanitizer)
 *   race      writes from two threads      (ThreadSanitizer)
 *   none */
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int sink;

static int heap(int one)
{
    char *block = malloc(8 * (size_t)one);
    if (block == NULL)
        return 1;
    memset(block, 0, 8);
    sink = ((volatile char *)block)[7 + one];
    free(block);
    return 0;
}

static int leak(int one)
{
    char *volatile block = malloc(8 * (size_t)one);
    block = NULL;
    return block != NULL;
}

static int overflow(int one)
{
    sink = INT_MAX + one;
    return 0;
}

static int cast(int one)
{
    sink = (int)(1e30 * one);
    return 0;
}

static void *write_sink(void *argument)
{
    sink = *(int *)argument;
    return NULL;
}

static int race(int one)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, write_sink, &one) != 0)
        return 1;
    sink = 2;
    return pthread_join(thread, NULL);
}

static int none(int one)
{
    return one - 1;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)(int one);
    } defects[] = {{"heap", heap}, {"leak", leak}, {"overflow", overflow}, {"cast", cast}, {"race", race}, {"none", none}};

    if (argc != 2)
        return 2;
    for (size_t i = 0; i < sizeof defects / sizeof defects[0]; i++)
        if (strcmp(argv[1], defects[i].name) == 0)
            return defects[i].run(argc - 1); /* a 1 that the compiler cannot know */
    (void)fprintf(stderr, "no defect named %s\n", argv[1]);
    return 2;
}
