import type { dependenciesAnswer, gatesAnswer, lanesAnswer, workersAnswer } from '../../../src/api/admin.js'
import type { alertsAnswer } from '../../../src/api/alerts.js'
import type { buildsAnswer } from '../../../src/api/builds.js'
import type { TypeSeriesAnswer } from '../../../src/api/series.js'
import type { StatusAnswer } from '../../../src/api/status.js'
import { type Answered, useAnswer } from './use.js'

export type Fleet = Answered<typeof workersAnswer>
export type Gates = Answered<typeof gatesAnswer>
export type Dependency = Answered<typeof dependenciesAnswer>['dependencies'][number]
export type Lane = Answered<typeof lanesAnswer>['lanes'][number]
export type Firing = Answered<typeof alertsAnswer>

/** How a lane gets on, as `GET /autoscale` answers. */
export interface Load {
  readonly workers: number
  readonly waiting: number
  readonly running: number
  readonly ended_per_s: number
  readonly drain_s: number | null
  readonly live_workers: number
}

interface Asking {
  readonly enabled?: boolean
}

/** What several pages ask for: they share one answer. */
export const useStatus = (asking?: Asking) => useAnswer<StatusAnswer>('status', {}, asking)
export const useFleet = (asking?: Asking) => useAnswer<Fleet>('admin/workers/status', {}, asking)
export const useGates = (asking?: Asking) => useAnswer<Gates>('admin/job-types', {}, asking)
export const useDependencies = () => useAnswer<Answered<typeof dependenciesAnswer>>('admin/dependencies', {}, { everyMs: 5_000 })
export const useLoads = () => useAnswer<{ workers: number; lanes: Record<string, Load> }>('autoscale', {}, { everyMs: 5_000 })
export const useAlerts = () => useAnswer<Firing>('admin/alerts', {}, { everyMs: 5_000 })
/** Of the last 15 minutes, or of `last`. */
export const useTypeSeries = (last?: string) =>
  useAnswer<TypeSeriesAnswer>('series/types', last === undefined ? {} : { last }, { everyMs: 10_000 })
export type Builds = Answered<typeof buildsAnswer>['builds']
export const useBuilds = () => useAnswer<{ builds: Builds }>('admin/builds', {}, { everyMs: 5_000 })
