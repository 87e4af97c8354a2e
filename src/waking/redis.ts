import nodeModule from 'node:module'
import type * as Redis from 'redis'
import { codeFiles } from '../code-files.js'
import { HoldfastError } from '../errors.js'

/** Of the range in peerDependencies of package.json. */
const packageName = 'redis@6'
const connectWithinMs = 5_000
/** An idle connection says something this often, and one on which nothing has come for so long is given up. */
const pingMs = 5_000
const silentForMs = 15_000
const longestRestMs = 5_000

export type RedisClient = ReturnType<typeof openRedis>

/** The package is an optional peer, loaded where a Redis is named and nowhere else. */
export function loadRedis(): typeof Redis {
  try {
    return nodeModule.createRequire(codeFiles[0] as string)('redis') as typeof Redis
  } catch (error) {
    const message = `wakeUrl needs the npm package redis, which is not installed: npm install ${packageName}`
    throw new HoldfastError('package_missing', message, { field: 'wakeUrl', cause: error })
  }
}

/** A client that reconnects for ever and keeps nothing for later: what cannot be sent now is worth nothing when it can. */
export function openRedis(url: string) {
  const client = loadRedis().createClient({
    url,
    disableOfflineQueue: true,
    pingInterval: pingMs,
    socket: {
      connectTimeout: connectWithinMs,
      socketTimeout: silentForMs,
      reconnectStrategy: (tries: number) => Math.min(longestRestMs, 100 * 2 ** tries) * (0.5 + Math.random() / 2),
    },
  })
  // Without a listener an error would end the process.
  client.on('error', () => {})
  return client
}

/** Ends a client, also one that was never connected. */
export function closeRedis(client: RedisClient): void {
  if (client.isOpen) client.destroy()
}
