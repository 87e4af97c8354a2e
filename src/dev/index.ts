export { demoTypes, startDemo } from './demo/demo.js'
export { type PostgresOptions, type RunningPostgres, startPostgres } from './postgres/index.js'
