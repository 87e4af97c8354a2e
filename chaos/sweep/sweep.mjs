// The boundary sweep: every message of every operation is lost, answered in vain, or late; afterwards all must be well.
import { within } from '../at-once.mjs'
import { check } from '../check/checker.mjs'
import { Stage } from '../stage.mjs'
import { startProxy } from '../wire/proxy.mjs'
import { faultsOf, Recorder, Trap } from '../wire/trap.mjs'

/** The server greets with some twenty of these; they are all alike. */
const alike = ['ParameterStatus', 'NoticeResponse', 'NotificationResponse']
/** Said when all is over. */
const goodbye = 'Terminate'
const sprungWithinMs = 20_000

async function onStage(server, operation, use) {
  const stage = await Stage.open(server.url, { empty: operation.empty })
  const proxy = await startProxy(server.port)
  stage.onClose(() => proxy.close())
  try {
    await operation.prepare?.(stage)
    return await use(stage, proxy)
  } finally {
    await stage.close()
  }
}

/** Who awaits its end may give up before, and then closes what it works on: its failure is heard by them or by nobody. */
function perform(operation, stage, proxy, trap) {
  const performing = (async () => {
    const arm = () => proxy.arm(trap)
    if (!operation.armsItself) arm()
    await operation.perform(stage, proxy.through(stage.url), arm, trap.sprung)
  })()
  performing.catch(() => {})
  return performing
}

/** The messages of one operation, seen while nobody disturbs it, as cases: one for each fault that each can meet. */
export async function casesOf(server, operation) {
  const messages = await onStage(server, operation, async (stage, proxy) => {
    stage.patient = true
    const recorder = new Recorder(operation.watch())
    const performing = perform(operation, stage, proxy, recorder)
    // Before anybody helps: whoever drains could do what the worker behind the proxy is to be seen doing.
    await within(sprungWithinMs, `the first look at ${operation.name}`, recorder.sprung)
    await performing
    await operation.settle?.(stage)
    await stage.drain()
    return recorder.messages
  })
  const numbered = { frontend: 0, backend: 0 }
  return messages.flatMap(({ side, type }) => {
    const index = numbered[side]++
    if (alike.includes(type) || type === goodbye) return []
    const place = side === 'frontend' ? `${index}-${type}` : `answer-${index}-${type}`
    return faultsOf({ side, type }).map((fault) => ({
      name: `sweep/${operation.name}/${place}/${fault}`,
      operation,
      at: { side, index, fault },
    }))
  })
}

/**
 * On a busy machine a timeout can end an operation before it comes to its message, or what is done before it; then nothing was
 * broken, and nothing is proven. Such a case is tried again. Some messages are sent only where an operation takes long, such as a new count of
 * what waits: one that three tries and a second look do not see is `unsent`, and no case.
 */
export async function runCase(server, one, withinMs = sprungWithinMs) {
  for (let tries = 1; ; tries++) {
    const seen = { reached: false }
    const result = await tryCase(server, one, seen, withinMs).catch((error) => {
      if (seen.reached || tries === 3) throw error
    })
    if (result?.reached) return result
    if (tries < 3) continue
    const again = await casesOf(server, one.operation)
    return { ...result, unsent: !again.some(({ name }) => name === one.name) }
  }
}

/** One case, from an empty database to the verdict. */
async function tryCase(server, { operation, at }, seen, withinMs) {
  return onStage(server, operation, async (stage, proxy) => {
    const trap = new Trap(operation.watch(), at)
    const performing = perform(operation, stage, proxy, trap)
    const brokeDown = new Promise((resolve) => performing.catch(() => resolve(false)))
    const reached = await Promise.race([
      trap.sprung.then(() => true),
      brokeDown,
      new Promise((resolve) => setTimeout(resolve, withinMs, false).unref()),
    ])
    seen.reached = reached
    await performing
    await operation.settle?.(stage)
    await stage.drain()
    const facts = (await operation.verify?.(stage)) ?? []
    await stage.rest()
    const history = await stage.history()
    const verdicts = check(history)
    if (!reached) facts.push('the message this case breaks was never sent')
    const [acknowledged, executions] = [count(history, 'acknowledged'), count(history, 'start')]
    return { reached, verdicts, facts, acknowledged, executions, history }
  })
}

function count({ entries }, kind) {
  return entries.filter((entry) => entry.kind === kind).length
}
