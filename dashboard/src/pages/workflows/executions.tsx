import type { ExecutionSummaryAnswer, WorkflowsAnswer } from '../../../../src/api/executions.js'
import { ask } from '../../api/ask.js'
import { parseExactly } from '../../api/json.js'
import { useAnswer, usePages } from '../../api/use.js'
import { Act } from '../../parts/act.js'
import { Field, JsonField } from '../../parts/fields.js'
import { Filter, filterIn, Select } from '../../parts/filter.js'
import { Link } from '../../parts/link.js'
import { More } from '../../parts/more.js'
import { Card, Page } from '../../parts/page.js'
import { Table } from '../../parts/table.js'
import { inWords, Moment } from '../../parts/time.js'
import { go, useRoute } from '../../routing.js'
import { useMay } from '../../session/session.js'
import { ExecutionStatus } from './execution-status.js'

const statuses = { '': 'any status', running: 'running', completed: 'completed', failed: 'failed', cancelled: 'cancelled' }
const fields = ['workflow', 'status', 'owner', 'tags'] as const

/** The executions of workflows, newest first. */
export function Executions() {
  const { query } = useRoute()
  const filter = filterIn(query, fields)
  const { list, rows } = usePages<ExecutionSummaryAnswer, 'executions'>('executions', 'executions', {
    ...filter,
    tags: filter.tags.split(/\s+/).filter(Boolean),
    limit: 50,
  })
  const known = useWorkflows(rows.map(({ workflow }) => workflow))
  const change = (name: (typeof fields)[number]) => (value: string) =>
    go('/workflows', { ...filter, [name]: value }, { replace: true })
  const filtered = fields.some((name) => filter[name] !== '')
  return (
    <Page title="Workflows" aside={<Start names={known} />}>
      <search className="filters">
        <Filter label="Workflow" value={filter.workflow} onValue={change('workflow')} known={known} />
        <Select label="Status" value={filter.status} onValue={change('status')} options={statuses} />
        <Filter label="Service" value={filter.owner} onValue={change('owner')} />
        <Filter label="Tags" value={filter.tags} onValue={change('tags')} />
        {filtered && <Link to="/workflows">clear the filter</Link>}
      </search>
      <Card>
        {list.data && (
          <Table
            label="Executions"
            rows={rows}
            keyOf={({ id }) => id}
            empty={
              filtered ? (
                'No execution is like that.'
              ) : (
                <>
                  No workflow has been started. <code>defineWorkflow({'{ name, tasks }'})</code> defines a graph of jobs,{' '}
                  <code>holdfast.start(workflow, input)</code> starts it.
                </>
              )
            }
            columns={[
              {
                name: 'Execution',
                cell: ({ id, workflow, version, rerun_of }) => (
                  <>
                    <Link to={`/workflows/${id}`}>{workflow}</Link> <span className="mono soft">…{id.slice(-8)}</span>
                    <span className="second">
                      version {version}
                      {rerun_of && ', a rerun'}
                    </span>
                  </>
                ),
              },
              { name: 'Status', cell: ({ status }) => <ExecutionStatus status={status} /> },
              { name: 'Service', cell: ({ owner }) => owner ?? '–' },
              { name: 'Started', number: true, cell: ({ created_at }) => <Moment at={created_at} /> },
              {
                name: 'Took',
                number: true,
                cell: ({ created_at, ended_at }) =>
                  ended_at === null ? '–' : inWords(Date.parse(ended_at) - Date.parse(created_at)),
              },
            ]}
          />
        )}
        <More list={list} />
      </Card>
    </Page>
  )
}

/** The names of registered workflows, or of those that are shown to people who may not see all. */
function useWorkflows(shown: readonly string[]): readonly string[] {
  const registered = useAnswer<WorkflowsAnswer>('workflows', {}, { enabled: useMay('workers:view'), everyMs: 30_000 })
  return registered.data?.workflows.map(({ name }) => name) ?? [...new Set(shown)]
}

function Start({ names }: { names: readonly string[] }) {
  return (
    <Act
      name="Start a workflow"
      title="Start a workflow"
      needs="jobs:enqueue"
      why="none"
      wide
      send={async ({ workflow, input }) => {
        const { id } = await ask<{ id: string }>('executions', {
          method: 'POST',
          body: { workflow, input: parseExactly(input ?? '{}') },
        })
        go(`/workflows/${id}`)
      }}
      done="The workflow is started"
    >
      <Field name="workflow" label="Workflow" list="workflows" hint="one that a worker has registered" required />
      <datalist id="workflows">
        {names.map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
      <JsonField name="input" label="Input" first="{}" />
    </Act>
  )
}
