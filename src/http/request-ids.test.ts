import type { IncomingMessage } from 'node:http'
import { expect, it } from 'vitest'
import { createRequestIds } from './errors.js'

const sentId = '5f0c3a52-7d1e-4b8a-9c36-e2f40d715a98'
const requestFrom = (remoteAddress: string) =>
  ({ headers: { 'x-request-id': sentId }, socket: { remoteAddress } }) as unknown as IncomingMessage

it.each([
  [['127.0.0.1'], '127.0.0.1', true],
  [['10.0.0.0/8'], '::ffff:10.7.0.1', true],
  [['2001:db8::/32'], '2001:db8::7', true],
  [['10.0.0.0/8'], '192.0.2.1', false],
  [['10.0.0.0/8'], '2001:db8::7', false],
  [[], '127.0.0.1', false],
  [undefined, '127.0.0.1', false],
  [['127.0.0.1'], '', false],
])(
  'the id of a request is used if a trusted proxy sent it: TRUST_PROXY %j, sent from %s: %s',
  (trusted, peer, isUsed) => {
    const id = createRequestIds(trusted)(requestFrom(peer))
    expect(id === sentId).toBe(isUsed)
    expect(id).toMatch(/^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/)
  },
)
