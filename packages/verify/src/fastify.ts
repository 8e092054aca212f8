import { authByEarlierGuard, setAuth } from './auth-of.js'
import { createGuard, type GuardOptions } from './guard.js'
import type { NodeRequest } from './node.js'
import { carryCookies, type NodeResponse } from './node-response.js'
import type { Verifier } from './verifier.js'

export { authOf, optionalAuthOf } from './auth-of.js'

type FastifyRequest = {
  readonly method: string
  readonly originalUrl: string
  readonly headers: NodeRequest['headers']
  readonly ip: string
}
type FastifyReply = {
  readonly raw: NodeResponse
  status(code: number): unknown
  header(name: string, value: unknown): unknown
  send(body?: unknown): unknown
}

/** `app.addHook('onRequest', fastifyGuard(verifier))`, then `authOf(request)` in a handler. */
export const fastifyGuard = (verifier: Verifier, options: GuardOptions = {}) => {
  const guard = createGuard(verifier, options)
  return async (request: FastifyRequest, reply: FastifyReply) => {
    const { method, originalUrl: path, headers, ip: address } = request
    const decision = await guard({ method, path, headers, address, earlierAuth: authByEarlierGuard(request, verifier) })
    if ('answer' in decision) {
      const { status, headers: answerHeaders, setCookies, body } = decision.answer
      reply.status(status)
      for (const [name, value] of Object.entries(answerHeaders)) reply.header(name, value)
      for (const line of setCookies) reply.header('set-cookie', line)
      reply.send(body)
      return reply
    }
    setAuth(request, verifier, decision.passed)
    carryCookies(reply.raw, decision.passed.setCookies)
    return undefined
  }
}
