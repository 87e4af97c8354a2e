// What an installation needs, out of measured figures: the tables of docs/sizing.md. `npm run sizing -- --rate 200` prints them for yours.

/** What the document of the signup system assumes, so that its tables can be compared with these; options of the command. */
export const assumed = {
  /** Jobs a second, and for how long one runs. */
  rate: 500,
  seconds: 2,
  /** Jobs at once in a worker process, and processes that only enqueue or serve HTTP, with the connections of each. */
  slots: 100,
  others: 4,
  pool: 10,
  /** Bytes of a payload, and for how many days jobs are kept. */
  payload: 200,
  days: 7,
  /** Prices a month: a worker, a server or producer, the database and its standby, a gigabyte of disk, watching it. */
  worker: 62,
  server: 30,
  database: 350,
  gigabyte: 0.115,
  watching: 100,
}

const scales = [1, 3, 10, 30]
/** As in /autoscale: so much more than what runs on average. */
const headroom = 1.3
/** ARCHITECTURE.md, Connections: a busy worker. */
const connectionsOfWorker = 2
/** An enqueue of a job with 200 bytes writes at most so much WAL: test/store/cost-per-job. */
const walOfEnqueue = 700
const measuredPayload = 200
/** A database twice as fast costs twice as much, and one need not be bigger before it has as much to do as this, in shares of a core. */
const coresOfDatabase = 2

/** `figures`: of bench/results/latest.json, by the names of its rows. */
export function sizeOf(given, figures, times = 1) {
  const rate = given.rate * times
  const running = rate * given.seconds
  const workers = Math.ceil((running * headroom) / given.slots)
  const extra = given.payload - measuredPayload
  const jobsOfDay = rate * 86_400
  const gigabytesOfDay = (jobsOfDay * (figures.disk + extra)) / 1e9
  const gigabytes = gigabytesOfDay * given.days
  // Postgres and the part of the worker that is not the handler, of the drain and of the enqueue.
  const cores = (rate * (figures.cpu + 1e6 / figures.bulk)) / 1e6
  const databases = Math.max(1, cores / coresOfDatabase)
  const servers = given.others * Math.max(1, Math.ceil(times / 5))
  const price =
    workers * given.worker + servers * given.server + databases * given.database + gigabytes * given.gigabyte + given.watching
  return {
    ...{ times, rate, running, workers, servers, cores, jobsOfDay, gigabytesOfDay, gigabytes, price },
    connections: workers * connectionsOfWorker + servers * given.pool,
    walOfSecond: (rate * (figures.wal + walOfEnqueue + extra)) / 1e6,
    pricePerMillion: price / ((jobsOfDay * 30) / 1e6),
  }
}

const whole = (n) => Math.ceil(n).toLocaleString('en')
const rounded = (n) => (n < 10 ? n.toFixed(1) : whole(n))

/** The two tables, of these assumptions. */
export function sizingTables(given, figures) {
  const sizes = scales.map((times) => sizeOf(given, figures, times))
  const table = (columns, cells) => [
    `| ${columns.join(' | ')} |`,
    `|${'---|'.repeat(columns.length)}`,
    ...sizes.map((size) => `| ${cells(size).join(' | ')} |`),
  ]
  return [
    ...table(
      [
        '',
        'jobs/s',
        'jobs a day',
        'run at once',
        `workers of ${given.slots}`,
        'connections',
        'cores of queueing',
        'WAL, MB/s',
        'disk a day, GB',
        `${given.days} days, GB`,
      ],
      (s) => [
        ...[
          `${s.times}×`,
          whole(s.rate),
          `${(s.jobsOfDay / 1e6).toLocaleString('en')} million`,
          whole(s.running),
          whole(s.workers),
          whole(s.connections),
        ],
        ...[s.cores.toFixed(2), s.walOfSecond.toFixed(1), rounded(s.gigabytesOfDay), whole(s.gigabytes)],
      ],
    ),
    '',
    ...table(['', 'workers', 'servers and producers', 'database', 'disk', 'watching', 'a month', 'a million jobs'], (s) => [
      ...[`${s.times}×`, whole(s.workers * given.worker), whole(s.servers * given.server)],
      ...[
        whole(Math.max(1, s.cores / coresOfDatabase) * given.database),
        whole(s.gigabytes * given.gigabyte),
        whole(given.watching),
      ],
      ...[whole(s.price), s.pricePerMillion.toFixed(2)],
    ]),
  ].join('\n')
}

const [begin, end] = ['<!-- sizing: made by npm run sizing -- --write -->', '<!-- end of sizing -->']

/** The page with the tables of these rows; as it is where one of them has not been measured on this machine yet. */
export function withSizing(page, rows) {
  if (missingOf(rows).length > 0) return page
  const tables = sizingTables(assumed, figuresOf(rows))
  return page.replace(new RegExp(`${begin}[\\s\\S]*${end}`), () => `${begin}\n${tables}\n${end}`)
}

const needed = ['disk', 'wal', 'cpu', 'bulk']

/** The rows that sizing needs and the bench has not measured yet. */
export const missingOf = (rows) => needed.filter((name) => rows.every((row) => row.name !== name))

export const figuresOf = (rows) =>
  Object.fromEntries(needed.map((name) => [name, rows.find((row) => row.name === name).holdfast]))
