import { connect, createServer } from 'node:net'

export const title = 'A connection to the database that breaks again and again'

/** Between worker and database stands a proxy that cuts ten connections, one every half second. Every job ends all the same. */
export async function tell({ say, connectionString, startWorker, worker, onEnd, signUp, allEnded, countsOf }) {
  const { port, hostname } = new URL(connectionString)
  const open = new Set()
  let cuts = 0
  const proxy = createServer((socket) => {
    const through = connect(Number(port), hostname)
    const close = () => {
      socket.destroy()
      through.destroy()
      open.delete(close)
    }
    open.add(close)
    for (const end of [socket, through]) end.on('error', close).on('close', close)
    socket.pipe(through).pipe(socket)
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
  const cutting = setInterval(() => {
    const [oldest] = open
    if (!oldest || cuts === 10) return
    cuts += 1
    oldest()
  }, 500)
  onEnd(() => clearInterval(cutting))
  await signUp(15)
  await allEnded('send_email', 'make_pdf', 'resize_avatar', 'sync_crm')
  clearInterval(cutting)
  say(`  ${cuts} connections were cut, and every job ended`)
  return { cuts, mails: await countsOf('send_email'), crm: await countsOf('sync_crm') }
}
