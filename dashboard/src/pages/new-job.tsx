import { useMutation } from '@tanstack/react-query'
import type { FormEvent } from 'react'
import type { JobAnswer, JobBody } from '../../../src/api/jobs.js'
import { useGates } from '../api/answers.js'
import { ask } from '../api/ask.js'
import { parseExactly, writeExactly } from '../api/json.js'
import { pathOf, useAnswer } from '../api/use.js'
import { AttemptsField, Check, Field, given, givenNumber, JsonField, listOf, PriorityField } from '../parts/fields.js'
import { Card, Page, Problem } from '../parts/page.js'
import { say } from '../parts/said.js'
import { go, useRoute } from '../routing.js'
import { useMay } from '../session/session.js'

/** Enqueues one job by hand, from nothing or with the values of another. */
export function NewJob() {
  const { query } = useRoute()
  const like = query.get('like')
  const model = useAnswer<JobAnswer>(`jobs/${pathOf(like ?? '')}`, {}, { enabled: like !== null, everyMs: 600_000 })
  return (
    <Page title="New job">
      {like !== null && model.error && <Problem error={model.error} />}
      {(like === null || model.data) && (
        <JobForm model={model.data} type={query.get('type') ?? ''} key={model.data?.id ?? 'new'} />
      )}
    </Page>
  )
}

function JobForm({ model, type }: { model: JobAnswer | undefined; type: string }) {
  const types = useGates({ enabled: useMay('workers:view') })
  const enqueue = useMutation({
    mutationFn: (body: JobBody) => ask<{ id: string; status: string }>('jobs', { method: 'POST', body }),
    onSuccess: ({ id, status }) => {
      say(status === 'created' ? 'The job is stored' : `Not a new job: ${status.replaceAll('_', ' ')}`)
      go(`/jobs/${id}`)
    },
  })
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    enqueue.mutate(bodyOf(new FormData(event.currentTarget)))
  }
  return (
    <Card>
      <form className="sheet" onSubmit={submit}>
        <Field
          name="type"
          label="Job type"
          list="types"
          defaultValue={model?.type ?? type}
          required
          hint="one that a worker or producer has registered"
        />
        <datalist id="types">
          {types.data?.types.map((one) => (
            <option key={one.type} value={one.type} />
          ))}
        </datalist>
        <JsonField
          name="payload"
          label="Payload"
          first={model ? writeExactly(model.payload, '  ') : '{}'}
          rows={10}
          hint="JSON, at most 64 KB. The server checks it against the schema of the type, where it has one."
        />
        <div className="pair">
          <PriorityField first={model?.priority} label="Priority" hint="0 to 9; empty: of the type" />
          <AttemptsField first={model?.max_attempts} label="Attempts at most" hint="empty: of the type" />
          <Field name="delay" label="Runs after" hint="such as 5m or 2h; empty: at once" />
          <Field name="run_at" label="or at" type="datetime-local" hint="in the time zone of this browser" />
          <Field
            name="concurrency_key"
            label="Concurrency key"
            defaultValue={model?.concurrency_key ?? ''}
            hint="such as a tenant; limits count per key"
          />
          <Field name="idempotency_key" label="Idempotency key" hint="a second job with it is not stored" />
          <Field name="tags" label="Tags" defaultValue={model?.tags.join(' ') ?? ''} hint="separated by spaces, at most 8" />
          <Field name="expire_in" label="Has to start within" hint="such as 1h; later it is not started" />
        </div>
        <Check name="approval" label="Somebody has to approve it before it runs" />
        {enqueue.error && <Problem error={enqueue.error} />}
        <div className="row">
          <button type="submit" className="first" disabled={enqueue.isPending}>
            Enqueue
          </button>
        </div>
      </form>
    </Card>
  )
}

function bodyOf(form: FormData): JobBody {
  const text = (name: string) => given(String(form.get(name) ?? ''))
  const runAt = text('run_at')
  const fields = {
    type: text('type') ?? '',
    payload: parseExactly(String(form.get('payload'))),
    priority: givenNumber(text('priority')),
    max_attempts: givenNumber(text('max_attempts')),
    delay: text('delay'),
    run_at: runAt && new Date(runAt).toISOString(),
    concurrency_key: text('concurrency_key'),
    idempotency_key: text('idempotency_key'),
    tags: listOf(text('tags')),
    expire_in: text('expire_in'),
    approval: form.get('approval') === 'yes' ? true : undefined,
  }
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as JobBody
}
