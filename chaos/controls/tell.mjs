// One story, with or without a defect in it, in a process of its own: what a defect does to a process must not reach the
// others. Its arguments: the name of the control, the address of the server. It tells its parent the verdicts.
import { check } from '../check/checker.mjs'
import { Stage } from '../stage.mjs'
import { controls } from './defects.mjs'

const [name, serverUrl] = process.argv.slice(2)
const { story, put, drainMs = 20_000 } = controls.find((control) => control.name === name)
const stage = await Stage.open(serverUrl)
try {
  await put?.(stage)
  await story(stage)
  await stage.drain({ withinMs: drainMs })
  await stage.rest()
  process.send(check(await stage.history()))
} finally {
  await stage.close()
  process.exit()
}
