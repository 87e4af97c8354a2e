import { type Command, Option } from 'commander'
import type { Cli } from '../cli.js'
import { environmentHelp } from '../environment.js'

/** `holdfast serve`. What it needs is loaded when it is run. */
export function addServe(program: Command, cli: Cli): void {
  program
    .command('serve')
    .summary('run the HTTP server, for production')
    .description(
      'Runs the HTTP server: the API and the dashboard, on a database that is there and migrated. Writes no files; log lines go to\n' +
        'standard error. Any number can run behind one address. SIGTERM and Ctrl-C stop it in good order.\n' +
        'Keys come from holdfast keys create. A server with HOLDFAST_ADMIN_KEY, or the file in HOLDFAST_ADMIN_KEY_FILE, takes that key too.',
    )
    .addOption(new Option('--database-url <url>', 'the database, as postgres://user:password@host:port/name').env('DATABASE_URL'))
    .option(
      '--host <address>',
      'the address it is reached at (HOLDFAST_HOST; default: 127.0.0.1); any other needs TLS or --allow-insecure',
    )
    .option('--port <n>', 'its port (PORT; default: 7070)')
    .option('--prefix <path>', 'the path that the server is under, such as /holdfast (HOLDFAST_PREFIX)')
    .option('--trust-proxy <networks>', 'the proxies before it, as 10.0.0.0/8,127.0.0.1 (HOLDFAST_TRUST_PROXY)')
    .option('--tls-cert <file>', "the server's certificate, in PEM (HOLDFAST_TLS_CERT)")
    .option('--tls-key <file>', 'its key, in PEM (HOLDFAST_TLS_KEY)')
    .option('--tls-ca <file>', 'the certificate that signs those of clients (HOLDFAST_TLS_CA)')
    .option('--tls-clients <pairs>', 'which service they are, as billing.internal=billing (HOLDFAST_TLS_CLIENTS)')
    .option('--allow-insecure', 'a network without TLS is meant, as behind a proxy that has it (HOLDFAST_ALLOW_INSECURE)')
    .option('--migrate', 'bring the schema up to this version first; otherwise it has to be')
    .option('--work <file>', 'also run a worker for the job types this file exports')
    .option('--upkeep', 'also run a worker without types, which does upkeep and sends alerts; needed where no other worker does')
    .addOption(new Option('--concurrency <n>', 'how many inline handlers of --work run at once').argParser(Number))
    .option('--grace <time>', 'how long it goes on answering after SIGTERM while /readyz says no', '5s')
    .option('--drain <time>', 'how long running handlers may go on after SIGTERM', '25s')
    .addHelpText('after', environmentHelp('serve'))
    .action(async (options) => (await import('../serve/serve.js')).serve({ ...options, schema: cli.schema }))
}
