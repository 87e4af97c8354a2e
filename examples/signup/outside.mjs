// The world outside: a mail server that speaks SMTP, a CRM and a partner's webhook that speak HTTP. One more address sets their moods.
import { createServer as createHttpServer } from 'node:http'
import { createServer } from 'node:net'
import { createInterface } from 'node:readline'
import { json } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const mood = { smtp: 'up', crmMs: 100 }
let contacts = 0
const seen = { mails: [], contacts: [], deliveries: [] }

/** Enough of SMTP to take one mail: greeting, sender, recipient, text. */
const smtp = createServer((socket) => {
  socket.on('error', () => {})
  if (mood.smtp === 'down') return void socket.end('421 down for maintenance\r\n')
  socket.write('220 ready\r\n')
  let text
  createInterface({ input: socket }).on('line', (line) => {
    if (text !== undefined && line !== '.') return void text.push(line)
    if (line === '.') seen.mails.push(text.find((header) => header.startsWith('Message-ID: ')).slice(12))
    text = line === 'DATA' ? [] : undefined
    socket.write(line === 'DATA' ? '354 go on\r\n' : line === 'QUIT' ? '221 bye\r\n' : '250 ok\r\n')
    if (line === 'QUIT') socket.end()
  })
})

const answers = {
  async '/contacts'(contact) {
    contacts += 1
    // One in twenty gets no answer, ever.
    if (contacts % 20 === 10) await new Promise(() => {})
    await sleep(mood.crmMs)
    seen.contacts.push(contact.user)
  },
  async '/deliver'() {
    seen.deliveries.push(performance.now())
  },
  async '/mood'(change) {
    Object.assign(mood, change)
  },
  async '/seen'() {
    return seen
  },
}
const http = createHttpServer(async (request, response) => {
  const answer = await answers[request.url](request.method === 'POST' ? await json(request) : undefined)
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(answer ?? {}))
})

smtp.listen(0, '127.0.0.1', () =>
  http.listen(0, '127.0.0.1', () => console.log(`${smtp.address().port} http://127.0.0.1:${http.address().port}`)),
)
