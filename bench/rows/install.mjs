// What an install for production brings: megabytes in node_modules, and packages.
import { inDirectory, installed, packOwn } from '../footprint.mjs'
import { versionOf } from '../install.mjs'

const installing = (...names) => [
  names[0],
  (bench) =>
    inDirectory((directory) =>
      installed(
        directory,
        names.map((name) => `${name}@${versionOf(name)}`),
        bench.limitMs,
      ),
    ),
]

const peers = ['graphile-worker', 'pg-boss', 'bullmq']
const smaller = (peer) => ({ against: peer, atMost: 1, text: `≤ ${peer}'s` })

export default {
  name: 'install',
  // The same every time, and a download at worst: one round says it.
  sizes: { quick: { rounds: 1 }, short: { rounds: 1 }, full: { rounds: 1 } },
  contestants: Object.fromEntries([
    [
      'holdfast',
      (bench) =>
        inDirectory((packed) =>
          inDirectory(async (directory) => installed(directory, [await packOwn(packed, bench.limitMs)], bench.limitMs)),
        ),
    ],
    installing('graphile-worker'),
    installing('pg-boss'),
    // Its Redis client is an optional peer, without which it does nothing.
    installing('bullmq', 'ioredis'),
  ]),
  rows: [
    {
      name: 'install-size',
      title: () => 'npm install for production: size',
      unit: 'MB',
      figure: 'megabytes',
      better: 'lower',
      peers,
      bars: [{ value: true, below: 10 }, ...peers.map(smaller)],
    },
    {
      name: 'install-packages',
      title: () => 'npm install for production: packages',
      unit: 'packages',
      figure: 'packages',
      better: 'lower',
      peers,
      bars: peers.map(smaller),
    },
  ],
}
