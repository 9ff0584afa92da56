// The least that a durable message costs: one write and one fdatasync in a file whose blocks are there, at the times
// that messages are due. What `equeue-load latency --flush sync` is compared with.
//
//   gcc -O2 -o fdatasync perf/Relay/fdatasync.c
//   ./fdatasync FILE [RATE [SECONDS [SIZE]]]
//
// FILE is made, and removed at the end. Prints one JSON line in microseconds: the call alone, and the way from the time
// that it is due to its end, in which a slow call makes those behind it wait.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define FILE_BYTES (64 << 20)

static void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void print(const char *name, double *values, int count)
{
    qsort(values, count, sizeof *values, compare);
    printf("\"%s\":{\"p50\":%.1f,\"p99\":%.1f,\"max\":%.1f}", name, values[count / 2], values[count * 99L / 100],
        values[count - 1]);
}

int main(int argc, char **argv)
{
    check(argc > 1, "a file is needed");
    int rate = argc > 2 ? atoi(argv[2]) : 1000, seconds = argc > 3 ? atoi(argv[3]) : 10;
    int size = argc > 4 ? atoi(argv[4]) : 256, count = rate * seconds;
    int file = open(argv[1], O_RDWR | O_CREAT | O_EXCL, 0600);
    check(file >= 0, argv[1]);
    char *bytes = calloc(1, 1 << 20);
    for (long at = 0; at < FILE_BYTES; at += 1 << 20)
        check(pwrite(file, bytes, 1 << 20, at) == 1 << 20, "pwrite");
    check(fsync(file) == 0, "fsync");
    memset(bytes, 'm', size);

    double *calls = malloc(count * sizeof *calls), *ways = malloc(count * sizeof *ways), start = now();
    for (int i = 0; i < count; i++) {
        double due = start + i * 1e6 / rate, early = due - now();
        if (early > 0) {
            struct timespec wait = { (time_t)(early / 1e6), (long)(early * 1e3) % 1000000000 };
            nanosleep(&wait, NULL);
        }
        double begin = now();
        check(pwrite(file, bytes, size, (long)i * size % (FILE_BYTES - size)) == size, "pwrite");
        check(fdatasync(file) == 0, "fdatasync");
        double end = now();
        calls[i] = end - begin;
        ways[i] = end - due;
    }
    unlink(argv[1]);
    printf("{\"rate\":%d,\"size\":%d,", rate, size);
    print("callUs", calls, count);
    printf(",");
    print("wayUs", ways, count);
    printf("}\n");
    return 0;
}
