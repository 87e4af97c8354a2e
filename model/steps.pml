/* What the statements do. Every inline runs inside of one step; j may be a constant. */

/* An acknowledged job stands in one place, at every moment that others can see. */
inline stands_once(j) {
  must(I1, place[j] != 0);
  must(I3, (place[j] & (place[j] - 1)) == 0)
}

/* A row of history that spends an attempt. */
inline record_attempt(j) {
  must(I8, spent[j] < MAX_ATTEMPTS);
  must(I5, attempt[j] == spent[j] + 1);
  spent[j]++
}

/* put_ready, and the end of an enqueue: before the gate where the flag says so. */
inline make_ready(j, flag) {
  place[j] = place[j] | QUEUED;
  passed[j] = flag
}

/* The row leaves the queue. */
inline take_out(j) {
  place[j] = place[j] & ~QUEUED;
  lease[j] = 0; passed[j] = 0; row_lock[j] = 0
}

/* Nothing will be asked of its attempts any more, unless it is cancelled and may be resumed. */
inline come_to_an_end(j, how) {
  place[j] = place[j] | how;
  attempt[j] = 0; spent[j] = 0
}

/* The row of a lease is deleted. Whoever knows it knows what will never be a lease again. */
inline drop_lease(l) {
  gone = l;
  lease_is[gone] = NONE; lease_jobs[gone] = 0;
  unheard = unheard & ~BIT(gone);
  for (v : 0 .. 2) {
    mine[v] = (mine[v] == gone -> STALE : mine[v])
  }
  gone = 0
}

/* Of the executions those count against a limit whose worker lives and has not lost its lease, as in the fault bench. */
inline check_starts(w) {
  must(PAUSE, !paused);
  n = 0; keys = 0;
  for (v : 0 .. 2) {
    for (i : 0 .. 3) {
      if
      :: running[v] & BIT(i) ->
        must(I6, v == w || !(running[w] & BIT(i)) || mine[v] == STALE);
        if
        :: mine[v] != STALE ->
          n++;
          must(I11, limit == 0 || !(keys & KEY_OF(i)));
          keys = keys | KEY_OF(i)
        :: else
        fi
      :: else
      fi
    }
  }
  must(I11, limit == 0 || n <= limit)
}

#ifdef CLAIM_OF_CLAIMED_JOBS
#define claimable(j) (place[j] & QUEUED)
#else
#define claimable(j) is_free(j)
#endif
#ifdef JOBS_NEVER_PUT_BEFORE_THE_GATE
#define MOVES_ASIDE 0
#else
#define MOVES_ASIDE 1
#endif

/* The end of a claim: it takes rows that nobody has locked, writes the lease, commits. */
inline take(w, at_gate) {
  took = 0;
  for (i : 0 .. 3) {
    if
    :: room > 0 && claimable(i) && row_lock[i] == 0 && passed[i] == at_gate && !(at_gate && (taken_keys & KEY_OF(i))) ->
      if
      :: MOVES_ASIDE && !at_gate && saw_gated -> passed[i] = 1
      :: else ->
        took = took | BIT(i);
        taken_keys = (limit == 0 -> 0 : taken_keys | KEY_OF(i));
        room--
      fi
    :: else
    fi
  }
  room = 0; taken_keys = 0; saw_gated = 0;
  if
  :: took == 0 -> phase[w] = IDLE
  :: else ->
    /* lease_seq gives an id that was never given before; here it is one that nobody knows any more. */
    new = 1;
    do
    :: lease_is[new] != NONE || stopping[0] == new || stopping[1] == new || stopping[2] == new || stopping[3] == new -> new++
    :: else -> break
    od;
    assert(new <= LEASES);
    lease_is[new] = HELD;
#ifndef LEASE_WITHOUT_ITS_JOBS
    lease_jobs[new] = took;
#endif
    for (i : 0 .. 3) {
      lease[i] = ((took & BIT(i)) -> new : lease[i])
    }
    mine[w] = new; running[w] = took; phase[w] = WORKING;
    check_starts(w)
  fi
}

/* The worker has heard nothing of its claim, and knows that it may have been made. */
inline not_heard(w) {
  unheard = (mine[w] == 0 -> unheard : unheard | BIT(mine[w]));
  phase[w] = IDLE; mine[w] = 0; running[w] = 0
}

/* A settle is over: one handler less. With the last of them the lease is closed, unless a rescue has it locked. */
inline settled(w, j) {
  running[w] = running[w] & ~BIT(j);
  phase[w] = WORKING;
  if
  :: running[w] == 0 ->
    if
    :: mine[w] != STALE && rescuing != mine[w] -> drop_lease(mine[w])
    :: else
    fi;
    mine[w] = 0; phase[w] = IDLE
  :: else
  fi
}

/* The settle found no row: the lease was lost, or the job was cancelled and has now ended (end_cancelled). */
inline settle_nothing(w, j) {
  stopping[j] = (stopping[j] == mine[w] -> 0 : stopping[j]);
  settled(w, j)
}

#ifdef SETTLE_WITHOUT_FENCE
#define holds(w, j) (place[j] & QUEUED)
#elif defined(CANCEL_OVERWRITTEN_BY_COMPLETION)
#define holds(w, j) (under(j, mine[w]) || ((place[j] & CANCELLED) && stopping[j] == mine[w]))
#else
#define holds(w, j) under(j, mine[w])
#endif
#define can_settle(w, j) (phase[w] == WORKING && (running[w] & BIT(j)) && !SETTLES_ALONE && to_be_had(j, mine[w]))

inline complete(w, j) {
  if
  :: holds(w, j) ->
    must(I13, !(place[j] & CANCELLED));
    must(I4, lease[j] == mine[w]);
    record_attempt(j);
    take_out(j);
    come_to_an_end(j, COMPLETED);
    stands_once(j);
    settled(w, j)
  :: else -> settle_nothing(w, j)
  fi
}

inline begin_failing(w, j) {
  faults--;
  if
  :: holds(w, j) -> row_lock[j] = w + 1; failed = j; phase[w] = FAILING
  :: else -> settle_nothing(w, j)
  fi
}

/* An attempt failed or was given up. again: where the job stands if it may be tried once more. */
inline end_attempt(j, again, flag) {
  record_attempt(j);
  take_out(j);
  if
  :: attempt[j] >= MAX_ATTEMPTS -> come_to_an_end(j, DEAD)
  :: else ->
    attempt[j]++;
    place[j] = place[j] | again;
    passed[j] = flag
  fi;
  stands_once(j)
}

/* What a rescue does with each row it has. */
#ifdef RESCUE_THAT_FORGETS_THE_DEAD
#define END_RESCUED(j, flag) record_attempt(j); take_out(j); attempt[j]++; place[j] = (attempt[j] > MAX_ATTEMPTS -> 0 : QUEUED); stands_once(j)
#elif defined(RESCUE_THAT_COUNTS_NO_ATTEMPT)
#define END_RESCUED(j, flag) record_attempt(j); take_out(j); make_ready(j, flag)
#else
#define END_RESCUED(j, flag) end_attempt(j, QUEUED, flag)
#endif

inline hand_back(w) {
  for (i : 0 .. 3) {
    if
    :: (running[w] & BIT(i)) && under(i, mine[w]) ->
#ifdef HAND_BACK_THAT_SPENDS_AN_ATTEMPT
      attempt[i]++;
#endif
      lease[i] = 0
    :: (running[w] & BIT(i)) && stopping[i] == mine[w] -> stopping[i] = 0
    :: else
    fi
  }
  running[w] = 0;
  settled(w, 0)
}

/* A process dies: its transaction is undone. */
inline let_go(who) {
  gate_lock = (gate_lock == who -> 0 : gate_lock);
  for (i : 0 .. 3) {
    row_lock[i] = (row_lock[i] == who -> 0 : row_lock[i])
  }
}

inline release(l) {
  for (i : 0 .. 3) {
    lease[i] = (under(i, l) -> 0 : lease[i])
  }
  drop_lease(l)
}

inline promote(j) {
#ifndef PROMOTE_THAT_COPIES
  place[j] = place[j] & ~WAITING;
#endif
  make_ready(j, gated);
  stands_once(j)
}

inline cancel(j) {
  acts--;
  stopping[j] = ((place[j] & QUEUED) -> lease[j] : 0);
  place[j] = (place[j] & ~WAITING) | CANCELLED;
  take_out(j);
  stands_once(j)
}

inline resume(j) {
  acts--;
  place[j] = place[j] & ~CANCELLED;
  make_ready(j, gated);
  stands_once(j)
}

inline replay(j) {
  acts--;
#ifndef REPLAY_THAT_KEEPS_THE_DEAD_LETTER
  place[j] = place[j] & ~DEAD;
#endif
  attempt[j] = 1; spent[j] = 0;
  make_ready(j, gated);
  stands_once(j)
}

/* review_gate: the flag goes where nothing holds jobs of the type back. */
inline review_gate() {
  gated = (limit == 0 && !paused && !any(in_gate) -> 0 : 1)
}
