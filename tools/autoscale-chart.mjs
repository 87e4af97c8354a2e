// Writes docs/autoscale.svg: what becomes of three spikes if an autoscaler does what GET /autoscale says. Build first: the decision is that of the server.
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { workersWanted } from '../dist/flow/autoscale.js'

/** Two seconds a job, fifty slots a worker; a new worker takes a minute to start, and the autoscaler asks every 15 s, as KEDA does in deploy/. */
export const fleet = { jobSeconds: 2, most: 300, startSeconds: 60, askEverySeconds: 15 }
const options = { concurrency: 50, targetMs: 60_000, headroom: 0.3 }
const longestSeconds = 4 * 3_600

export const spikes = [
  { name: '5,000 a second for 5 minutes', arriving: (second) => (second < 300 ? 5_000 : 0) },
  { name: '5,000 a second for 30 minutes', arriving: (second) => (second < 1_800 ? 5_000 : 0) },
  { name: '2,000,000 at once', arriving: (second) => (second === 0 ? 2_000_000 : 0) },
]

/**
 * Second by second: every slot ends one job after the other, workers count as soon as they have started, and none is taken away before the end.
 * drainedAfter: how many seconds after the last arrival nothing waited any more; null: not within four hours.
 */
export function simulate({ arriving }, { jobSeconds, most, startSeconds, askEverySeconds } = fleet) {
  const starting = []
  const seconds = []
  let [waiting, workers, lastArrival] = [0, 1, 0]
  for (let second = 0; second < longestSeconds && (second <= lastArrival + 1 || waiting >= 1); second++) {
    if (arriving(second) > 0) lastArrival = second
    waiting += arriving(second)
    for (const { count } of starting.filter(({ at }) => at === second)) workers += count
    const running = Math.min(waiting, workers * options.concurrency)
    const ended = running / jobSeconds
    if (second % askEverySeconds === 0) {
      const load = { lane: 'default', enabled: true, slots: null, waiting: waiting - running, running, ended, live: workers }
      const coming = starting.filter(({ at }) => at > second).reduce((sum, { count }) => sum + count, 0)
      const more = Math.min(most, workersWanted(load, options).workers) - workers - coming
      if (more > 0) starting.push({ at: second + startSeconds, count: more })
    }
    waiting -= ended
    // What is left of a last job is over.
    if (waiting < 1) waiting = 0
    seconds.push({ waiting, workers })
  }
  return {
    seconds,
    drainedAfter: waiting === 0 ? seconds.length - 1 - lastArrival : null,
    mostWaiting: Math.round(Math.max(...seconds.map((one) => one.waiting))),
    mostWorkers: Math.max(...seconds.map((one) => one.workers)),
  }
}

const panel = { width: 300, height: 150, gap: 30, top: 46 }

/** A panel for each spike: what waits is the area, the workers are the line. */
export function chart() {
  const panels = spikes.map((spike, at) => drawn(spike, simulate(spike), 20 + at * (panel.width + panel.gap)))
  const width = 40 + spikes.length * panel.width + (spikes.length - 1) * panel.gap
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} 262" font-family="system-ui, sans-serif" font-size="12" role="img">`,
    '<title>Jobs that wait and workers, if an autoscaler does what GET /autoscale says</title>',
    `<rect width="${width}" height="262" fill="#ffffff"/>`,
    ...panels,
    '</svg>',
    '',
  ].join('\n')
}

function drawn({ name }, { seconds, drainedAfter, mostWaiting, mostWorkers }, left) {
  const x = (second) => (left + (second / (seconds.length - 1)) * panel.width).toFixed(1)
  const y = (share) => (panel.top + panel.height * (1 - share)).toFixed(1)
  // A point for each pixel is enough.
  const every = Math.max(1, Math.floor(seconds.length / panel.width))
  const shown = seconds
    .map((one, second) => ({ ...one, second }))
    .filter(({ second }) => second % every === 0 || second === seconds.length - 1)
  const waiting = shown.map((one) => `${x(one.second)},${y(one.waiting / mostWaiting)}`)
  const workers = shown.map((one) => `${x(one.second)},${y(one.workers / fleet.most)}`)
  const bottom = panel.top + panel.height
  const number = (count) => count.toLocaleString('en')
  return [
    `<text x="${left}" y="24" font-weight="600">${name}</text>`,
    `<polygon points="${left},${bottom} ${waiting.join(' ')} ${left + panel.width},${bottom}" fill="#c8d7ee"/>`,
    `<polyline points="${workers.join(' ')}" fill="none" stroke="#b4541a" stroke-width="2"/>`,
    `<line x1="${left}" y1="${bottom}" x2="${left + panel.width}" y2="${bottom}" stroke="#444444"/>`,
    `<text x="${left}" y="${bottom + 18}">0</text>`,
    `<text x="${left + panel.width}" y="${bottom + 18}" text-anchor="end">${Math.round(seconds.length / 60)} min</text>`,
    `<text x="${left}" y="${bottom + 38}" fill="#3c5f94">at most ${number(mostWaiting)} wait; ${drained(drainedAfter)}</text>`,
    `<text x="${left}" y="${bottom + 56}" fill="#b4541a">${number(mostWorkers)} of ${fleet.most} workers</text>`,
  ].join('\n')
}

function drained(seconds) {
  return seconds === null ? 'not drained in 4 h' : `drained ${(seconds / 60).toFixed(1)} min after the last`
}

if (process.argv[1] === fileURLToPath(import.meta.url)) writeFileSync(new URL('../docs/autoscale.svg', import.meta.url), chart())
