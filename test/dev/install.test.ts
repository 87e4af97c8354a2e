import { spawnSync } from 'node:child_process'
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'
import { repository } from '../support/source.js'

test('an install refuses node_modules that is a link, and does not empty what it leads to', async () => {
  const directory = await realpath(await mkdtemp(join(tmpdir(), 'holdfast-install-')))
  onTestFinished(() => rm(directory, { recursive: true, force: true }))
  const [clone, others] = [join(directory, 'clone'), join(directory, 'others')]
  await mkdir(clone)
  await mkdir(join(others, 'a-package'), { recursive: true })
  await symlink(others, join(clone, 'node_modules'))
  await writeFile(join(clone, 'package.json'), '{ "name": "clone", "version": "1.0.0" }')
  await writeFile(join(clone, 'package-lock.json'), '{ "name": "clone", "lockfileVersion": 3, "packages": {} }')
  const install = pathToFileURL(join(repository, 'tools', 'install.mjs')).href
  const script = `import { installIfMissing } from '${install}'; installIfMissing(${JSON.stringify(clone)})`
  const { status, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', script], { encoding: 'utf8' })
  expect(status).toBe(1)
  expect(stderr).toContain('node_modules is a symbolic link')
  expect(await readdir(others)).toEqual(['a-package'])
})
