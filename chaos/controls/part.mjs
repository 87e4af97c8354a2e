// The negative controls: a checker that never says no proves nothing. Every story must pass without a defect, and every
// defect must be caught by the invariant that it names.
import { fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { eachAtOnce } from '../at-once.mjs'
import { quick, startServer } from '../server.mjs'
import { controls } from './defects.mjs'

const atOnce = 6
const longestMs = 90_000
const program = fileURLToPath(new URL('./tell.mjs', import.meta.url))

export const controlsPart = {
  name: 'controls',
  list: async ({ only }) => controls.map(({ name }) => name).filter((name) => name.startsWith(only)),
  async run({ only }, report) {
    const server = await startServer({ settings: quick })
    const chosen = controls.filter(({ name }) => name.startsWith(only))
    console.log(`controls: ${chosen.length}`)
    try {
      await eachAtOnce(chosen, atOnce, async (control) => {
        let { verdicts, broke } = await tell(server, control.name)
        // A machine that is busy with other things may hide what a defect does; never what a correct story must not do.
        if (control.caughtBy && verdicts && verdicts[control.caughtBy].violations.length === 0) {
          console.log(`  ${control.name} was not caught at the first try`)
          ;({ verdicts, broke } = await tell(server, control.name))
        }
        if (verdicts) judge(control, verdicts, report)
        else report.fail(control.name, [`it came to no verdict: ${broke}`])
      })
    } finally {
      await server.stop()
    }
  },
}

function tell(server, name) {
  return new Promise((resolve) => {
    const child = fork(program, [name, server.url], { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] })
    const exit = () => child.kill('SIGKILL')
    process.once('exit', exit)
    const late = setTimeout(exit, longestMs)
    let told
    let complaints = ''
    child.on('message', (message) => {
      told = message
    })
    child.stderr.on('data', (text) => {
      complaints = (complaints + text).slice(-1_000)
    })
    child.once('exit', (code, signal) => {
      clearTimeout(late)
      process.off('exit', exit)
      resolve(told ?? { broke: `its process ended with ${signal ?? code} and said nothing but: ${complaints}` })
    })
  })
}

function judge({ name, caughtBy }, verdicts, report) {
  const caught = Object.keys(verdicts).filter((invariant) => verdicts[invariant].violations.length > 0)
  if (!caughtBy) {
    const found = caught.flatMap((invariant) => verdicts[invariant].violations.map((text) => `${invariant}: ${text}`))
    return report.fail(name, found)
  }
  report.controls[name] = { caughtBy, also: caught.filter((invariant) => invariant !== caughtBy) }
  if (caught.includes(caughtBy)) return
  report.controls[name].caughtBy = null
  report.fail(name, [`this defect was not caught by ${caughtBy}, but by ${caught.join(', ') || 'nothing'}`])
}
