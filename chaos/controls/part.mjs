// The negative controls: a checker that never says no proves nothing. Every story must pass without a defect, and every
// defect must be caught by the invariant that it names.

import { eachAtOnce, within } from '../at-once.mjs'
import { check } from '../check/checker.mjs'
import { quick, startServer } from '../server.mjs'
import { Stage } from '../stage.mjs'
import { defects } from './defects.mjs'

/** The stories as they are, and the stories with one defect in them. */
const controls = [
  ...[...new Set(defects.map(({ story }) => story))].map((story) => ({ name: `controls/correct/${story.name}`, story })),
  ...defects.map((defect) => ({ ...defect, name: `controls/${defect.name}` })),
]
const atOnce = 8

export const controlsPart = {
  name: 'controls',
  list: async ({ only }) => controls.map(({ name }) => name).filter((name) => name.startsWith(only)),
  async run({ only }, report) {
    const server = await startServer({ settings: quick })
    const chosen = controls.filter(({ name }) => name.startsWith(only))
    console.log(`controls: ${chosen.length}`)
    try {
      await eachAtOnce(chosen, atOnce, async (control) => {
        const verdicts = await within(90_000, control.name, tell(server, control)).catch((error) =>
          report.fail(control.name, [`it broke: ${error.stack}`]),
        )
        if (verdicts) judge(control, verdicts, report)
      })
    } finally {
      await server.stop()
    }
  },
}

async function tell(server, { story, put, drainMs = 20_000 }) {
  const stage = await Stage.open(server.url)
  try {
    await put?.(stage)
    await story(stage)
    await stage.drain({ withinMs: drainMs })
    await stage.rest()
    return check(await stage.history())
  } finally {
    await stage.close()
  }
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
