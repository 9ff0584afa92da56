// One ZeroMQ publisher and its subscribers, a process each, over TCP on this machine: what `equeue-load fanout` is
// compared with. Nothing is stored, and nothing is dropped: a publisher waits while a subscriber's queue is full.
//
//   gcc -O2 -o zmq-fanout perf/ZeroMQ/fanout.c -lzmq        (Debian: libzmq3-dev)
//   ./zmq-fanout SUBSCRIBERS [MESSAGES [SIZE [proxy]]]
//
// With `proxy` the subscribers read from a process that runs zmq_proxy between XSUB and XPUB. Prints one JSON line:
// messages a second of the slowest subscriber and of all together, from the first send to each one's last arrival.
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zmq.h>

#define MAX_SUBSCRIBERS 64
#define WARM 10000
#define QUEUE 10000

typedef struct {
    volatile int ready;
    volatile int warm;
    volatile double end[MAX_SUBSCRIBERS];
} Shared;

static Shared *shared;
static const char *published = "tcp://127.0.0.1:47121", *proxied = "tcp://127.0.0.1:47122";

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

static void check(int result, const char *what)
{
    if (result >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, zmq_strerror(errno));
    exit(1);
}

static void set(void *socket, int option, int value)
{
    check(zmq_setsockopt(socket, option, &value, sizeof value), "zmq_setsockopt");
}

static void subscriber(int number, long messages, int size, const char *from)
{
    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_SUB);
    char *body = malloc(size);
    set(socket, ZMQ_RCVHWM, QUEUE);
    check(zmq_setsockopt(socket, ZMQ_SUBSCRIBE, "", 0), "subscribe");
    check(zmq_connect(socket, from), "connect");
    // The first message that arrives tells the publisher that the subscription stands; it repeats it until then.
    check(zmq_recv(socket, body, size, 0), "recv");
    __sync_fetch_and_add(&shared->ready, 1);
    long counted = 0;
    int is_warm = 0;
    while (counted < WARM + messages) {
        int got = zmq_recv(socket, body, size, 0);
        check(got, "recv");
        if (got != size)
            continue;
        long expected = counted;
        if (memcmp(body, &expected, sizeof expected) != 0) {
            fprintf(stderr, "subscriber %d: message %ld is missing\n", number, expected);
            exit(1);
        }
        counted++;
        if (!is_warm && counted == WARM) {
            is_warm = 1;
            __sync_fetch_and_add(&shared->warm, 1);
        }
    }
    shared->end[number] = now();
    exit(0);
}

static void proxy(void)
{
    void *context = zmq_ctx_new(), *in = zmq_socket(context, ZMQ_XSUB), *out = zmq_socket(context, ZMQ_XPUB);
    set(in, ZMQ_RCVHWM, QUEUE);
    set(out, ZMQ_SNDHWM, QUEUE);
    set(out, ZMQ_XPUB_NODROP, 1);
    check(zmq_connect(in, published), "connect");
    check(zmq_bind(out, proxied), "bind");
    zmq_proxy(in, out, NULL);
    exit(0);
}

static void publish(void *socket, char *body, int size, long first, long count)
{
    for (long i = first; i < first + count; i++) {
        memcpy(body, &i, sizeof i);
        check(zmq_send(socket, body, size, 0), "send");
    }
}

int main(int argc, char **argv)
{
    int subscribers = argc > 1 ? atoi(argv[1]) : 1, size = argc > 3 ? atoi(argv[3]) : 2000;
    long messages = argc > 2 ? atol(argv[2]) : 100000;
    int is_proxied = argc > 4 && strcmp(argv[4], "proxy") == 0;
    if (subscribers < 1 || subscribers > MAX_SUBSCRIBERS || size < 16 || messages < 1) {
        fprintf(stderr, "zmq-fanout SUBSCRIBERS(1-%d) [MESSAGES [SIZE(>= 16) [proxy]]]\n", MAX_SUBSCRIBERS);
        return 2;
    }
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t proxy_process = 0, processes[MAX_SUBSCRIBERS];
    if (is_proxied && (proxy_process = fork()) == 0)
        proxy();
    for (int i = 0; i < subscribers; i++)
        if ((processes[i] = fork()) == 0)
            subscriber(i, messages, size, is_proxied ? proxied : published);

    void *context = zmq_ctx_new(), *socket = zmq_socket(context, ZMQ_XPUB);
    char *body = calloc(1, size);
    set(socket, ZMQ_SNDHWM, QUEUE);
    set(socket, ZMQ_XPUB_NODROP, 1);
    check(zmq_bind(socket, published), "bind");
    while (shared->ready < subscribers) {
        check(zmq_send(socket, "?", 1, 0), "send");
        usleep(10000);
    }
    publish(socket, body, size, 0, WARM);
    while (shared->warm < subscribers)
        usleep(1000);
    double start = now(), slowest = 0, sum = 0;
    publish(socket, body, size, WARM, messages);
    for (int i = 0; i < subscribers; i++) {
        int status;
        waitpid(processes[i], &status, 0);
        if (status != 0)
            return 1;
        double rate = messages / (shared->end[i] - start);
        sum += rate;
        slowest = slowest == 0 || rate < slowest ? rate : slowest;
    }
    if (proxy_process != 0)
        kill(proxy_process, SIGKILL);
    printf("{\"subscribers\":%d,\"messages\":%ld,\"size\":%d,\"proxy\":%s,", subscribers, messages, size,
        is_proxied ? "true" : "false");
    printf("\"consumePerSecond\":%.0f,\"subscribersPerSecond\":%.0f}\n", slowest, sum);
    return 0;
}
