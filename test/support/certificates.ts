import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Pair {
  cert: string
  key: string
}

/** Whoever signs certificates, made with openssl in a directory of its own. */
export class Authority {
  readonly directory = mkdtempSync(join(tmpdir(), 'holdfast-certificates-'))
  readonly cert: string
  readonly #openssl: string
  #made = 0

  constructor(openssl: string, name: string) {
    this.#openssl = openssl
    this.#run('req', '-x509', ...this.#newKey('ca'), '-subj', `/CN=${name}`, '-days', '2', '-out', this.path('ca.pem'))
    this.cert = this.#read('ca.pem')
  }

  /** A certificate for that subject, such as `/CN=billing`, for 127.0.0.1 where it is a server's. */
  sign(subject: string): Pair {
    this.#made += 1
    const name = `made-${this.#made}`
    this.#run('req', '-new', ...this.#newKey(name), '-subj', subject, '-out', this.path(`${name}.csr`))
    writeFileSync(this.path('extensions'), 'subjectAltName=IP:127.0.0.1,DNS:localhost\n')
    this.#run(
      ...['x509', '-req', '-in', this.path(`${name}.csr`), '-CA', this.path('ca.pem'), '-CAkey', this.path('ca.key')],
      ...['-set_serial', String(this.#made), '-days', '2', '-extfile', this.path('extensions'), '-out', this.path(`${name}.pem`)],
    )
    return { cert: this.#read(`${name}.pem`), key: this.#read(`${name}.key`) }
  }

  path(name: string): string {
    return join(this.directory, name)
  }

  end(): void {
    rmSync(this.directory, { recursive: true })
  }

  #newKey(name: string): string[] {
    return ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes', '-keyout', this.path(`${name}.key`)]
  }

  #run(...args: string[]): void {
    execFileSync(this.#openssl, args, { stdio: 'pipe', timeout: 20_000 })
  }

  #read(name: string): string {
    return readFileSync(this.path(name), 'utf8')
  }
}
