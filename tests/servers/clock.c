/* The time of day, as far ahead as a file says: for whoever preloads this.
 *
 * The file holds nanoseconds. It is mapped once and read at every question, so that all processes
 * are set forward at once, and no two threads get in each other's way.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define SECOND 1000000000L

static const int64_t nothing = 0;
static const volatile int64_t *ahead = &nothing;
static int (*usual)(clockid_t, struct timespec *);

__attribute__((constructor)) static void map_the_file(void)
{
    const char *path = getenv("CARILLON_CLOCK");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *page = mmap(NULL, sizeof *ahead, PROT_READ, MAP_SHARED, file, 0);
    if (page == MAP_FAILED) {
        perror("the clock of CARILLON_CLOCK cannot be read");
        _exit(70);
    }
    close(file);
    ahead = page;
}

int clock_gettime(clockid_t which, struct timespec *told)
{
    if (!usual) /* some ask before we are set up */
        usual = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = usual(which, told);
    if (failed || (which != CLOCK_REALTIME && which != CLOCK_REALTIME_COARSE))
        return failed; /* what intervals are measured by stays as it is */
    int64_t now = told->tv_sec * SECOND + told->tv_nsec + *ahead;
    told->tv_sec = now / SECOND;
    told->tv_nsec = now % SECOND;
    return 0;
}

int gettimeofday(struct timeval *told, void *zone)
{
    struct timespec now;
    (void)zone;
    clock_gettime(CLOCK_REALTIME, &now);
    told->tv_sec = now.tv_sec;
    told->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *told)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME_COARSE, &now);
    if (told)
        *told = now.tv_sec;
    return now.tv_sec;
}
