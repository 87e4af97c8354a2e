export { makeScratchDatabase, type ScratchDatabase } from './scratch-database.js'
