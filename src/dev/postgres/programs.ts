import { spawn } from 'node:child_process'
import { parse } from 'node:path'

/** An operating system user that Postgres runs as; only root needs one, since Postgres refuses to run as root. */
export interface Identity {
  uid: number
  gid: number
  name: string
}

export interface Finished {
  ok: boolean
  stdout: string
  /** What a person needs to see when it failed: stderr, or why it could not be started at all. */
  complaint: string
}

/**
 * What every Postgres program is started with. Only a few variables are passed: PGDATA and the like would redirect it, and a server of
 * another user must not get the secrets of our environment. The working directory is the root, because the user may not be allowed to
 * enter ours.
 */
export function surroundings(file: string, identity: Identity | undefined) {
  const passed = /^(PATH|TZ|SYSTEMROOT|TEMP|TMP|LD_.*|DYLD_.*|FAKETIME.*)$/i
  return {
    cwd: parse(file).root || '/',
    env: { ...Object.fromEntries(Object.entries(process.env).filter(([name]) => passed.test(name))), LC_ALL: 'C' },
    windowsHide: true,
    ...(identity ? { uid: identity.uid, gid: identity.gid } : {}),
  }
}

/** Runs a program to its end. A program that cannot be started is a result too, not an exception. */
export function runProgram(file: string, args: string[], identity?: Identity): Promise<Finished> {
  return new Promise((resolve) => {
    let stdout = ''
    let stderr = ''
    const failed = (error: Error) => resolve({ ok: false, stdout, complaint: error.message })
    try {
      const child = spawn(file, args, { ...surroundings(file, identity), windowsHide: true, stdio: ['ignore', 'pipe', 'pipe'] })
      child.stdout.setEncoding('utf8').on('data', (text) => {
        stdout += text
      })
      child.stderr.setEncoding('utf8').on('data', (text) => {
        stderr += text
      })
      // A broken pipe is ignored: the close event says how the program ended.
      child.stdout.on('error', () => {})
      child.stderr.on('error', () => {})
      child.on('error', failed)
      child.on('close', (code, signal) => {
        const complaint = stderr.trim() || (signal ? `ended by ${signal}` : `exit code ${code}`)
        resolve({ ok: code === 0, stdout, complaint: signal ? `${complaint} (ended by ${signal})` : complaint })
      })
    } catch (error) {
      failed(error as Error)
    }
  })
}
