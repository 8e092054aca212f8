import { fastify } from 'fastify'
import { describe, expect, it } from 'vitest'
import { createCookies } from './cookies.js'

const cookies = createCookies({ secure: true })
const server = fastify()
server.get('/', async (request) => ({ read: cookies.read(request, 'key') ?? null, names: cookies.names(request) }))

const ask = async (cookie?: string) => {
  const answer = await server.inject({ url: '/', headers: cookie === undefined ? {} : { cookie } })
  return answer.json<{ read: string | null; names: string[] }>()
}

describe('reading a cookie', () => {
  it.each([
    ['alone', 'key=value', 'value'],
    ['among others', 'a=1; key=value; b=2', 'value'],
    ['without a space between', 'a=1;key=value;b=2', 'value'],
    ['with spaces around both sides', 'a=1;  key = value ; b=2', 'value'],
    ['with equals signs in the value', 'key=a=b=', 'a=b='],
    ['beside a longer name', 'key2=x; my-key=y; key=value', 'value'],
  ])('finds it %s', async (_, header, value) => {
    expect((await ask(header)).read).toBe(value)
  })

  it.each([
    ['no header', undefined],
    ['an empty header', ''],
    ['other names only', 'keys=1; ke=2; KEY=3'],
    ['an empty value', 'key='],
    ['a name without a value', 'key'],
    ['two of one name', 'key=one; key=two'],
    ['two of one name and value', 'key=one; a=1; key=one'],
    ['an empty one beside it', 'key=; key=one'],
    ['a bare name beside it', 'key; key=one'],
  ])('finds nothing with %s', async (_, header) => {
    expect((await ask(header)).read).toBeNull()
  })

  it('knows every name', async () => {
    expect((await ask('a=1; b ; c=2=3')).names).toEqual(['a', 'b', 'c'])
  })
})
