export type {
  AuditAnswer,
  AuditQuery,
  BreakerBody,
  CertificateBody,
  DependencyAnswer,
  DependencyBody,
  GateAnswer,
  KeyAnswer,
  KeyBody,
  LaneAnswer,
  LaneBody,
  LimitsBody,
  NewKeyAnswer,
  RoleAnswer,
  RoleBody,
  TypeGateAnswer,
  WorkersAnswer,
} from '../api/admin.js'
export type {
  AlertsAnswer,
  NewTargetAnswer,
  RotateTargetBody,
  RuleAnswer,
  RuleBody,
  TargetAnswer,
  TargetBody,
  TestAnswer,
} from '../api/alerts.js'
export type { BatchAnswer, BatchListQuery, RetriedBatchAnswer, RetryBatchBody } from '../api/batches.js'
export type { BuildAnswer, CanaryAnswer } from '../api/builds.js'
export type { BulkAnswer, BulkBody, BulkEstimateAnswer, BulkListQuery } from '../api/bulk.js'
export type { MovedAnswer, PauseBody, ReleaseBody } from '../api/common.js'
export type {
  DlqQuery,
  LetterAnswer,
  LetterStoryAnswer,
  ManyAnswer,
  ManyBody,
  ReplayBody,
  ReplayManyBody,
} from '../api/dlq.js'
export type { DoctorAnswer, DoctorQuery } from '../api/doctor.js'
export type { ErrorAnswer, ErrorGroupAnswer, ErrorsQuery } from '../api/errors.js'
export type { EventAnswer, EventQuery } from '../api/events.js'
export type {
  ExecutionAnswer,
  ExecutionListQuery,
  ExecutionSummaryAnswer,
  TaskAnswer,
  TaskListQuery,
  WorkflowsAnswer,
} from '../api/executions.js'
export type { DepthBody, DepthsAnswer, KeyStateAnswer } from '../api/flow.js'
export type {
  CountsAnswer,
  CountsQuery,
  ExplainAnswer,
  JobAnswer,
  JobBody,
  JobSummaryAnswer,
  ListAnswer,
  ListQuery,
  LogAnswer,
  LogQuery,
  RescheduleBody,
} from '../api/jobs.js'
export type {
  BackfillBody,
  BackfilledAnswer,
  PreviewAnswer,
  PruneBody,
  RanAnswer,
  ScheduleAnswer,
  ScheduleBody,
  ScheduleChange,
  ScheduleStoryAnswer,
  SchedulesQuery,
} from '../api/schedules.js'
export type { SeriesAnswer, SeriesQuery, TypeSeriesAnswer, TypeSeriesQuery } from '../api/series.js'
export type { EndedAnswer } from '../api/session.js'
export type { SettingBody, SettingsAnswer } from '../api/settings.js'
export type { MovedTypeAnswer, SlotsAnswer, TypeAnswer, TypeBody } from '../api/types.js'
export type { ApproveBody, DecidedAnswer, RejectBody } from '../api/verdicts.js'
export { type ErrorCode, HoldfastError } from '../errors.js'
export type { JobOptions } from '../job/job-options.js'
export { defineType, type JobRequest, type JobType } from '../job/type.js'
export type { ClientAccess } from './access.js'
export type { ClientAlerts } from './alerts.js'
export type { ClientBatch } from './batch-body.js'
export type { ClientBatchCreated, ClientBatches } from './batches.js'
export type { ClientBuilds } from './builds.js'
export type { ClientBulkActions } from './bulk.js'
export { type ClientOptions, HoldfastClient } from './client.js'
export type { ClientDeadLetters } from './dead-letters.js'
export type { ClientErrorGroups } from './error-groups.js'
export type { ClientEventPage, ClientEvents, ClientFollowOptions } from './events.js'
export type { ClientExecutions, ClientStartOptions, StartedExecution } from './executions.js'
export type { ClientFlow } from './flow.js'
export type { ClientPersistence } from './persistence.js'
export type { ClientSchedules } from './schedules.js'
export type { ClientEnqueued } from './stored.js'
