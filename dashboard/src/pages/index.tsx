import { type ComponentType, lazy, type ReactNode } from 'react'
import type { Permission } from '../../../src/api/permissions.js'
import { Overview } from './overview/overview.js'

export interface PageEntry {
  readonly path: string
  /** In the menu, under this heading; a page without one is reached from others. With g and the key, from everywhere. */
  readonly menu?: { readonly heading: string; readonly title: string; readonly key: string }
  readonly needs?: Permission
  readonly show: (named: Readonly<Record<string, string>>) => ReactNode
}

type Rest = typeof import('./rest.js')

/** A page that is loaded when somebody goes there. */
function later<Name extends keyof Rest>(name: Name): Rest[Name] {
  const Later = lazy(async () => ({ default: (await import('./rest.js'))[name] as ComponentType }))
  return Later as unknown as Rest[Name]
}

const Alerts = later('Alerts')
const Approvals = later('Approvals')
const Audit = later('Audit')
const Batches = later('Batches')
const BulkActions = later('BulkActions')
const DeadLetters = later('DeadLetters')
const Dependencies = later('Dependencies')
const Errors = later('Errors')
const Execution = later('Execution')
const Executions = later('Executions')
const Job = later('Job')
const Jobs = later('Jobs')
const Keys = later('Keys')
const Lanes = later('Lanes')
const NewJob = later('NewJob')
const OneBatch = later('OneBatch')
const OneDependency = later('OneDependency')
const OneError = later('OneError')
const OneSchedule = later('OneSchedule')
const OneType = later('OneType')
const Schedules = later('Schedules')
const Settings = later('Settings')
const Types = later('Types')

const menu = (heading: string, title: string, key: string) => ({ heading, title, key })

export const pages: readonly PageEntry[] = [
  { path: '/', menu: menu('Now', 'Overview', 'o'), needs: 'workers:view', show: () => <Overview /> },
  { path: '/lanes', menu: menu('Now', 'Lanes and workers', 'l'), needs: 'workers:view', show: () => <Lanes /> },
  { path: '/types', menu: menu('Now', 'Job types', 't'), needs: 'workers:view', show: () => <Types /> },
  { path: '/types/:type', needs: 'workers:view', show: ({ type = '' }) => <OneType type={type} key={type} /> },
  { path: '/dependencies', menu: menu('Now', 'Dependencies', 'y'), needs: 'workers:view', show: () => <Dependencies /> },
  { path: '/dependencies/:name', needs: 'workers:view', show: ({ name = '' }) => <OneDependency name={name} key={name} /> },
  { path: '/jobs', menu: menu('Work', 'Jobs', 'j'), needs: 'jobs:read', show: () => <Jobs /> },
  { path: '/jobs/:id', needs: 'jobs:read', show: ({ id = '' }) => <Job id={id} key={id} /> },
  { path: '/new', menu: menu('Work', 'New job', 'n'), needs: 'jobs:enqueue', show: () => <NewJob /> },
  { path: '/dead', menu: menu('Work', 'Dead letters', 'd'), needs: 'workers:view', show: () => <DeadLetters /> },
  { path: '/errors', menu: menu('Work', 'Errors', 'e'), needs: 'workers:view', show: () => <Errors /> },
  {
    path: '/errors/:fingerprint',
    needs: 'workers:view',
    show: ({ fingerprint = '' }) => <OneError fingerprint={fingerprint} key={fingerprint} />,
  },
  { path: '/bulk', menu: menu('Work', 'Bulk actions', 'x'), needs: 'jobs:read', show: () => <BulkActions /> },
  { path: '/approvals', menu: menu('Work', 'Approvals', 'p'), needs: 'jobs:read', show: () => <Approvals /> },
  { path: '/schedules', menu: menu('Plans', 'Schedules', 's'), needs: 'workers:view', show: () => <Schedules /> },
  { path: '/schedules/:name', needs: 'workers:view', show: ({ name = '' }) => <OneSchedule name={name} key={name} /> },
  { path: '/batches', menu: menu('Plans', 'Batches', 'b'), needs: 'jobs:read', show: () => <Batches /> },
  { path: '/batches/:id', needs: 'jobs:read', show: ({ id = '' }) => <OneBatch id={id} key={id} /> },
  { path: '/workflows', menu: menu('Plans', 'Workflows', 'w'), needs: 'jobs:read', show: () => <Executions /> },
  { path: '/workflows/:id', needs: 'jobs:read', show: ({ id = '' }) => <Execution id={id} key={id} /> },
  { path: '/alerts', menu: menu('Oversight', 'Alerts', 'a'), needs: 'workers:view', show: () => <Alerts /> },
  { path: '/audit', menu: menu('Oversight', 'Audit log', 'u'), needs: 'admin', show: () => <Audit /> },
  { path: '/keys', menu: menu('Oversight', 'Keys and roles', 'k'), needs: 'admin', show: () => <Keys /> },
  { path: '/settings', menu: menu('Oversight', 'Settings', ','), show: () => <Settings /> },
]
