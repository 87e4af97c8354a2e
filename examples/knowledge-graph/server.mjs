// The API, as operators and users of the graph have it.
import { Holdfast } from 'holdfast'
import { createServer } from 'holdfast/server'

const server = createServer(new Holdfast(), { adminKey: process.env.ADMIN_KEY })
console.log(await server.listen({ host: '127.0.0.1', port: 0 }))
process.once('SIGTERM', async () => {
  await server.close()
  process.exit()
})
