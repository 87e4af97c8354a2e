import { randomFillSync } from 'node:crypto'
import { wallMs } from '../clock.js'
import type { HoldfastError } from '../errors.js'
import { showValue } from './failure.js'
import { notA, refused } from './refused.js'

/**
 * A job's id is a UUIDv7: its time first, so that new ids land at the right edge of every index and the insert touches
 * pages that are warm already. The price: an id tells when its job was made to anyone who sees it.
 *
 *   tttttttt-tttt-7ccc-Vccc-rrrrrrrrrrrr    t: milliseconds, c: 26 bit counter, r: 48 fresh random bits
 *
 * The counter begins each millisecond at a random place, at least a million below its end, and goes up by one. Within this process ids
 * only ever increase; between processes they are kept apart by almost 74 random bits.
 */
const counterEnd = 2 ** 26
const startEnd = counterEnd - 2 ** 20
const latestTime = 2 ** 48 - 1

/** Asking the kernel for random bytes costs more than all the rest of an id, so it is asked for 1,024 ids at once. */
const randomBytesPerId = 6
const pool = Buffer.allocUnsafe(randomBytesPerId * 1024)
let poolText = ''
let poolAt = 0

let lastTime = -1
let lastCounter = 0
let timeText = ''

/**
 * A clock that steps back is ignored until it has caught up, since order matters more than the exact time. The price: a
 * clock that once ran far ahead marks all later ids of this process with that time.
 */
export function newJobId(now: number = wallMs()): string {
  if (!(now >= 0 && now <= latestTime)) throw wrongTime(now)
  const time = Math.floor(now)
  if (time > lastTime) begin(time)
  else if (++lastCounter === counterEnd) begin(lastTime + 1)
  const high = (0x7000 | (lastCounter >>> 14)).toString(16)
  const low = (0x8000 | (lastCounter & 0x3fff)).toString(16)
  return `${timeText}-${high}-${low}-${randomText()}`
}

const shape = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/i

/** True for a UUID of version 7 as it is usually written, in either case. Braces, missing dashes and spaces are refused. */
export function isJobId(text: string): boolean {
  return typeof text === 'string' && shape.test(text)
}

/** Throws where it is none. */
export function checkJobId(id: string): void {
  if (!isJobId(id)) throw refused('id', `is ${showValue(id)}, which is not a job id; a job id is a UUID of version 7`)
}

/** When the id was made, in milliseconds since 1970, by the clock of the machine that made it. */
export function timeOfJobId(id: string): number {
  checkJobId(id)
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16)
}

function begin(time: number): void {
  lastTime = time
  lastCounter = Number.parseInt(randomText(), 16) % startEnd
  const hex = time.toString(16).padStart(12, '0')
  timeText = `${hex.slice(0, 8)}-${hex.slice(8)}`
}

function randomText(): string {
  if (poolAt === poolText.length) {
    poolText = randomFillSync(pool).toString('hex')
    poolAt = 0
  }
  const from = poolAt
  poolAt += randomBytesPerId * 2
  return poolText.slice(from, poolAt)
}

function wrongTime(time: number): HoldfastError {
  return notA('now', time, 'milliseconds since 1970, as the time of a job id')
}
