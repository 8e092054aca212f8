import { fastify } from 'fastify'
import { describe, expect, expectTypeOf, it } from 'vitest'
import { refuse } from '../contract/outcome.js'
import { rejectPassword } from '../contract/password-rules.js'
import { ErrorBody, Limited, LoginLimited, PasswordRejected } from '../contract/refusal-bodies.js'
import { routeRefusals } from './route.js'

const { responses, sendRefusal } = routeRefusals('bad_request', 'invalid_link', 'password_rejected', 'unavailable')

type Named = Parameters<typeof sendRefusal>[1]

const answerTo = async (refused: Named) => {
  const server = fastify()
  server.get('/', { schema: { response: responses } }, (_request, reply) => sendRefusal(reply, refused))
  const { statusCode, headers, body } = await server.inject('/')
  return { status: statusCode, retryAfter: headers['retry-after'], body: JSON.parse(body) }
}

describe('the refusals of a route', () => {
  it('are answered from the table, and their responses come from the same list', async () => {
    expect(Object.keys(responses)).toEqual(['400', '422', '503'])
    expect(await answerTo(refuse('invalid_link'))).toMatchObject({
      status: 400,
      body: { error: 'Invalid or expired link', code: 'invalid_link' },
    })
    expect(await answerTo(refuse('unavailable'))).toMatchObject({ status: 503, retryAfter: '5' })
  })

  it('have the bodies of their codes', () => {
    const limited = routeRefusals('too_many_requests').responses
    expect(responses[400].properties).toBe(ErrorBody.properties)
    expect(responses[422].properties).toBe(PasswordRejected.properties)
    expect(limited[429].properties).toBe(Limited.properties)
    expect(routeRefusals('too_many_logins').responses[429].properties).toBe(LoginLimited.properties)
  })

  it('say what is wrong with a password, and nothing else that a refusal carries', async () => {
    const rejected = rejectPassword({ errors: ['digit', 'special'], feedback: [] })
    expect((await answerTo(rejected)).body).toEqual({
      error: 'Password rejected',
      message: 'Password must contain numbers',
      code: 'password_rejected',
      valid: false,
      errors: ['Password must contain numbers', 'Password must contain special characters'],
      ids: { errors: ['digit', 'special'], feedback: [] },
    })
    expect((await answerTo(refuse('bad_request', { secret: 'kept inside' }))).body).toEqual({
      error: 'Bad request',
      message: 'The request could not be understood',
      code: 'bad_request',
    })
  })

  it('do not compile when the route has not named them', () => {
    expectTypeOf(refuse('bad_request')).toExtend<Named>()
    expectTypeOf(refuse('not_found')).not.toExtend<Named>()
    expectTypeOf<'no_such_code'>().not.toExtend<Parameters<typeof routeRefusals>[number]>()
  })
})
