// One story, with or without a defect in it, in a process of its own: what a defect does to a process must not reach the
// others. Its arguments: the name of the control, the address of the server. It tells its parent the verdicts, or why there are none.
import { check } from '../check/checker.mjs'
import { Stage } from '../stage.mjs'
import { controls } from './defects.mjs'

const [name, serverUrl] = process.argv.slice(2)
const { story, patches = [], drainMs = 20_000 } = controls.find((control) => control.name === name)
const stage = await Stage.open(serverUrl)
let told
try {
  for (const patch of patches) await patch.put(stage)
  await story(stage)
  await stage.drain({ withinMs: drainMs })
  await stage.rest()
  told = { verdicts: check(await stage.history()) }
} catch (error) {
  told = { broke: error.stack }
}
await stage.close().catch(() => {})
// What the defect has left open must not keep this process; what was told must have left it.
process.send(told, () => process.exit())
