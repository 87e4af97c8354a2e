import type { FastifyInstance } from 'fastify'
import { HoldfastError } from '../../errors.js'

export const usualPort = 7070
const lookAt = 100

/** Listens on the port that was asked for, or else on the usual one or the next free one. Returns the address. */
export async function listen(server: FastifyInstance, host: string, asked: number | undefined): Promise<string> {
  if (asked !== undefined) return listenOn(server, host, asked, ', or unset it to use a free one')
  for (let port = usualPort; port < usualPort + lookAt; port++) {
    const address = await tryToListen(server, host, port)
    if (address) return address
  }
  throw noPort(`the ports from ${usualPort} to ${usualPort + lookAt - 1} are all taken; set PORT to a free one`)
}

/** Listens on that port and no other. */
export async function listenOn(server: FastifyInstance, host: string, port: number, otherwise = ''): Promise<string> {
  const address = await tryToListen(server, host, port)
  if (address) return address
  throw noPort(`port ${port} is taken by another program; set another PORT${otherwise}`)
}

async function tryToListen(server: FastifyInstance, host: string, port: number): Promise<string | undefined> {
  try {
    return await server.listen({ host, port })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') return undefined
    if (code === 'EACCES') throw noPort(`only root may listen on port ${port}; set a PORT above 1023`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND') {
      const problem = `HOLDFAST_HOST is ${host}, which is not an address of this machine`
      throw new HoldfastError('invalid_configuration', problem, { field: 'HOLDFAST_HOST' })
    }
    throw error
  }
}

function noPort(problem: string): HoldfastError {
  return new HoldfastError('invalid_configuration', problem, { field: 'PORT' })
}
