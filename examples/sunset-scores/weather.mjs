// A stand-in for the weather service, with outages: after every five answers it is away for as many.
import { createServer } from 'node:http'

let asked = 0
const server = createServer((request, response) => {
  asked += 1
  if (Math.floor(asked / 5) % 2 === 1) return void response.writeHead(503).end()
  const { searchParams } = new URL(request.url, 'http://localhost')
  // The same place and day have the same weather whenever one asks.
  let seed = 7
  for (const sign of `${searchParams}`) seed = (seed * 31 + sign.charCodeAt(0)) % 1_000_003
  const part = (n) => ((seed >> n) % 100) / 100
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ highClouds: part(0), lowClouds: part(3), humidity: part(6) }))
})
server.listen(0, '127.0.0.1', () => console.log(`http://127.0.0.1:${server.address().port}`))
