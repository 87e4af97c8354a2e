export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres/index.js'
