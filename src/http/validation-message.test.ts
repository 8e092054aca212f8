import { type FastifyRequest, fastify } from 'fastify'
import { Type } from 'typebox'
import { describe, expect, it } from 'vitest'
import { groupPattern } from '../contract/groups.js'
import { ProfileFieldChanges } from '../contract/profile-fields.js'

import { uuidPattern } from '../lib/uuid.js'
import { handleError } from './errors.js'
import { compileSchemasWhenNeeded } from './schema-compilers.js'

const Group = Type.String({ pattern: groupPattern })
const optional = {
  text: Type.Optional(Type.String({ minLength: 1, maxLength: 8 })),
  long: Type.Optional(Type.String({ minLength: 3 })),
  whole: Type.Optional(Type.Integer()),
  yes: Type.Optional(Type.Boolean()),
  id: Type.Optional(Type.String({ pattern: uuidPattern })),
  reason: Type.Optional(Type.String({ pattern: '\\S' })),
  bytes: Type.Optional(Type.String({ pattern: '^[\\w-]*$' })),
  day: Type.Optional(Type.String({ pattern: '^\\d{4}-\\d\\d-\\d\\d$', description: 'A day such as 2026-11-18' })),
  add: Type.Optional(Type.Array(Group, { maxItems: 2 })),
  ways: Type.Optional(Type.Array(Type.String(), { maxItems: 2 })),
  next: Type.Optional(Type.Union([Type.Literal('ask'), Type.Literal('done')])),
  state: Type.Optional(Type.Unsafe<string>({ type: 'string', enum: ['on', 'off', 'auto'] })),
  handle: Type.Optional(Type.Union([Type.String({ maxLength: 4 }), Type.Null()])),
  inner: Type.Optional(Type.Object({ key: Type.String() })),
  fields: Type.Optional(ProfileFieldChanges),
}

const server = fastify()
compileSchemasWhenNeeded(server)
server.setErrorHandler(handleError)
const answer = async ({ body, query }: FastifyRequest) => ({ body, query })
server.post('/', { schema: { body: Type.Object({ ...optional, name: Type.String() }) } }, answer)
server.get('/', { schema: { querystring: Type.Object({ mail: Type.String() }) } }, answer)

const messageOf = async (body: unknown) => {
  const answered = await server.inject({ method: 'POST', url: '/', payload: body as object })
  return [answered.statusCode, answered.json().message]
}

describe('a request that does not fit its schema is refused with a sentence that names the property', () => {
  it.each([
    [{}, 'name is missing'],
    [[], 'The body must be a JSON object'],
    [{ name: 1 }, 'name must be a text'],
    [{ name: 'x', text: '' }, 'text must not be empty'],
    [{ name: 'x', text: 'nine-long' }, 'text has more than 8 characters'],
    [{ name: 'x', long: 'x' }, 'long must have at least 3 characters'],
    [{ name: 'x', whole: 1.5 }, 'whole must be a whole number'],
    [{ name: 'x', yes: 1 }, 'yes must be true or false'],
    [{ name: 'x', id: 'X' }, 'id must be a UUID in small letters, as the service gives it'],
    [{ name: 'x', reason: ' ' }, 'reason must not be empty'],
    [{ name: 'x', bytes: '?' }, 'bytes has characters that are not allowed here'],
    [{ name: 'x', day: 'today' }, 'day is not valid: A day such as 2026-11-18'],
    [{ name: 'x', add: 'a' }, 'add must be a list'],
    [{ name: 'x', add: ['a', 'b', 'c'] }, 'add has more than 2 groups'],
    [
      { name: 'x', add: ['a', 'B'] },
      'add.1 must be the name of a group: 1 to 32 characters, small letters, digits, dots, underscores and hyphens, with a letter or a digit first',
    ],
    [{ name: 'x', ways: ['a', 'b', 'c'] }, 'ways has more than 2 entries'],
    [{ name: 'x', next: 'x' }, 'next must be ask or done'],
    [{ name: 'x', state: 'x' }, 'state must be on, off or auto'],
    [{ name: 'x', handle: 1 }, 'handle must be a text or null'],
    [{ name: 'x', handle: 'abcde' }, 'handle has more than 4 characters'],
    [{ name: 'x', inner: {} }, 'inner.key is missing'],
    [{ name: 'x', fields: { 'a/b': 1 } }, 'fields.a/b must be a text, true or false or null'],
    [
      { name: 'x', fields: Object.fromEntries(Array.from({ length: 21 }, (_, at) => [at, ''])) },
      'fields has more than 20 entries',
    ],
  ])('%j: %s', async (body, message) => {
    expect(await messageOf(body)).toEqual([400, message])
  })

  it('and never with the value', async () => {
    const { payload } = await server.inject({ method: 'POST', url: '/', payload: { name: { secret: 'Tr0ub4dor' } } })
    expect(payload).not.toContain('Tr0ub4dor')
  })

  it('a parameter that is given twice', async () => {
    expect((await server.inject('/?mail=a&mail=b')).json().message).toBe('mail is given more than once')
    expect((await server.inject('/')).json().message).toBe('mail is missing')
  })
})
