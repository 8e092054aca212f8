// node bench/fairness.mjs [seconds of each part: 20]
//
// How long a sign-in waits for its password to be compared while one home connection (an IPv6 /56) keeps 100 others in the queue:
// when all share one queue in the order in which they came, as before, and with a share for each connection. Bounded, on two
// threads, without a network. Needs a build (npm run build).
import { randomBytes } from 'node:crypto'
import { argv } from 'node:process'
import { setTimeout as wait } from 'node:timers/promises'

/** @type {(path: string) => Promise<any>} */
const load = (path) => import(new URL(`../dist/modules/passwords/${path}.js`, import.meta.url).href)
const { createWorkers } = await load('workers')

const cost = 10
const length = Number(argv[2] ?? 20) * 1000
const flooder = () => `2001:db8:0:${(0x100 + (randomBytes(1)[0] ?? 0)).toString(16)}::1`

const workers = createWorkers({ threads: 2 })
const hash = await workers.hash('violet-Harbor-91-lantern', cost)

/** @type {(times: number[], part: number) => string} */
const at = (times, part) => `${times.toSorted((a, b) => a - b)[Math.floor((times.length - 1) * part)]?.toFixed(0)} ms`

/** @type {(strangers: (index: number) => { ip: string, isKnown?: boolean }, floods: boolean, shared?: string) => Promise<string>} */
const measure = async (strangers, floods, shared) => {
  const end = performance.now() + length
  const flood = async () => {
    while (performance.now() < end) {
      const answer = await workers.compare('a guess', hash, cost, { ip: shared ?? flooder() })
      if (typeof answer !== 'boolean') await wait(100)
    }
  }
  const flooding = Promise.all(Array.from({ length: floods ? 100 : 0 }, flood))
  await wait(2000)
  const times = []
  let refused = 0
  for (let index = 0; performance.now() < end; index++) {
    const begun = performance.now()
    const answer = await workers.compare('violet-Harbor-91-lantern', hash, cost, strangers(index))
    if (typeof answer === 'boolean') times.push(performance.now() - begun)
    else refused += 1
    await wait(200)
  }
  await flooding
  return `median ${at(times, 0.5)}, longest ${at(times, 1)}, ${times.length} sign-ins, ${refused} refused`
}

/** @type {(index: number) => { ip: string }} */
const stranger = (index) => ({ ip: `192.0.2.${index % 250}` })
const rows = {
  'no flood': () => measure(stranger, false),
  'flood, one queue in the order of arrival': () => measure(() => ({ ip: '192.0.2.1' }), true, '192.0.2.1'),
  'flood, a share for each connection': () => measure(stranger, true),
  'flood, a known device in the flooding network': () => measure(() => ({ ip: flooder(), isKnown: true }), true),
}
for (const [name, run] of Object.entries(rows)) console.log(`${name}: ${await run()}`)
await workers.close()
