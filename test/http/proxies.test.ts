import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Latchkey, startLatchkey } from '../support/latchkey.js'

let service: Latchkey
/** A proxy stands in front, and the service was not told. */
beforeAll(async () => {
  service = await startLatchkey({ settings: { TRUST_PROXY: '', LOGIN_LIMIT: '5/15m' } })
})
afterAll(() => service.stop())

const warnings = () => service.logLines.filter((line) => line.includes('set TRUST_PROXY'))

/** Malformed, which counts as an attempt and costs no hash. */
const attemptFrom = (address: string) =>
  service.app.server.inject({
    method: 'POST',
    url: '/login',
    headers: { 'sec-fetch-site': 'same-origin', 'x-forwarded-for': address, 'x-real-ip': address },
    payload: {},
  })

it('believes no address that a stranger made up: a thousand of them share one bucket', async () => {
  const addresses = Array.from({ length: 1000 }, (_, at) => `203.0.${at >> 8}.${at & 255}`)
  // Past the proxy, as a supervisor on the same machine asks.
  for (const url of ['/health', '/health/live', '/health/ready']) await service.app.server.inject({ url })
  const answers = await Promise.all(addresses.map(attemptFrom))
  const withStatus = (status: number) => answers.filter(({ statusCode }) => statusCode === status).length
  expect([withStatus(400), withStatus(429)]).toEqual([5, 995])
})

it('warns once, whatever health probes come in between, that TRUST_PROXY is missing', () => {
  expect(warnings()).toHaveLength(1)
  expect(JSON.parse(warnings()[0] ?? '{}')).toMatchObject({ level: 'warn', proxy: '127.0.0.1' })
})
