// The HTTP server in a process of its own. Its one argument is JSON: { url, port, adminKey, holdfast }.
import { Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'

const { url, port, adminKey, holdfast: options = {} } = JSON.parse(process.argv[2])
const silent = { info() {}, warn() {}, error() {} }
const holdfast = new Holdfast({ connectionString: url, ...options })
const app = createServer(holdfast, { adminKey, logger: silent })
// A bench that died is no reason to go on.
process.on('disconnect', () => process.exit(1))
process.on('SIGTERM', async () => {
  await app.close()
  await holdfast.close()
  process.exit(0)
})
await app.listen({ host: '127.0.0.1', port })
process.send({ question: 'ready' })
