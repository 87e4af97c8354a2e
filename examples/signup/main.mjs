// npm run example signup: people sign up, and one after the other everything goes wrong that can. STORY names one, or several with commas.
import { makeWorld } from './world.mjs'

export const stories = [
  'poison-image',
  'slow-crm',
  'smtp-down',
  'import-spiral',
  'emergency-pause',
  'bad-deploy',
  'canary',
  'rate-limited-webhooks',
  'fan-out',
  'lossy-network',
]

export async function play(stage, { only = process.env.STORY?.split(',') ?? stories, sizes = {}, ...pace } = {}) {
  const unknown = only.filter((name) => !stories.includes(name))
  if (unknown.length > 0) throw new Error(`there is no story ${unknown.join(', ')}; there are ${stories.join(', ')}`)
  const world = await makeWorld(stage, pace)
  const told = {}
  for (const name of only) {
    const { title, tell } = await import(`./stories/${name}.mjs`)
    stage.say(`\n${title}  (${name})`)
    told[name] = await tell(world, sizes)
  }
  return told
}
