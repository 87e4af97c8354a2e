import type { LaneBody } from '../../api/admin.js'
import { HoldfastError } from '../../errors.js'
import type { LaneState } from '../../flow/states.js'
import type { Holdfast } from '../../holdfast.js'
import { insideOf } from '../../inside.js'
import type { Actor } from '../../job/actor.js'
import { didYouMean } from '../../job/nearest.js'
import { overHttp } from '../spelling.js'
import { laneAnswer } from './admin-answers.js'
import { released, theirs } from './job-request.js'

/** Changes a lane or makes it, and moves job types into it. Types that nobody knows are refused before anything is changed. */
export async function changeLane(holdfast: Holdfast, name: string, body: Omit<LaneBody, 'why'>, who: Actor) {
  const { unsafe = false, create = false, types = [], for: lasts, ...fields } = body
  const options = lasts === undefined ? { unsafe, create } : { unsafe, create, for: lasts }
  const { flow } = holdfast
  await refuseUnknownTypes(holdfast, types)
  await flow.setLane(name, theirs(fields) as object, who, options).catch((error) => {
    throw overHttp(error)
  })
  const stateOf = async () => (await flow.lanes()).find((lane) => lane.name === name) as LaneState
  const there = types.length === 0 ? [] : (await stateOf()).types
  for (const type of types.filter((one) => !there.includes(one))) await flow.moveType(type, name, who)
  return laneAnswer(await stateOf())
}

/** Gives fields of a lane back to what it was made with. */
export async function releaseLane(holdfast: Holdfast, name: string, fields: readonly string[] | undefined, who: Actor) {
  await holdfast.flow.releaseLane(name, who, released(fields)).catch((error) => {
    throw overHttp(error)
  })
  return laneAnswer((await holdfast.flow.lanes()).find((lane) => lane.name === name) as LaneState)
}

async function refuseUnknownTypes(holdfast: Holdfast, types: readonly string[]): Promise<void> {
  if (types.length === 0) return
  const known = (await insideOf(holdfast).store.types(null)).map(({ name }) => name)
  const at = types.findIndex((type) => !known.includes(type))
  const unknown = types[at]
  if (unknown === undefined) return
  const problem = `no job type named "${unknown}" is registered${didYouMean(unknown, known)}`
  throw new HoldfastError('unknown_type', problem, { field: `types[${at}]` })
}
