import { Queue, Worker } from 'bullmq'
import { bullmqOn } from './bullmq.mjs'

const connect = (url) => ({ host: '127.0.0.1', port: Number(new URL(url).port), maxRetriesPerRequest: null })

export async function prepare() {}
export const { openProducer, startWorker } = bullmqOn({ Queue, Worker, connect })
