/* The core of the queue: claim, settle, rescue and the gate of a type, with an operator beside them. README.md leads through it.
   One d_step is one statement, or several of one transaction between which nobody else can see or change what they are about.
   A defect is put in by defining its name; variants.mjs lists them with the invariant that must catch each. */
#include "tables.pml"
#include "steps.pml"

/* Of workers that are idle one is as good as another: the first of them claims. */
#define first_idle(w) (phase[w] == IDLE && (w == 0 || phase[0] != IDLE) && (w < 2 || phase[1] != IDLE))

#ifdef SETTLE_WAITS_FOR_THE_LEASE
#define LEASE_IS_LEFT(w) (rescuing != mine[w])
#else
#define LEASE_IS_LEFT(w) 1
#endif
#ifdef LEASE_RENEWED_DURING_RESCUE
#define MAY_RENEW(w) 1
#else
#define MAY_RENEW(w) (rescuing != mine[w])
#endif
#ifdef RETRY_THAT_LOSES_THE_JOB
#define RETRY 0
#else
#define RETRY WAITING
#endif

proctype Worker(byte w) {
  byte room, taken_keys, failed;
  bit saw_gated;
  end: do
  /* claim_jobs: claims_lock in share mode, the flag of the type, a look at the gate without its lock. Only claims that see something. */
  :: d_step { first_idle(w) && !CLAIMS_ALONE && any(waits_freely) -> saw_gated = gated; room = BATCH; phase[w] = LOOKED }
  :: d_step {
      first_idle(w) && !CLAIMS_ALONE && gated && ROOM > 0 && any(may_pass) ->
#ifdef ADMIT_COUNTS_BEFORE_THE_LOCK
      room = ROOM; taken_keys = TAKEN_KEYS;
#endif
      phase[w] = AT_GATE
    }
  /* The gate is locked, and only then counted. */
#ifdef ADMIT_WITHOUT_LOCK
  :: d_step { phase[w] == AT_GATE -> room = ROOM; taken_keys = TAKEN_KEYS; phase[w] = ADMITTED }
#else
  :: d_step {
      phase[w] == AT_GATE && gate_lock == 0 ->
      gate_lock = w + 1;
#ifndef ADMIT_COUNTS_BEFORE_THE_LOCK
      room = ROOM; taken_keys = TAKEN_KEYS;
#endif
      phase[w] = ADMITTED
    }
#endif
  :: d_step { phase[w] == LOOKED -> take(w, 0) }
  :: d_step { phase[w] == ADMITTED -> take(w, 1); gate_lock = 0 }
  /* The same, and the answer is lost on the way. */
  :: d_step { phase[w] == LOOKED && faults > 0 -> faults--; take(w, 0); not_heard(w) }
  :: d_step { phase[w] == ADMITTED && faults > 0 -> faults--; take(w, 1); gate_lock = 0; not_heard(w) }

  /* settle_jobs of an attempt that completed: the statement that deletes the row decides. */
  :: d_step { can_settle(w, 0) -> complete(w, 0) }
  :: d_step { can_settle(w, 1) -> complete(w, 1) }
  :: d_step { can_settle(w, 2) -> complete(w, 2) }
  :: d_step { can_settle(w, 3) -> complete(w, 3) }
  /* Of one that failed: it has the row, then locks the gate to judge the breaker, then commits. */
  :: d_step { can_settle(w, 0) && faults > 0 -> begin_failing(w, 0) }
  :: d_step { can_settle(w, 1) && faults > 0 -> begin_failing(w, 1) }
  :: d_step { can_settle(w, 2) && faults > 0 -> begin_failing(w, 2) }
  :: d_step { can_settle(w, 3) && faults > 0 -> begin_failing(w, 3) }
  :: d_step { phase[w] == FAILING && gate_lock == 0 && LEASE_IS_LEFT(w) -> end_attempt(failed, RETRY, 0); settled(w, failed); failed = 0 }
  /* With hand_back: the worker is stopped, and the attempt is not spent. */
  :: d_step { phase[w] == WORKING && faults > 0 && !SETTLES_ALONE && all_to_be_had(mine[w]) -> faults--; hand_back(w) }

  /* renewLeases, skip locked: a worker that was slow is back before anybody rescued its jobs. */
  :: d_step { phase[w] == WORKING && mine[w] != STALE && lease_is[mine[w]] == ENDED && MAY_RENEW(w) -> lease_is[mine[w]] = HELD }

  /* It dies, whatever it does, and comes back knowing nothing. */
  :: d_step {
      phase[w] != IDLE && faults > 0 ->
      faults--;
      let_go(w + 1);
      phase[w] = IDLE; mine[w] = 0; running[w] = 0;
      room = 0; taken_keys = 0; failed = 0; saw_gated = 0
    }
  od
}

/* What workers do beside their jobs: rescue_leases, release_unacknowledged, tick. One process: two would pass over each other's rows. */
#ifdef RESCUE_BEFORE_LEASE_END
#define can_rescue(l)  (rescuing == 0 && !SETTLES_ALONE && lease_is[l] != NONE)
#else
#define can_rescue(l)  (rescuing == 0 && !SETTLES_ALONE && lease_is[l] == ENDED)
#endif
#ifdef RESCUE_BY_ID_ONLY
#define rescued(j)     (place[j] & QUEUED)
#else
#define rescued(j)     under(j, rescuing)
#endif
#ifdef RESCUE_LOCKS_THE_GATE_FIRST
#define GATE_FOR_ROWS  (gate_lock == BY_RESCUE)
#else
#define GATE_FOR_ROWS  1
#endif
#define can_release(l) ((unheard & BIT(l)) && !SETTLES_ALONE && rescuing != l && all_to_be_had(l))
#define orphaned(j)    (stopping[j] != 0 && lease_is[stopping[j]] == NONE)

proctype Upkeep() {
  bit flag, has_rows, looked;
  end: do
  /* rescue_leases: locks a lease whose time has passed, then its rows by job and lease, then the gate. */
  :: d_step { can_rescue(1) -> rescuing = 1 }
  :: d_step { can_rescue(2) -> rescuing = 2 }
  :: d_step { can_rescue(3) -> rescuing = 3 }
  :: d_step { can_rescue(4) -> rescuing = 4 }
  :: d_step { can_rescue(5) -> rescuing = 5 }
  :: d_step {
      rescuing != 0 && !has_rows && all_to_be_had(rescuing) && GATE_FOR_ROWS ->
      for (i : 0 .. 3) {
        row_lock[i] = ((rescued(i) && (lease_jobs[rescuing] & BIT(i))) -> BY_RESCUE : row_lock[i])
      }
      flag = gated;
      has_rows = 1
    }
  :: d_step {
      has_rows && (gate_lock == 0 || gate_lock == BY_RESCUE) ->
      gate_lock = 0;
      must(I6, lease_is[rescuing] == ENDED);
      for (i : 0 .. 3) {
        if
        :: row_lock[i] == BY_RESCUE -> END_RESCUED(i, flag)
        :: else
        fi
      }
      drop_lease(rescuing);
      rescuing = 0; has_rows = 0; flag = 0
    }
#ifdef RESCUE_LOCKS_THE_GATE_FIRST
  :: d_step { rescuing != 0 && !has_rows && gate_lock == 0 -> gate_lock = BY_RESCUE }
#endif
  /* Whoever rescues dies. */
  :: d_step { rescuing != 0 && faults > 0 -> faults--; let_go(BY_RESCUE); rescuing = 0; has_rows = 0; flag = 0 }

  /* release_unacknowledged: no handler has seen these jobs, so no attempt is spent. */
  :: d_step { can_release(1) -> release(1) }
  :: d_step { can_release(2) -> release(2) }
  :: d_step { can_release(3) -> release(3) }
  :: d_step { can_release(4) -> release(4) }
  :: d_step { can_release(5) -> release(5) }

  /* tick: jobs whose time has come, cancelled jobs whose lease is gone, the flag of the type. */
  :: d_step { place[0] & WAITING -> promote(0) }
  :: d_step { place[1] & WAITING -> promote(1) }
  :: d_step { place[2] & WAITING -> promote(2) }
  :: d_step { place[3] & WAITING -> promote(3) }
#ifndef SLOT_KEPT_AFTER_A_CANCEL
  :: d_step { orphaned(0) -> stopping[0] = 0 }
  :: d_step { orphaned(1) -> stopping[1] = 0 }
  :: d_step { orphaned(2) -> stopping[2] = 0 }
  :: d_step { orphaned(3) -> stopping[3] = 0 }
#endif
#ifndef FLAG_NEVER_GIVEN_BACK
  :: d_step { !gated && any(waits_at_gate) -> gated = 1 }
#endif
  /* drop_gate_if_open looks for rows first, and has the gate later. */
  :: d_step { !looked && gated && gate_lock == 0 && !paused && limit == 0 && !any(in_gate) -> looked = 1 }
  :: d_step { looked -> gated = (gate_lock == 0 && !paused && limit == 0 -> 0 : gated); looked = 0 }
  od
}

/* The time of a lease passes because nobody renewed it: its worker is dead, is slow, or never heard of it. Nothing but a rescue asks for it,
   so that one at a time, while no rescue is under way, is all that matters. */
#define time_passes(l) (lease_is[l] == HELD && (faults > 0 || !known(l)) && rescuing == 0 && !any_ended)
#define any_ended (lease_is[1] == ENDED || lease_is[2] == ENDED || lease_is[3] == ENDED || lease_is[4] == ENDED || lease_is[5] == ENDED)
inline pass_time(l) {
  faults = (known(l) -> faults - 1 : faults);
  lease_is[l] = ENDED
}

proctype Clock() {
  end: do
  :: d_step { time_passes(1) -> pass_time(1) }
  :: d_step { time_passes(2) -> pass_time(2) }
  :: d_step { time_passes(3) -> pass_time(3) }
  :: d_step { time_passes(4) -> pass_time(4) }
  :: d_step { time_passes(5) -> pass_time(5) }
  od
}

/* An enqueue reads the flag of the type, and commits later. */
proctype Producer() {
  byte j = JOBS - LATE;
  bit flag;
  do
  :: j < JOBS ->
    flag = gated;
    d_step { attempt[j] = 1; make_ready(j, flag); flag = 0; j++ }
  :: else -> break
  od
}

#define can_cancel(j) (acts > 0 && (place[j] & (QUEUED | WAITING)) && row_lock[j] == 0)
#ifdef RESUMED_WHILE_ITS_HANDLER_WORKS
#define can_resume(j) (acts > 0 && (place[j] & CANCELLED))
#else
#define can_resume(j) (acts > 0 && (place[j] & CANCELLED) && stopping[j] == 0)
#endif
#define can_replay(j) (acts > 0 && (place[j] & DEAD))
#define can_limit(to) (acts > 0 && operator_is == NOTHING && !SETTLES_SHARED && limit != to)

#ifdef PAUSE_WITHOUT_CLAIMS_LOCK
#define PAUSE_MAY_BEGIN 1
#else
#define PAUSE_MAY_BEGIN (!CLAIMS_SHARED)
#endif
#ifdef LIMIT_WITHOUT_CLAIMS_LOCK
#define LIMIT_MAY_BEGIN 1
#else
#define LIMIT_MAY_BEGIN (!CLAIMS_SHARED)
#endif

proctype Operator() {
  byte new_limit;
  end: do
  :: d_step { can_cancel(0) -> cancel(0) }
  :: d_step { can_cancel(1) -> cancel(1) }
  :: d_step { can_cancel(2) -> cancel(2) }
  :: d_step { can_cancel(3) -> cancel(3) }
  :: d_step { can_resume(0) -> resume(0) }
  :: d_step { can_resume(1) -> resume(1) }
  :: d_step { can_resume(2) -> resume(2) }
  :: d_step { can_resume(3) -> resume(3) }
  :: d_step { can_replay(0) -> replay(0) }
  :: d_step { can_replay(1) -> replay(1) }
  :: d_step { can_replay(2) -> replay(2) }
  :: d_step { can_replay(3) -> replay(3) }
  /* pause_type waits for claims under way, which do not know of it. Whoever pauses resumes. */
  :: d_step { acts > 0 && operator_is == NOTHING && !paused && PAUSE_MAY_BEGIN -> acts--; operator_is = PAUSING }
  :: d_step { operator_is == PAUSING && gate_lock == 0 -> paused = 1; gated = 1; operator_is = NOTHING }
  :: d_step { operator_is == NOTHING && paused && gate_lock == 0 -> paused = 0; review_gate() }
  /* set_limits: be_alone takes settles_lock, claims_lock and the gate; then all that runs is counted, also what stood freely. */
  :: d_step { can_limit(0) -> acts--; new_limit = 0; operator_is = ALONE_1 }
  :: d_step { can_limit(1) -> acts--; new_limit = 1; operator_is = ALONE_1 }
  :: d_step { can_limit(2) -> acts--; new_limit = 2; operator_is = ALONE_1 }
  :: d_step { operator_is == ALONE_1 && LIMIT_MAY_BEGIN -> operator_is = ALONE_2 }
  :: d_step {
      operator_is == ALONE_2 && gate_lock == 0 ->
      limit = new_limit; new_limit = 0;
#ifndef LIMIT_WITHOUT_COUNTING
      for (i : 0 .. 3) {
        passed[i] = (((place[i] & QUEUED) && lease[i] != 0) -> 1 : passed[i])
      }
#endif
      review_gate();
      operator_is = NOTHING
    }
  od
}

/* When nothing can happen any more, every job has ended and nothing is left behind. */
#define has_ended(j)  ((j) >= JOBS || (place[j] & (COMPLETED | DEAD | CANCELLED)))
#define is_unlocked(j) (row_lock[j] == 0)
#define has_stopped(j) (stopping[j] == 0)
proctype Judge() {
  timeout ->
  d_step {
    must(I18, gate_lock == 0 && rescuing == 0 && operator_is == NOTHING && all(is_unlocked));
    must(I2, all(has_ended));
    must(I18, phase[0] == IDLE && phase[1] == IDLE && phase[2] == IDLE && all(has_stopped));
    for (i : 1 .. LEASES) { must(I18, lease_is[i] == NONE) }
    i = 0
  }
}

init {
  d_step {
    for (i : 0 .. JOBS - LATE - 1) { place[i] = QUEUED; attempt[i] = 1; passed[i] = gated }
    i = 0
  }
  atomic {
    run Worker(0); run Worker(1);
#if WORKERS > 2
    run Worker(2);
#endif
    run Upkeep(); run Clock(); run Operator(); run Judge();
#if LATE > 0
    run Producer()
#endif
  }
}
