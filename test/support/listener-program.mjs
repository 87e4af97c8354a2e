/** The connection of a worker that hears notifications, alone in a process that can be frozen. Its one argument is JSON: { url, unreadForMs }. */
import { Listener } from '../../dist/store/listener.js'

const { url, unreadForMs } = JSON.parse(process.argv[2])
const database = { clientConfig: { connectionString: url, connectionTimeoutMillis: 5_000 }, schema: 'holdfast' }
const say = (event) => process.stdout.write(`${JSON.stringify({ event })}\n`)
const listener = new Listener(database, 1, { notified: () => say('ready'), ordered() {}, unreachable() {} }, { unreadForMs })
listener.start()
