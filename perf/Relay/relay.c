// The least that a message costs which is sent at its time, acknowledged, handed on and asked for: a producer, a relay
// and a consumer, a process each, over TCP on this machine, with blocking sockets and no work but the copies. What
// `equeue-load latency` is compared with: nothing is checked or kept, and nothing written unless FILE is given, which
// each message is appended to, without a sync, before it is acknowledged.
//
//   gcc -O2 -pthread -o relay perf/Relay/relay.c
//   ./relay [RATE [SECONDS [SIZE [FILE]]]]
//
// Prints one JSON line: CPU of each process in per cent of a core, and the way from the time a message is due to the
// consumer in microseconds.
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REQUEST_BYTES 64 /* what a frame has beside the body, and the size of an acknowledgement and of a fetch */
#define MAX_SIZE 65536

static int rate = 10000, seconds = 6, size = 128, file = -1;
static double *shared; /* CPU of producer, relay, consumer; p50 and p99 */

static void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static long now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1000000000L + t.tv_nsec;
}

static double cpu_seconds(void)
{
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    return use.ru_utime.tv_sec + use.ru_stime.tv_sec + (use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
}

static void read_all(int fd, char *to, size_t count)
{
    while (count > 0) {
        ssize_t got = read(fd, to, count);
        check(got > 0, "read");
        to += got;
        count -= got;
    }
}

static void write_all(int fd, const char *from, size_t count)
{
    while (count > 0) {
        ssize_t put = write(fd, from, count);
        check(put > 0, "write");
        from += put;
        count -= put;
    }
}

/* Both ends of a connection: the client's, and the relay's. */
static void connect_both(int listener, const struct sockaddr_in *at, int ends[2])
{
    int yes = 1;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    check(ends[0] >= 0 && connect(ends[0], (const struct sockaddr *)at, sizeof *at) == 0, "connect");
    ends[1] = accept(listener, NULL, NULL);
    check(ends[1] >= 0, "accept");
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
}

static void *take_acks(void *socket_)
{
    char ack[REQUEST_BYTES];
    for (long i = 0; i < (long)rate * seconds; i++)
        read_all(*(int *)socket_, ack, sizeof ack);
    return NULL;
}

static void produce(int fd)
{
    char message[MAX_SIZE] = "";
    pthread_t acks;
    prctl(PR_SET_TIMERSLACK, 1);
    check(pthread_create(&acks, NULL, take_acks, &fd) == 0, "pthread_create");
    sleep(1); /* the others are ready */
    double before = cpu_seconds();
    long start = now_ns();
    for (long i = 0; i < (long)rate * seconds; i++) {
        long due = start + (long)(i * (1e9 / rate));
        for (long wait = due - now_ns(); wait > 0; wait = due - now_ns()) {
            struct timespec t = { wait / 1000000000L, wait % 1000000000L };
            nanosleep(&t, NULL);
        }
        memcpy(message, &due, sizeof due);
        write_all(fd, message, size + REQUEST_BYTES);
    }
    pthread_join(acks, NULL);
    shared[0] = (cpu_seconds() - before) / seconds;
}

static int by_value(const void *a, const void *b)
{
    long x = *(const long *)a, y = *(const long *)b;
    return x < y ? -1 : x > y;
}

static void consume(int fd)
{
    char message[MAX_SIZE], fetch[REQUEST_BYTES] = "";
    long count = (long)rate * seconds, *took = calloc(count, sizeof *took), due;
    double before = 0;
    check(took != NULL, "calloc");
    for (long i = 0; i < count; i++) {
        write_all(fd, fetch, sizeof fetch);
        read_all(fd, message, size + REQUEST_BYTES);
        if (i == 0)
            before = cpu_seconds();
        memcpy(&due, message, sizeof due);
        took[i] = now_ns() - due;
    }
    shared[2] = (cpu_seconds() - before) / seconds;
    qsort(took, count, sizeof *took, by_value);
    shared[3] = took[count / 2] / 1e3;
    shared[4] = took[count * 99 / 100] / 1e3;
}

/* Fetches are read and thrown away: a message is handed on whether one waits or not. */
static void relay(int producer, int consumer)
{
    int ready = epoll_create1(0);
    long left = (long)rate * seconds;
    char bytes[MAX_SIZE], ack[REQUEST_BYTES] = "";
    for (int i = 0; i < 2; i++) {
        struct epoll_event wanted = { .events = EPOLLIN, .data.fd = i ? consumer : producer };
        check(epoll_ctl(ready, EPOLL_CTL_ADD, wanted.data.fd, &wanted) == 0, "epoll_ctl");
    }
    double before = cpu_seconds();
    while (left > 0) {
        struct epoll_event come[2];
        int count = epoll_wait(ready, come, 2, -1);
        for (int i = 0; i < count; i++) {
            if (come[i].data.fd == consumer) {
                if (read(consumer, bytes, sizeof bytes) <= 0)
                    left = 0;
                continue;
            }
            read_all(producer, bytes, size + REQUEST_BYTES);
            if (file >= 0)
                write_all(file, bytes, size + REQUEST_BYTES);
            write_all(producer, ack, sizeof ack);
            write_all(consumer, bytes, size + REQUEST_BYTES);
            left--;
        }
    }
    shared[1] = (cpu_seconds() - before) / seconds;
}

int main(int count, char **words)
{
    rate = count > 1 ? atoi(words[1]) : rate;
    seconds = count > 2 ? atoi(words[2]) : seconds;
    size = count > 3 ? atoi(words[3]) : size;
    if (count > 4)
        check((file = open(words[4], O_WRONLY | O_CREAT | O_TRUNC, 0600)) >= 0, "open");
    if (rate < 1 || seconds < 1 || size < (int)sizeof(long) || size + REQUEST_BYTES > MAX_SIZE) {
        fprintf(stderr, "usage: relay [RATE [SECONDS [SIZE [FILE]]]], SIZE 8 to %d\n", MAX_SIZE - REQUEST_BYTES);
        return 2;
    }
    shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(shared != MAP_FAILED, "mmap");
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0), producer[2], consumer[2];
    check(bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 2) == 0, "listen");
    getsockname(listener, (struct sockaddr *)&at, &length);
    connect_both(listener, &at, producer);
    connect_both(listener, &at, consumer);

    pid_t children[3];
    for (int i = 0; i < 3; i++) {
        children[i] = fork();
        check(children[i] >= 0, "fork");
        if (children[i] > 0)
            continue;
        if (i == 0)
            consume(consumer[0]);
        else if (i == 1)
            relay(producer[1], consumer[1]);
        else
            produce(producer[0]);
        exit(0);
    }
    for (int i = 0; i < 3; i++) {
        int status;
        if (wait(&status) > 0 && status == 0)
            continue;
        fprintf(stderr, "a process failed\n");
        kill(children[0], SIGKILL);
        kill(children[1], SIGKILL);
        kill(children[2], SIGKILL);
        return 1;
    }
    printf("{\"rate\":%d,\"size\":%d,\"producerCpu\":%.1f,\"relayCpu\":%.1f,\"consumerCpu\":%.1f,\"sumCpu\":%.1f,"
           "\"p50Us\":%.0f,\"p99Us\":%.0f}\n",
           rate, size, 100 * shared[0], 100 * shared[1], 100 * shared[2], 100 * (shared[0] + shared[1] + shared[2]),
           shared[3], shared[4]);
    return 0;
}
