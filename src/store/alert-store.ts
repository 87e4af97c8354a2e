import type { RecordedActor } from '../job/actor.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

export interface TroubleRow {
  state: 'firing' | 'resolved'
  rule: string
  subject: string
  value: number
}

export interface AlertRow {
  rule: string
  kind: string
  subject: string
  value: number
  threshold: number
  since: number
}

export interface AlertRuleRow {
  name: string
  kind: string
  threshold: number
  type: string | null
  minpriority: number
  lasts: number
  hold: number
  severity: string
  silenced: number | null
  enabled: boolean
}

export interface AlertTargetRow {
  id: number
  url: string
  form: string
  rules: string[] | null
  created: number
  by: string
}

/** What requests to a target are signed with, as it is stored. */
export interface TargetSecretsRow {
  url: string
  secret: string
  /** The one before, as long as it counts. */
  old: string | null
}

/** A target with how what is sent to it looks: webhook, slack or pagerduty. */
export interface TargetFormRow extends TargetSecretsRow {
  form: string
}

/** Rules about trouble, the trouble there is, and who is notified. */
export class AlertStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** What began and what is over since somebody looked, unless that was just now. The jobs that notify targets are enqueued with it. */
  async look(everyMs: number): Promise<TroubleRow[]> {
    return this.#database.query(statement('evaluateAlerts'), [everyMs])
  }

  async alerts(): Promise<AlertRow[]> {
    return this.#database.query(statement('readAlerts'), [])
  }

  async rules(name: string | null = null): Promise<AlertRuleRow[]> {
    return this.#database.query(statement('readAlertRules'), [name])
  }

  async setRule(name: string, fields: object, who: RecordedActor): Promise<void> {
    await this.#database.query(statement('setAlertRule'), [name, JSON.stringify(fields), who.by, who.why, who.from])
  }

  /** False: there is no such rule. */
  async dropRule(name: string, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('dropAlertRule'), [name, who.by, who.why, who.from])
    return rows[0]?.known === true
  }

  async targets(): Promise<AlertTargetRow[]> {
    return this.#database.query(statement('readAlertTargets'), [])
  }

  /** Undefined: it was removed. */
  async target(id: number): Promise<TargetFormRow | undefined> {
    return (await this.#database.query<TargetFormRow>(statement('alertTarget'), [id]))[0]
  }

  /** False: there is no such target. */
  async rotateSecret(id: number, secret: string, graceMs: number, who: RecordedActor): Promise<boolean> {
    const values = [id, secret, graceMs, who.by, who.why, who.from]
    return (await this.#database.query<{ known: boolean }>(statement('rotateAlertSecret'), values))[0]?.known === true
  }

  async addTarget(
    target: { url: string; form: string; secret: string; rules: readonly string[] | null },
    who: RecordedActor,
  ): Promise<number> {
    const values = [target.url, target.form, target.secret, target.rules, who.by, who.why, who.from]
    return ((await this.#database.query<{ id: number }>(statement('addAlertTarget'), values))[0] as { id: number }).id
  }

  /** False: there is no such target. */
  async dropTarget(id: number, who: RecordedActor): Promise<boolean> {
    const rows = await this.#database.query<{ known: boolean }>(statement('dropAlertTarget'), [id, who.by, who.why, who.from])
    return rows[0]?.known === true
  }

  /** The job that notifies it; null: there is no such target. */
  async testTarget(id: number, who: RecordedActor): Promise<string | null> {
    const values = [id, who.by, who.why, who.from]
    return (await this.#database.query<{ id: string | null }>(statement('testAlertTarget'), values))[0]?.id ?? null
  }

  async callers(): Promise<number> {
    return (await this.#database.query<{ workers: number }>(statement('callersOfTargets'), []))[0]?.workers ?? 0
  }
}
