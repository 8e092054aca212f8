import type { Answer } from './answers.js'

type HeaderValue = number | string | readonly string[]

/** The part of Node's response that is used here. */
export type NodeResponse = {
  statusCode: number
  getHeader(name: string): number | string | string[] | undefined
  setHeader(name: string, value: string | string[]): unknown
  writeHead(status: number, ...more: never[]): unknown
  end(text: string): unknown
}

const linesOf = (value: HeaderValue | undefined): string[] => (value === undefined ? [] : [value].flat().map(String))

/** Names and values from any of the forms that `writeHead` takes: an object, a flat list, or a list of pairs. */
const pairsOf = (headers: unknown): [string, HeaderValue][] => {
  if (typeof headers !== 'object' || headers === null) return []
  if (!Array.isArray(headers)) return Object.entries(headers).filter(([, value]) => value !== undefined)
  if (headers.every(Array.isArray)) return headers as [string, HeaderValue][]
  return headers.flatMap((name, place) => (place % 2 === 0 ? [[String(name), headers[place + 1]]] : []))
}

/** Sets all headers. In a list a name may come several times, so its values are collected first. */
const setHeaders = (response: NodeResponse, headers: unknown) => {
  const values = new Map<string, string[]>()
  for (const [name, value] of pairsOf(headers)) {
    const key = name.toLowerCase()
    values.set(key, [...(values.get(key) ?? []), ...linesOf(value)])
  }
  for (const [name, lines] of values) response.setHeader(name, lines.length === 1 ? (lines[0] ?? '') : lines)
}

/**
 * Adds cookies to an answer at the moment when its head is written: whatever the application sets until then, the cookies are not lost,
 * and no cache keeps the answer.
 */
export const carryCookies = (response: NodeResponse, setCookies: readonly string[]) => {
  if (setCookies.length === 0) return
  const writeHead = response.writeHead.bind(response) as (status: number, ...more: unknown[]) => unknown
  const writeHeadWithCookies = (status: number, ...more: unknown[]) => {
    Object.assign(response, { writeHead })
    setHeaders(response, more.at(-1))
    response.setHeader('cache-control', 'private, no-store')
    response.setHeader('set-cookie', [...linesOf(response.getHeader('set-cookie')), ...setCookies])
    return writeHead(status, ...more.filter((part) => typeof part === 'string'))
  }
  Object.assign(response, { writeHead: writeHeadWithCookies })
}

export const sendAnswer = (response: NodeResponse, { status, headers, setCookies, body }: Answer) => {
  for (const [name, value] of Object.entries(headers)) response.setHeader(name, value)
  if (setCookies.length > 0) response.setHeader('set-cookie', [...setCookies])
  response.statusCode = status
  response.end(body)
}
