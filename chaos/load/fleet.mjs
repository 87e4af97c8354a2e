// The processes of a campaign: started, asked, harmed and ended by their ids, and all gone when the run ends.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

export class Fleet {
  #members = new Set()
  /** Processes that ended although the bench did not end them: { pid, how }. */
  deserters = []
  #exit = () => {
    for (const { child } of this.#members) child.kill('SIGKILL')
  }

  constructor() {
    process.once('exit', this.#exit)
  }

  /** @param {string} role the program of that name in this folder, or in another version's, with its settings */
  async start(role, settings, { skewMs = 0, programs = import.meta.url } = {}) {
    const program = fileURLToPath(new URL(`./${role}.mjs`, programs))
    const child = fork(program, [JSON.stringify(settings)], {
      execArgv: role === 'worker' ? [`--import=${clockThatJumps(skewMs)}`] : role === 'tx-producer' ? ['--expose-gc'] : [],
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    const member = { role, settings, child, pid: child.pid, complaints: '', expected: false }
    member.gone = new Promise((resolve) => child.once('exit', resolve))
    child.stderr.on('data', (text) => {
      member.complaints = (member.complaints + text).slice(-2_000)
    })
    member.gone.then((code) => {
      this.#members.delete(member)
      if (!member.expected)
        this.deserters.push({ pid: child.pid, how: `${role} ${child.pid} ended by itself (${code}): ${member.complaints}` })
    })
    this.#members.add(member)
    const ready = await Promise.race([new Promise((resolve) => child.once('message', () => resolve(true))), member.gone])
    if (ready !== true) throw new Error(`a ${role} did not start: ${member.complaints}`)
    return member
  }

  of(role) {
    return [...this.#members].filter((member) => member.role === role && !member.expected)
  }

  async kill(member) {
    member.expected = true
    member.child.kill('SIGKILL')
    await member.gone
  }

  /** In good order, and by force where that takes too long. False: it had to be killed. */
  async stop(member, withinMs = 15_000) {
    member.expected = true
    member.child.kill('SIGTERM')
    const late = new Promise((resolve) => setTimeout(resolve, withinMs, 'late').unref())
    if ((await Promise.race([member.gone, late])) !== 'late') return true
    await this.kill(member)
    return false
  }

  async health(member) {
    member.child.send('health')
    return new Promise((resolve) => member.child.once('message', resolve))
  }

  async end() {
    await Promise.all([...this.#members].map((member) => this.kill(member)))
    process.off('exit', this.#exit)
  }
}

/**
 * A program that believes it is another time, from its start or since it was told to by SIGUSR2. The clock that intervals are
 * measured by stays as it is.
 */
function clockThatJumps(skewMs) {
  const text = `const D = Date, now = D.now.bind(D); let skew = ${skewMs}; process.on('SIGUSR2', () => { skew = 7200000 - skew });
    globalThis.Date = class extends D {
      constructor(...a) { a.length ? super(...a) : super(now() + skew) } static now() { return now() + skew } }`
  return `data:text/javascript,${encodeURIComponent(text)}`
}
