import { statSync } from 'node:fs'
import { chmod, chown, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest'
import { clearUp, emptyDirectory, Program, RunningHoldfast } from '../support/holdfast-program.js'
import { installWithoutScripts } from '../support/installation.js'
import { nobody, nobodyRunsNode, processesNaming } from '../support/machine.js'

describe.skipIf(!nobodyRunsNode())('holdfast up as an ordinary user', () => {
  let installedIn: string
  let directory: string

  beforeAll(async () => {
    const installed = await installWithoutScripts(['pg', 'commander', 'croner', 'fastify', '@standard-schema/spec'])
    installedIn = installed.directory
    await chmod(installedIn, 0o755)
  }, 60_000)
  afterAll(() => rm(installedIn, { recursive: true, force: true }))
  afterEach(() => clearUp(directory))

  test('works, and everything belongs to that user, also after a start as root', { timeout: 240_000 }, async () => {
    directory = await emptyDirectory()
    await chown(directory, nobody.uid, nobody.gid)
    // As with sudo: what root leaves behind in somebody's directory must be theirs.
    const asRoot = await RunningHoldfast.start(directory, { installedIn })
    const { id } = await asRoot.enqueue({ type: 'demo_email', payload: {}, delay: '1s' })
    expect(await asRoot.end('SIGINT')).toBe(0)

    const how = { installedIn, ...nobody, env: { XDG_CACHE_HOME: join(directory, 'cache') } }
    const first = await RunningHoldfast.start(directory, how)
    expect(first.adminKey).toBe(asRoot.adminKey)
    for (const pid of await processesNaming(directory)) expect(statSync(`/proc/${pid}`).uid).toBe(nobody.uid)
    expect(statSync(join(directory, '.holdfast', 'admin.key'))).toMatchObject({ uid: nobody.uid, mode: 0o100600 })
    await vi.waitFor(async () => expect(await first.json(`/jobs/${id}`)).toMatchObject({ status: 'completed' }), {
      timeout: 60_000,
    })
    expect(await first.end('SIGINT')).toBe(0)
    expect(await processesNaming(directory)).toEqual([])

    const second = await RunningHoldfast.start(directory, how)
    expect(await second.json(`/jobs/${id}`)).toMatchObject({ status: 'completed' })
    expect(await second.end('SIGTERM')).toBe(0)
    expect(await processesNaming(directory)).toEqual([])
  })

  test('in a directory of somebody else is refused in one line', async () => {
    directory = await emptyDirectory()
    const holdfast = new Program(directory, ['up'], { installedIn, ...nobody })
    expect(await holdfast.ended).toBe(1)
    expect(holdfast.complaints).toMatch(
      /^holdfast: \.holdfast cannot be used here: EACCES: [^\n]+\. Start Holdfast in a directory of your own\n$/,
    )
  })
})
