import type { TargetSecretsRow } from './alert-store.js'
import type { Database } from './database.js'
import { statement } from './queries.js'

/** What a text is encrypted as. */
export type EncryptedAs = 'payload' | 'checkpoint' | 'result' | 'step' | 'signal'

/** What is stored of a job, an execution or a task that may be encrypted. */
export type StoredKind = EncryptedAs | 'input' | 'taskPayload' | 'taskResult'

/** A stored text; null where it is as it should be. `id`: begins with that of the job or execution. `what`: what it is encrypted as, where that is another. */
export interface StoredText {
  id: string
  what?: EncryptedAs
  type: string
  text: string | null
}

export interface Exchanged {
  id: string
  was: string
  made: string
}

const nextOf = {
  payload: () => statement('nextToEncrypt'),
  checkpoint: () => statement('nextCheckpointsToEncrypt'),
  result: () => statement('nextResultsToEncrypt'),
  step: () => statement('nextStepsToEncrypt'),
  signal: () => statement('nextSignalsToEncrypt'),
  input: () => statement('nextInputsToEncrypt'),
  taskPayload: () => statement('nextTaskPayloadsToEncrypt'),
  taskResult: () => statement('nextTaskResultsToEncrypt'),
}
const putOf = {
  payload: () => statement('putEncrypted'),
  checkpoint: () => statement('putEncryptedCheckpoints'),
  result: () => statement('putEncryptedResults'),
  step: () => statement('putEncryptedSteps'),
  signal: () => statement('putEncryptedSignals'),
  input: () => statement('putEncryptedInputs'),
  taskPayload: () => statement('putEncryptedTaskPayloads'),
  taskResult: () => statement('putEncryptedTaskResults'),
}

/** What is encrypted is read and written back here; nothing is decrypted in the database. */
export class PrivacyStore {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** The next texts of one kind, by the ids of their jobs. */
  next(what: StoredKind, ask: { after: string; limit: number; key: string; all: boolean }): Promise<StoredText[]> {
    const values = [ask.after, ask.limit, ask.key, ask.all]
    return this.#database.query(nextOf[what](), values)
  }

  /** About how many texts there are to look at, at no price. */
  async roughly(): Promise<number> {
    return (await this.#database.query<{ texts: number }>(statement('roughlyStored'), []))[0]?.texts ?? 0
  }

  /** Answers with how many were exchanged; one that has changed meanwhile is not. */
  async put(what: StoredKind, texts: readonly Exchanged[]): Promise<number> {
    const values = [texts.map(({ id }) => id), texts.map(({ was }) => was), texts.map(({ made }) => made)]
    return (await this.#database.query(putOf[what](), values)).length
  }

  targetSecrets(): Promise<(TargetSecretsRow & { id: number })[]> {
    return this.#database.query(statement('targetSecrets'), [])
  }

  /** False: somebody has changed them since. */
  async putTargetSecrets(id: number, was: TargetSecretsRow, made: TargetSecretsRow): Promise<boolean> {
    const values = [id, made.secret, made.old, was.secret, was.old]
    return (await this.#database.query(statement('putTargetSecrets'), values)).length > 0
  }
}
