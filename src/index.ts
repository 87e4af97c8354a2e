// The library, in the order a job meets it. Loads the driver and little else; workers are in holdfast/worker.

export type { Access, KeyFields, KeyState, Role } from './access/access.js'
export type { AuditLine, AuditQuestion } from './access/audit.js'
export type { Caller } from './access/caller.js'
export type { CertificateNames } from './access/certificate.js'
export type { Alert, AlertRule, Alerts, AlertTarget, RuleFields, TargetFields, Trouble } from './alerts/alerts.js'
export type { AlertKind, AlertSeverity, TargetForm } from './api/alerts.js'
export { type Permission, permissions } from './api/permissions.js'
export type { Batch } from './batch/batch.js'
export type {
  BatchCancelled,
  BatchCreated,
  Batches,
  BatchFilter,
  BatchOwner,
  BatchRequest,
  BatchStoreOptions,
} from './batch/batches.js'
export type { BatchCallbacks } from './batch/callbacks.js'
export type { CheckUp, DoctorOptions } from './doctor/doctor.js'
export type { DoctorFinding } from './doctor/finding.js'
export type { Enqueued, EnqueueOptions } from './enqueue/enqueue.js'
export {
  type ErrorCode,
  type ErrorParts,
  errorTable,
  FatalError,
  HoldfastError,
  JobCancelledError,
  JobEndedError,
  LeaseLostError,
  RetryableError,
  UniqueConflictError,
} from './errors.js'
export type { WorkerEvents } from './events.js'
export type { BuildState, Builds } from './flow/builds.js'
export type { CanaryAdvice, CanaryFinding, CanaryVerdict } from './flow/canary-verdict.js'
export type { DepthFields } from './flow/depth.js'
export type { Explanation } from './flow/explain.js'
export type { Gate } from './flow/explain-gates.js'
export type { BreakerAction, Flow } from './flow/flow.js'
export type { LaneFields } from './flow/lane-fields.js'
export type { Override } from './flow/overrides.js'
export type { SettingName, SettingState } from './flow/settings.js'
export type {
  BreakerState,
  DependencyState,
  DepthLimitState,
  DoneBy,
  GateState,
  KeySettings,
  LaneState,
  Paused,
  SlotState,
} from './flow/states.js'
export type { TypeSettings, TypeState } from './flow/type-settings.js'
export type { JobCount, JobCounts } from './history/counts.js'
export type { ErrorGroup, ErrorGroupQuestion, ErrorGroups } from './history/error-groups.js'
export type { EventFilter, EventPage, Events, FollowedEvents, FollowOptions } from './history/events.js'
export type { JobListFilter, JobPage } from './history/list.js'
export type { Series, SeriesQuestion } from './history/series.js'
export type { SeriesColumns, SeriesPercentiles } from './history/series-of.js'
export type { JobSignal, JobStep } from './history/steps.js'
export type { JobApproval, JobAttempt, JobChange, JobProgress, JobStory, JobSummary, LogLine } from './history/story.js'
export type { TypeActivity, TypeSeries, TypeSeriesQuestion } from './history/type-series.js'
export type { WaitOptions } from './history/wait.js'
export { Holdfast } from './holdfast.js'
export type { Issue, Path } from './issue.js'
export type { Actor } from './job/actor.js'
export type { Approval, ApprovalOption } from './job/approval.js'
export type { DrizzleLike, KnexLike, KyselyLike, PgClientLike, PostgresJsLike, PrismaLike } from './job/caller-transaction.js'
export type { Chunk, ChunkAnswer, ChunkContext, ChunkJob, ChunkOptions, ChunkReturn, ChunkRun } from './job/chunk.js'
export { type DefinedDependency, type Dependency, defineDependency } from './job/dependency.js'
export type { Duration } from './job/duration.js'
export type { EventError, EventKind, EventOf, JobEvent } from './job/event.js'
export type { Failure } from './job/failure.js'
export type { ForATime } from './job/for-a-time.js'
export type { DeathNotice, JobHooks, TypeHooks } from './job/hooks.js'
export type { Isolation, IsolationKind, IsolationOptions } from './job/isolation.js'
export type { JobOptions } from './job/job-options.js'
export type { DependencyLimits, Limits, Rate } from './job/limits.js'
export type { LogLevel } from './job/log-entry.js'
export type { AttemptOutcome } from './job/outcome.js'
export type { Backoff, BackoffFunction, BackoffOption } from './job/retry.js'
export {
  type CompleteWith,
  type ExecutionInHand,
  type JobInHand,
  type JobLog,
  type RunContext,
  Snooze,
} from './job/run-context.js'
export type { SmokeOption } from './job/smoke.js'
export type { JobStatus } from './job/state.js'
export type { StepInHand, StepKind, StepOptions } from './job/steps.js'
export { type AnyJobType, defineType, type JobRequest, type JobType } from './job/type.js'
export type { ChunkDefinition, TypeDefinition } from './job/type-definition.js'
export type { Upcasts } from './job/type-fields.js'
export type { OnConflict, Uniqueness, UniqueOption } from './job/unique.js'
export type { Verify, VerifyOption } from './job/verify.js'
export type { Webhook, WebhookOption } from './job/webhook.js'
export { Holdfasts, type MemberState } from './members/holdfasts.js'
export type { HoldfastsOptions, MemberAddress, MemberOptions } from './members/options.js'
export type { MemberJobPage } from './members/pages.js'
export type { RouteOptions } from './members/router.js'
export type { Decided, VerdictOptions } from './operate/approval.js'
export type { BulkAction, BulkActions, BulkEstimate } from './operate/bulk.js'
export type { BulkActionName, BulkRequest } from './operate/bulk-request.js'
export type { Confirm } from './operate/confirm.js'
export type { DeadLetterFilter, DeathReason } from './operate/dead-letter-filter.js'
export type {
  DeadLetter,
  DeadLetterPage,
  DeadLetterStory,
  DeadLetters,
  ManyOptions,
  MovedDeadLetters,
} from './operate/dead-letters.js'
export type { JobFilter, LiveStatus } from './operate/job-filter.js'
export type { Moved, MovedMany, NewTime } from './operate/moves.js'
export type { SignalOptions } from './operate/signals.js'
export type { HoldfastOptions } from './options.js'
export type { EncryptionOptions } from './privacy/keyring.js'
export type { PrivacyOptions } from './privacy/privacy.js'
export type { ScheduleExplanation } from './schedule/explain.js'
export type { Backfilled, DefinedSchedules, RunSchedule, Schedules } from './schedule/schedules.js'
export {
  defineSchedule,
  type MissedPolicy,
  type OverlapPolicy,
  type Schedule,
  type ScheduleDefinition,
  type ScheduleSpec,
} from './schedule/spec.js'
export type { ScheduleState, ScheduleTick } from './schedule/states.js'
export type { ArchivedJob } from './store/archive-store.js'
export type { WaitReason } from './store/load-rows.js'
export type { AppliedFile, Migrated } from './store/migrate.js'
export type { CallerTransaction } from './store/transaction.js'
export type { ArchiveDay, ArchivedDay, ArchiveOptions } from './upkeep/archive.js'
export type { Reencrypted, ReencryptOptions } from './upkeep/reencrypt.js'
export { defineWorkflow, type WorkflowDefinition } from './workflow/define.js'
export type {
  ExecutionFilter,
  ExecutionPage,
  Executions,
  ExecutionWaitOptions,
  RegisteredWorkflow,
  WorkflowSummary,
} from './workflow/executions.js'
export type { Graph, GraphTask, GraphTaskJob, OnFailure, When } from './workflow/graph.js'
export type { ExecutionOwner, TaskPage, TaskPageOptions } from './workflow/look.js'
export type { MovedExecution } from './workflow/moved.js'
export type { Started, StartOptions } from './workflow/start.js'
export type {
  Execution,
  ExecutionOverview,
  ExecutionStatus,
  ExecutionSummary,
  ExecutionTask,
  TaskStatus,
} from './workflow/story.js'
export type {
  AnyTask,
  AnyWorkflow,
  JobTaskOptions,
  OutputTasks,
  RunTaskOptions,
  Task,
  TaskContext,
  TaskMaker,
  TaskOptions,
  TaskParents,
  Workflow,
} from './workflow/typed.js'
