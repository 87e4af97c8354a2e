/** What `holdfast/dev` exports. */
export const devNames = ['PostgresOptions', 'RunningPostgres', 'demoTypes', 'startDemo', 'startPostgres'] as const
