import type { FastifyReply, FastifyRequest } from 'fastify'
import { expect, it } from 'vitest'
import { createStartGate } from './serving.js'

it('a request that comes before the stores are there waits for them, and one to a probe does not', async () => {
  let isPrepared = false
  const { admit, waitForStart } = createStartGate(() => isPrepared)
  const reply = {} as FastifyReply
  const ask = (config: object) => waitForStart({ routeOptions: { config } } as FastifyRequest, reply)
  expect(await ask({ probe: true })).toBeUndefined()
  let isAnswered = false
  const early = ask({}).then((refusal) => {
    isAnswered = true
    return refusal
  })
  await new Promise(setImmediate)
  expect(isAnswered).toBe(false)
  isPrepared = true
  admit()
  expect(await early).toBeUndefined()
  expect(await ask({})).toBeUndefined()
})
