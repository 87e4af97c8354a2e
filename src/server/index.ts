export { createServer, type ServerOptions } from './app.js'
export type { Problem } from './problem.js'
export type { StatusAnswer } from './status.js'
