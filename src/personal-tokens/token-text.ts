import { crc32 } from 'node:zlib'
import { randomToken } from '../lib/random.js'

/** With this beginning, people and programs that look for secrets know a token of ours. */
const beginning = 'lk_'
const digits = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
const sumLength = 6

/** The check sum tells a token from a typing error without a query. It keeps nobody from making one up. */
const sumOf = (random: string) => {
  let rest = crc32(random)
  let text = ''
  for (let place = 0; place < sumLength; place += 1) {
    text = (digits[rest % digits.length] ?? '') + text
    rest = Math.floor(rest / digits.length)
  }
  return text
}

const shape = /^lk_([\w-]{43})([\dA-Za-z]{6})$/
const anywhere = /lk_(?=([\w-]{43})([\dA-Za-z]{6}))/g

export const newToken = () => {
  const random = randomToken()
  return `${beginning}${random}${sumOf(random)}`
}

export const isToken = (text: string) => {
  const [, random = '', sum] = shape.exec(text) ?? []
  return sum === sumOf(random)
}

/** Whether a token of ours is somewhere in the text. A text of an application may have the same beginning by chance, but not the sum. */
const hasToken = (text: string) =>
  text.includes(beginning) && [...text.matchAll(anywhere)].some(([, random = '', sum]) => sum === sumOf(random))

/** The scheme in small letters, and what follows it. Anybody may send a header, so nothing here takes longer for one with many spaces. */
const partsOf = (authorization: string) => {
  const text = authorization.trim()
  const end = text.search(/\s/)
  return end === -1 ? ['', text] : [text.slice(0, end).toLowerCase(), text.slice(end).trim()]
}

/** What a header gives whose scheme is none that takes a token. */
const wrongPlace = { token: '', scheme: 'other' } as const

export type GivenToken = { token: string; scheme: 'bearer' | 'basic' | 'other' }

const tokenInBasic = (encoded: string): GivenToken | undefined => {
  const text = Buffer.from(encoded, 'base64').toString('latin1')
  const colon = text.indexOf(':')
  const password = colon === -1 ? '' : text.slice(colon + 1)
  if (password.startsWith(beginning)) return { token: password, scheme: 'basic' }
  return text.startsWith(beginning) || hasToken(text) ? wrongPlace : undefined
}

/**
 * The token in the value of an `Authorization`, also if it is a wrong one. Undefined if the value has nothing to do with tokens of ours,
 * and is for the application. A token in a place that is none for it is empty: it opens nothing, and the application does not get it.
 */
export const tokenIn = (authorization: string | undefined): GivenToken | undefined => {
  if (authorization === undefined || authorization === '') return undefined
  const [scheme = '', credentials = ''] = partsOf(authorization)
  if (scheme === 'basic') {
    const given = tokenInBasic(credentials)
    if (given) return given
  }
  if (scheme === 'bearer' && credentials.startsWith(beginning)) return { token: credentials, scheme: 'bearer' }
  const isOurs = /^"?lk_/.test(credentials) || scheme.startsWith(beginning) || hasToken(authorization)
  return isOurs ? wrongPlace : undefined
}
