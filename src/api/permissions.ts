/** Everything a key can allow, with what it means to a person. `admin` allows all the others. */
export const permissions = {
  'jobs:read': 'See jobs: those of its own service, and with workers:view those of all',
  'jobs:enqueue': 'Enqueue jobs of the types the key is for',
  'jobs:cancel': 'Cancel, resume and reschedule jobs it sees, and approve or reject those of others',
  'jobs:work': 'Claim and settle jobs as a worker',
  'workers:view': 'See lanes, workers, depths, gates, schedules and the jobs of all services',
  'workers:manage': 'Change lanes, limits, pauses, breakers, schedules and the priority of jobs',
  'types:manage': 'Define job types, and change what does not guard a known one',
  'dlq:manage': 'Replay and discard dead letters, and bury jobs it sees',
  admin: 'Everything, also keys, roles and the audit log',
} as const satisfies Record<string, string>

/** One of the permissions that a role gives. */
export type Permission = keyof typeof permissions
