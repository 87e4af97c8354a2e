// A Redis on loopback that writes nothing: prints its address, or `absent` where redis-server is not installed, and ends with the example.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const probe = createServer().listen(0, '127.0.0.1')
await once(probe, 'listening')
const { port } = probe.address()
probe.close()
await once(probe, 'close')

const server = spawn('redis-server', ['--port', `${port}`, '--bind', '127.0.0.1', '--save', ''], { stdio: 'ignore' })
const [started] = await Promise.race([once(server, 'spawn').then(() => [true]), once(server, 'error').then(() => [false])])
if (!started) {
  console.log('absent')
  process.exit()
}
process.once('SIGTERM', () => server.kill())
server.once('exit', () => process.exit())

const answers = async () => {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
while (!(await answers())) await sleep(20)
console.log(`redis://127.0.0.1:${port}`)
