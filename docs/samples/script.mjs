// A program that acts as a user: it signs in, keeps the cookies, renews the session and signs out.
import { setTimeout as wait } from 'node:timers/promises'

const origin = 'https://auth.example.com'
const account = { username: 'ada', password: process.env.PROGRAM_PASSWORD }
const jar = new Map()
const longestWait = 60 // seconds

/** An answer may clear a cookie for other domains and set it for this one: so what it sets counts last. */
const keep = (lines) => {
  const cookies = lines.map((line) => /^([^=]+)=([^;]*)/.exec(line))
  for (const [, name, value] of cookies) if (value === '') jar.delete(name)
  for (const [, name, value] of cookies) if (value !== '') jar.set(name, value)
}

const send = async (method, path, body, headers = {}) => {
  const response = await fetch(origin + path, {
    method,
    redirect: 'manual',
    headers: {
      cookie: [...jar].map((pair) => pair.join('=')).join('; '),
      ...(body && { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body && JSON.stringify(body),
  })
  keep(response.headers.getSetCookie())
  if (response.status !== 429 && response.status !== 503) return response
  const seconds = Number(response.headers.get('retry-after') ?? 5)
  if (!(seconds <= longestWait)) return response
  await wait(1000 * seconds)
  return send(method, path, body, headers)
}

const signIn = async () => {
  const { status } = await send('POST', '/api/auth/login', account)
  if (status === 202) throw new Error('The account needs a second step')
  if (status !== 200) throw new Error(`The sign-in was answered with ${status}`)
}

/** Renews the session when it has expired, and signs in again when it is over. Requests at the same time should share one renewal. */
const request = async (method, path, body) => {
  const attempt = async () => {
    if (method === 'GET') return send(method, path)
    const { csrfToken } = await (await send('GET', '/api/auth/csrf-token')).json()
    return send(method, path, body, { 'x-csrf-token': csrfToken })
  }
  const answer = await attempt()
  if (answer.status !== 401) return answer
  const renewed = await send('POST', '/api/auth/refresh')
  if (renewed.status !== 200) await signIn()
  return attempt()
}

const me = await (await request('GET', '/api/auth/me')).json()
console.log(`signed in as ${me.user.username}`)
jar.delete('access_token') // what happens when the access token has expired
console.log(`after 15 minutes: ${(await request('GET', '/api/auth/me')).status}`)
console.log(`a change: ${(await request('POST', '/api/sensitive')).status}`)
console.log(`signed out: ${(await request('POST', '/api/auth/logout')).status}`)
