/* Two callers who ask for the team at the same time, for teams of different sizes: for `test_team_races`. */

#include "../../specviz/lm/team.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 1000, PIECES = 64, NUMBERS = 200 };

typedef struct {
  int64_t *sums, first;
} Job;

static int64_t sum_of(int64_t first, int64_t piece) {
  int64_t sum = first;
  for (int64_t i = 0; i < NUMBERS; i++) sum += i * piece;
  return sum;
}

static void work(const void *job, int64_t piece, int64_t hand) {
  const Job *all = job;
  (void)hand;
  all->sums[piece] = sum_of(all->first, piece);
}

static void nothing(void) {}

static void *call(void *first) {
  int64_t sums[PIECES];
  for (int64_t round = 0; round < ROUNDS; round++) {
    const Job job = {sums, (int64_t)(intptr_t)first + round};
    const int64_t pieces = 1 + round * 7 % PIECES;
    gather(2 + round % 4, nothing);
    share_out(work, &job, pieces);
    dismiss();
    for (int64_t piece = 0; piece < pieces; piece++)
      if (sums[piece] != sum_of(job.first, piece)) puts("a piece was not done"), exit(1);
  }
  return 0;
}

int main(void) {
  pthread_t callers[2];
  for (int64_t i = 0; i < 2; i++) pthread_create(callers + i, 0, call, (void *)(intptr_t)(i * ROUNDS));
  for (int64_t i = 0; i < 2; i++) pthread_join(callers[i], 0);
  return 0;
}
