-- What users of the database may read and call, in the words of docs/schema.md, which a test compares with these. The file is
-- applied last, because its name is. Tables that may be read have their comments in the schema files.

comment on view holdfast.jobs is 'Every job that is kept, with its status, times, payload and last error.';
comment on view holdfast.attempts is 'Every ended attempt that is kept, with its outcome, worker and error.';
comment on view holdfast.live is 'Every job that has not ended, with the place where it stands: queue, waiting or following.';
comment on view holdfast.batch_progress is 'Every batch that is kept, with how many of its members are live, completed, dead, cancelled and discarded.';
comment on view holdfast.execution_tasks is 'Every task of every execution that is kept, with its status, job, times, input, error and result.';
comment on table holdfast.executions is 'Every execution of a workflow that is kept, with its status, times and input.';
comment on view holdfast.schedule_overview is 'Every schedule: what it makes, when it ticks next, whether it is paused, and what operators changed of it.';
comment on view holdfast.counters is 'How many attempts and jobs of each type have ended, and how, since the installation.';

comment on function holdfast.enqueue is 'Enqueues one job in the transaction of the caller. Returns its id and what happened: created, existing, replaced, debounced or queued_behind.';
comment on function holdfast.signal is 'Sends a signal to a job, in the transaction of the caller.';
comment on function holdfast.new_job_id is 'Makes an id for a job: a UUIDv7 by the clock of the database.';
comment on function holdfast.now is 'Says what time it is for everything that is decided by time.';
comment on function holdfast.status_of is 'Says the status of a job. Null: nothing of it is kept.';
comment on function holdfast.execution_output is 'Says what an execution resulted in: the results that its workflow names as its output.';
comment on function holdfast.find_drift is 'Finds every slot, lease and key that disagrees with the jobs. No row: all agree.';

comment on function holdfast.actor is 'Makes the actor that the functions below take: who does something, why, and from where.';
comment on function holdfast.pause_type is 'Pauses a type, for a time or until it is resumed: its jobs wait, enqueue goes on.';
comment on function holdfast.resume_type is 'Lets a type run again that was paused or stopped.';
comment on function holdfast.pause_key is 'Pauses one concurrency key of a type, for a time or until it is resumed.';
comment on function holdfast.resume_key is 'Lets a concurrency key run again that was paused or stopped.';
comment on function holdfast.set_limits is 'Sets the named limits of a type, for a time or until they are released; null takes one away.';
comment on function holdfast.release_limits is 'Gives limits of a type back to what its definition says: those that are named, or with null all.';
comment on function holdfast.set_weight is 'Sets the share of a concurrency key beside the other keys of its type.';
comment on function holdfast.operate_breaker is 'Opens, closes, holds or releases the breaker of a type.';
comment on function holdfast.set_lane is 'Changes the named fields of a lane, for a time or until they are released, or makes it.';
comment on function holdfast.release_lane is 'Gives fields of a lane back to what it was made with: those that are named, or with null all.';
comment on function holdfast.set_type_lane is 'Puts a type into another lane, until that is released.';
comment on function holdfast.define_type is 'Defines a type without a worker of it, or changes the named settings of one until they are released.';
comment on function holdfast.release_type is 'Gives settings of a type back to its definition: those that are named, or with null all.';
comment on function holdfast.set_depth_limit is 'Sets how much may wait in the queue, a lane or a type before enqueue is refused.';
comment on function holdfast.cancel_jobs is 'Cancels jobs, running ones too.';
comment on function holdfast.resume_job is 'Takes up a cancelled job where it was.';
comment on function holdfast.set_priority is 'Gives jobs that do not run another priority.';
comment on function holdfast.reschedule_jobs is 'Makes jobs that do not run due at another time.';
comment on function holdfast.run_now is 'Makes jobs that wait for a time due at once.';
comment on function holdfast.bury_jobs is 'Makes dead letters of jobs that do not run.';
comment on function holdfast.decide_approval is 'Approves or rejects a job that waits for approval.';
comment on function holdfast.replay_dead is 'Makes dead jobs due again.';
comment on function holdfast.discard_dead is 'Ends dead jobs for good.';
comment on function holdfast.cancel_execution is 'Cancels an execution, and its jobs.';
comment on function holdfast.resume_execution is 'Goes on with an execution that failed or was cancelled.';
comment on function holdfast.forget_job is 'Removes everything that is kept of a job that has ended.';
comment on function holdfast.pause_schedule is 'Pauses a schedule, for a time or until it is resumed: no tick makes a job.';
comment on function holdfast.resume_schedule is 'Lets a schedule tick again, from now on.';
comment on function holdfast.remove_schedule is 'Removes a schedule that does not stand in code.';
comment on function holdfast.prune_schedules is 'Removes the schedules that are gone from code, and returns their names.';
