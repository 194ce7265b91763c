/* A team of threads that share the work of one call, for the C files of this package: jobs of so many pieces, and
   whoever is free takes the next piece.

   Made where it is first asked for, kept as long as the process, as large as anybody asked. One call at a time has it;
   others work alone meanwhile, as do systems without POSIX threads. Who waits for a job stays awake for a tenth of a
   millisecond, about as long as it is from one pass to the next. Which thread does what changes no number. */

#ifndef SPECVIZ_TEAM
#define SPECVIZ_TEAM

#include <stdint.h>
#include <time.h>

/* One piece of a job; hand: 0 is the thread that called, and no two work with the same number at once */
typedef void (*Work)(const void *job, int64_t piece, int64_t hand);

static __thread int64_t hands = 1; /* that the call in this thread has */

static inline double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST_HANDS = 64, AWAKE = 4000, POLITE = 64 /* pauses */ };

/* Who waits for a piece for longer, because another program has that thread's processor, works alone for so many times
   as long: on a busy machine all such waiting is a small share of the whole */
#define LATE_S 5e-5
enum { PATIENCE = 30 };

static struct {
  _Atomic int taken; /* by a call */
  int watching;      /* for forks */
  int64_t workers;
  pthread_mutex_t mutex;
  pthread_cond_t work_is_there;
  _Atomic int asleep[MOST_HANDS];
  void (*prepare)(void);
  /* The job, which changes only where no piece of it is left. Its number and the pieces that are left are one number:
     who was late for one job takes nothing of the next by mistake. */
  _Alignas(64) _Atomic uint64_t left; /* number << 32 | pieces */
  _Atomic(Work) work;
  _Atomic(const void *) job;
  _Atomic int64_t count, invited;
  double alone_until;
  _Alignas(64) _Atomic int64_t done;
} team = {.mutex = PTHREAD_MUTEX_INITIALIZER, .work_is_there = PTHREAD_COND_INITIALIZER};

/* polite: whoever else wants this processor comes first, as who waits may stand in the way of whom it waits for */
static inline void pause_a_moment(int polite) {
  if (polite) sched_yield();
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

static int is_asked(int64_t hand) { return (uint32_t)team.left && hand < team.invited; }

static void take_pieces(int64_t hand) {
  for (uint64_t left = team.left; (uint32_t)left && hand < team.invited;) {
    const Work work = team.work;
    const void *job = team.job;
    const int64_t piece = team.count - (int64_t)(uint32_t)left;
    if (!atomic_compare_exchange_strong(&team.left, &left, left - 1)) continue;
    work(job, piece, hand);
    team.done++;
    left = team.left;
  }
}

static void *wait_for_jobs(void *number) {
  const int64_t hand = (int64_t)(intptr_t)number;
  team.prepare();
  for (;;) {
    for (int pauses = 0; pauses < AWAKE; pauses++) {
      if (is_asked(hand)) {
        take_pieces(hand);
        pauses = 0;
      }
      pause_a_moment(pauses % POLITE == 0);
    }
    pthread_mutex_lock(&team.mutex);
    team.asleep[hand] = 1;
    while (!is_asked(hand)) pthread_cond_wait(&team.work_is_there, &team.mutex);
    team.asleep[hand] = 0;
    pthread_mutex_unlock(&team.mutex);
  }
  return 0;
}

static void wake_up(void) {
  int64_t hand = 1;
  while (hand < hands && !team.asleep[hand]) hand++;
  if (hand == hands) return;
  pthread_mutex_lock(&team.mutex);
  pthread_cond_broadcast(&team.work_is_there);
  pthread_mutex_unlock(&team.mutex);
}

/* A process that was forked has the thread that forked, and no other */
static void forget_the_team(void) {
  pthread_mutex_init(&team.mutex, 0);
  pthread_cond_init(&team.work_is_there, 0);
  team.workers = 0, team.taken = 0, team.left = 0;
}

/* Signals are for the threads that were there before */
static int begin_worker(int64_t hand) {
  pthread_t thread;
  sigset_t all, before;
  sigfillset(&all);
  team.asleep[hand] = 0;
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const int failed = pthread_create(&thread, 0, wait_for_jobs, (void *)(intptr_t)hand);
  pthread_sigmask(SIG_SETMASK, &before, 0);
  return !failed && !pthread_detach(thread);
}

/* Let what this thread calls be shared by so many threads, if the team is free; prepare: what each does first */
static void gather(int64_t threads, void (*prepare)(void)) {
  if (threads < 2 || atomic_exchange(&team.taken, 1)) return;
  if (!team.watching) team.watching = !pthread_atfork(0, 0, forget_the_team);
  if (!team.workers) team.prepare = prepare; /* read by those that begin, and the same each time */
  if (threads > MOST_HANDS) threads = MOST_HANDS;
  while (team.watching && team.workers + 1 < threads && begin_worker(team.workers + 1)) team.workers++;
  hands = threads < team.workers + 1 ? threads : team.workers + 1;
  if (hands == 1) team.taken = 0;
}

static void dismiss(void) {
  if (hands > 1) hands = 1, team.taken = 0;
}

static int team_is_there(void) {
  if (team.alone_until && now() > team.alone_until) team.alone_until = 0;
  return !team.alone_until;
}

static void work_together(Work work, const void *job, int64_t count) {
  team.work = work, team.job = job, team.count = count, team.invited = hands, team.done = 0;
  team.left = ((team.left >> 32) + 1) << 32 | (uint64_t)count;
  wake_up();
  const double began = now();
  take_pieces(0);
  const double finished = now();
  for (int pauses = 0; team.done < count; pauses++) pause_a_moment(pauses > AWAKE / 2);
  const double waited = now() - finished;
  if (waited > finished - began + LATE_S) team.alone_until = finished + PATIENCE * waited;
}
#else
static void gather(int64_t threads, void (*prepare)(void)) { (void)threads, (void)prepare; }
static void dismiss(void) {}
static int team_is_there(void) { return 0; }
static void work_together(Work work, const void *job, int64_t count) { (void)work, (void)job, (void)count; }
#endif

/* All pieces of a job, in order where one thread does them */
static void share_out(Work work, const void *job, int64_t count) {
  if (hands > 1 && count > 1 && team_is_there()) work_together(work, job, count);
  else for (int64_t piece = 0; piece < count; piece++) work(job, piece, 0);
}

#endif
