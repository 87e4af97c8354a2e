/* What the database has, as far as the model knows it, and what a glance at it says. */

#ifndef WORKERS
#define WORKERS 2        /* at most 3 */
#endif
#ifndef JOBS
#define JOBS 3           /* at most 4 */
#endif
#ifndef LATE
#define LATE 1           /* how many of the jobs are enqueued while the others run already */
#endif
#ifndef BATCH
#define BATCH 1          /* how many jobs one claim takes under one lease, at most */
#endif
#ifndef LIMIT
#define LIMIT 2          /* gates.max_running at the beginning; 0: none */
#endif
#ifndef FAULTS
#define FAULTS 1         /* how often something goes wrong: see the map in README.md */
#endif
#ifndef ACTS
#define ACTS 1           /* how often an operator acts */
#endif
#define MAX_ATTEMPTS 2
#define LEASES 5

/* Where a job stands: one bit for each table that has a row of it. */
#define QUEUED    1
#define WAITING   2
#define DEAD      4
#define COMPLETED 8
#define CANCELLED 16
byte place[4];
byte attempt[4];         /* the number of its attempt, in queue and waiting */
byte spent[4];           /* rows of history that count as an attempt, since its enqueue or replay */
byte lease[4];           /* queue.lease_id; 0: nobody runs it */
bit passed[4];           /* queue.pass > 0: it stands before the gate of its type, or came through it */
byte stopping[4];        /* cancellations.lease_id: cancelled, and its handler may be at work; 0: no row */
byte row_lock[4];        /* who has its row in queue locked; 0: nobody */

#define NONE  0
#define HELD  1          /* expires_at lies ahead */
#define ENDED 2          /* expires_at has passed */
byte lease_is[LEASES + 1];    /* leases: is there a row, and has its time passed */
byte lease_jobs[LEASES + 1];  /* leases.jobs, as bits */
byte unheard;            /* leases whose worker never got the answer to its claim, as bits */
#define STALE 15         /* what a worker knows whose lease is gone: equal to no lease there will ever be */

bit gated = (LIMIT > 0); /* types.gated */
byte limit = LIMIT;      /* gates.max_running; while there is one, key_max_running is 1 */
bit paused;              /* gates.paused_at is not null */
byte gate_lock;          /* who has the gate's row locked; 0: nobody */

/* A worker, and what its open transaction holds. */
#define IDLE     0
#define LOOKED   1       /* claims: has read the flag of the type, and takes jobs that stand freely */
#define AT_GATE  2       /* claims: wants the gate */
#define ADMITTED 3       /* claims: has the gate and has counted */
#define WORKING  4
#define FAILING  5       /* settles a failed attempt: has the row, wants the gate to judge the breaker */
byte phase[3];
byte mine[3];            /* the lease it knows */
byte running[3];         /* the jobs whose handlers it runs, as bits */

byte rescuing;           /* the lease that a rescue has locked */
#define BY_RESCUE 9

/* An operator, and what the open transaction holds. */
#define NOTHING 0
#define ALONE_1 1        /* set_limits: has settles_lock alone, wants claims_lock */
#define ALONE_2 2        /* set_limits: has both, wants the gate */
#define PAUSING 3        /* pause_type: has claims_lock alone, wants the gate */
byte operator_is;

byte faults = FAULTS;    /* how much may still go wrong */
byte acts = ACTS;        /* how often the operator may still act */
hidden byte i, v, n, keys, took, new, gone;   /* used inside of one step and never kept */

/* What must hold, by the name it has in the fault bench. The names are variables that are never set, so that SPIN prints them. */
hidden byte I1, I2, I3, I4, I5, I6, I8, I11, I13, I18, PAUSE;
#define must(name, what) assert((what) || name)

#define BIT(j)      (1 << (j))
#define KEY_OF(j)   BIT((j) / 2)   /* jobs 0 and 1 have one key, 2 and 3 another */
#define MATE(j)     ((j) ^ 1)      /* the other job of its key */
#define any(what)   (what(0) || what(1) || what(2) || what(3))
#define all(what)   (what(0) && what(1) && what(2) && what(3))

/* Who holds the two advisory locks. */
#define claiming(w)    (phase[w] >= LOOKED && phase[w] <= ADMITTED)
#define CLAIMS_SHARED  (claiming(0) || claiming(1) || claiming(2))
#define CLAIMS_ALONE   (operator_is == ALONE_2 || operator_is == PAUSING)
#define SETTLES_SHARED (rescuing != 0 || phase[0] == FAILING || phase[1] == FAILING || phase[2] == FAILING)
#define SETTLES_ALONE  (operator_is == ALONE_1 || operator_is == ALONE_2)

#define is_free(j)       ((place[j] & QUEUED) && lease[j] == 0)
#define under(j, l)      ((place[j] & QUEUED) && lease[j] == (l))
/* Whoever ends an attempt finds the row by job and lease, and waits while somebody else has it. */
#define to_be_had(j, l)  (!under(j, l) || row_lock[j] == 0)
#define all_to_be_had(l) (to_be_had(0, l) && to_be_had(1, l) && to_be_had(2, l) && to_be_had(3, l))
#define knows(w, l)      (mine[w] == (l))
#define known(l)         (knows(0, l) || knows(1, l) || knows(2, l))

/* A slot is a row of queue with a lease that came through the gate, or a cancelled job whose handler may be at work (gate_running). */
#define runs(j)          ((place[j] & QUEUED) && lease[j] != 0 && passed[j])
#ifdef SLOT_RELEASED_AT_THE_CANCEL
#define slot(j)          runs(j)
#else
#define slot(j)          (runs(j) || stopping[j] != 0)
#endif
#define SLOTS            (slot(0) + slot(1) + slot(2) + slot(3))
#define FREE_SLOTS       (SLOTS >= limit -> 0 : (limit - SLOTS > BATCH -> BATCH : limit - SLOTS))
#define ROOM             (paused -> 0 : (limit == 0 -> BATCH : FREE_SLOTS))
#define TAKEN_KEYS       (limit == 0 -> 0 : ((slot(0) || slot(1)) -> 1 : 0) + ((slot(2) || slot(3)) -> 2 : 0))
#define waits_freely(j)  (is_free(j) && !passed[j])
#define waits_at_gate(j) (is_free(j) && passed[j])
#define may_pass(j)      (waits_at_gate(j) && (limit == 0 || !slot(MATE(j))))
#define in_gate(j)       ((place[j] & QUEUED) && passed[j])
