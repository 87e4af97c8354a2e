// A stand-in for the paid extractor: slow, now and then too busy (429), and unable to read some texts at all (422).
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'

const takes = Number(process.env.EXTRACTION_MS ?? 2_000)
let asked = 0

const server = createServer(async (request, response) => {
  const document = await text(request)
  asked += 1
  if (asked % 7 === 0) return void response.writeHead(429).end()
  await sleep(takes)
  if (document.includes('unreadable')) return void response.writeHead(422).end()
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify(document.split('. ').filter(Boolean)))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
