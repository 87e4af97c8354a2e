import { connect, createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

export const title = 'A connection to the database that loses packets'

const loss = 0.05

/**
 * Between worker and database stands a proxy that loses one piece in twenty. What TCP sends again comes late, and everything behind it; what
 * it cannot send again ends the connection, in one case of five. Every job ends all the same.
 */
export async function tell({ say, connectionString, startWorker, worker, onEnd, signUp, allEnded, countsOf }) {
  const { port, hostname } = new URL(connectionString)
  const open = new Set()
  const lost = { late: 0, cut: 0 }
  const proxy = createServer((socket) => {
    const through = connect(Number(port), hostname)
    const close = () => {
      socket.destroy()
      through.destroy()
      open.delete(close)
    }
    open.add(close)
    for (const end of [socket, through]) end.on('error', close).on('close', close)
    const carry = async (from, to) => {
      for await (const piece of from) {
        if (Math.random() < loss) {
          if (Math.random() < 0.2) {
            lost.cut += 1
            return close()
          }
          lost.late += 1
          await sleep(200 + 600 * Math.random())
        }
        to.write(piece)
      }
    }
    for (const carrying of [carry(socket, through), carry(through, socket)]) carrying.catch(close)
  })
  await new Promise((listening) => proxy.listen(0, '127.0.0.1', listening))
  onEnd(() => {
    for (const close of open) close()
    proxy.close()
  })
  const throughProxy = new URL(connectionString)
  throughProxy.host = `127.0.0.1:${proxy.address().port}`
  await worker.stop()
  await startWorker({ DATABASE_URL: `${throughProxy}` })
  do {
    await signUp(5)
    await allEnded('send_email', 'make_pdf', 'resize_avatar', 'sync_crm')
  } while (lost.late < 10 || lost.cut < 2)
  say(`  ${lost.late} pieces came late, ${lost.cut} ended their connection, and every job ended`)
  return { ...lost, mails: await countsOf('send_email'), crm: await countsOf('sync_crm') }
}
