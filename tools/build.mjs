// Compiles src to dist and copies what is read at run time beside the code that reads it: SQL, the status page.
import { spawnSync } from 'node:child_process'
import { chmodSync, cpSync, rmSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
rmSync(`${root}dist`, { recursive: true, force: true })
const compiled = spawnSync(process.execPath, [`${root}node_modules/typescript/bin/tsc`, '-p', `${root}tsconfig.json`], {
  stdio: 'inherit',
})
if (compiled.status !== 0) process.exit(compiled.status ?? 1)
for (const folder of ['store/sql', 'store/migrations', 'server/page']) {
  cpSync(`${root}src/${folder}`, `${root}dist/${folder}`, { recursive: true, filter: (path) => !path.endsWith('.ts') })
}
// npm does this when it installs a package; in the repository itself `npx holdfast` needs it too.
chmodSync(`${root}dist/cli/main.js`, 0o755)
