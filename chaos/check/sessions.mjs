// I18: what is left behind in the server.
export const I18 = {
  says: 'no connection, lock, open transaction or slot is left behind, and nobody deadlocked',
  *check({ slots, sessions: { idleInTransaction, leaked, locks, deadlocks } }) {
    yield deadlocks === 0 || `${deadlocks} deadlocks`
    yield leaked.length === 0 || `${leaked.length} connections were left open: ${leaked.join(', ')}`
    yield idleInTransaction.length === 0 || `transactions were left open: ${idleInTransaction.join(', ')}`
    yield slots.length === 0 ||
      `${slots.length} slots are still taken: ${slots.map(({ of, job }) => `of a ${of} by ${job}`).join(', ')}`
    yield locks.length === 0 || `locks were left behind: ${locks.join(', ')}`
  },
}
