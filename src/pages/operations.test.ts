import { describe, expect, it } from 'vitest'
import { withNamedSchemas } from './api-document.routes.js'
import { operationId, securityOf } from './complete-document.js'

describe('an operation of the API document', () => {
  it.each([
    ['POST', '/login', 'postLogin'],
    ['POST', '/api/auth/login', 'postAuthLogin'],
    ['POST', '/api/auth/verify-email/check', 'postAuthVerifyEmailCheck'],
    ['DELETE', '/api/auth/sessions/:id', 'deleteAuthSessionsById'],
    ['GET', '/health', 'getHealth'],
    ['GET', '/.well-known/jwks.json', 'getWellKnownJwksJson'],
  ])('%s %s is called %s', (method, url, id) => {
    expect(operationId({ method, url })).toBe(id)
  })

  it('needs what its guards ask for', () => {
    const none = { byAccessToken: false, byCsrfToken: false, serviceScope: undefined }
    expect(securityOf(none)).toEqual([])
    expect(securityOf({ ...none, byAccessToken: true })).toEqual([{ accessToken: [] }])
    expect(securityOf({ ...none, byAccessToken: true, byCsrfToken: true })).toEqual([
      { accessToken: [], csrfToken: [] },
    ])
    expect(securityOf({ ...none, serviceScope: 'users:read' })).toEqual([{ serviceKey: [] }])
  })
})

describe('named schemas', () => {
  const inner = { title: 'Inner', type: 'string' }
  const outer = { title: 'Outer', type: 'object', properties: { one: inner, title: { type: 'string' } } }

  it('stand once, also inside each other, and references take their places', () => {
    const document = {
      info: { title: 'Stays' },
      components: { other: 1 },
      paths: { '/a': [outer, inner], '/b': outer },
    }
    const [toInner, toOuter] = [{ $ref: '#/components/schemas/Inner' }, { $ref: '#/components/schemas/Outer' }]
    expect(withNamedSchemas(document)).toEqual({
      info: { title: 'Stays' },
      components: {
        other: 1,
        schemas: {
          Inner: { type: 'string' },
          Outer: { type: 'object', properties: { one: toInner, title: { type: 'string' } } },
        },
      },
      paths: { '/a': [toOuter, toInner], '/b': toOuter },
    })
  })

  it('say in their type that a plain value may be null', () => {
    const [text, none] = [{ type: 'string' }, { type: 'null' }]
    const values = [{ anyOf: [text, none] }, { anyOf: [inner, none] }, { anyOf: [text, { type: 'integer' }] }]
    expect(withNamedSchemas({ components: {}, paths: values }).paths).toEqual([
      { type: ['string', 'null'] },
      { anyOf: [{ $ref: '#/components/schemas/Inner' }, none] },
      { anyOf: [text, { type: 'integer' }] },
    ])
  })
})
