// Mutants that no test can kill, because they change nothing that anybody could see, each with the reason.
export const explained = [
  {
    name: 'resume_execution',
    says: `without "t.status IN ('dead', 'cancelled')"`,
    why: 'what it is called for besides has not failed and was not cancelled, which the call itself finds out and answers with "not done"; those are left out',
  },
  {
    name: 'take_through_gate',
    says: '"v_gate.ends_at <= v_now" with <',
    why: 'a claim in the very microsecond in which a setting ends leaves it to the next claim',
  },
]
