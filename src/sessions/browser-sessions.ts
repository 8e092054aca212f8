import type { FastifyRequest } from 'fastify'
import { everyValueOf } from '../contract/cookie-header.js'
import type { Tokens } from './tokens.js'

/** `username` comes from an access token; a refresh token does not have it. */
export type BrowserSession = { userId: string; sessionId: string; username?: string }

/** Bounds the work for planted cookies. Browsers send cookies with a longer path first; ours have `Path=/`, so the last values are read. */
const maxValuesPerName = 8
const tokenShape = /^[\w-]+\.[\w-]+\.[\w-]+$/

export type BrowserSessionsOf = ReturnType<typeof createBrowserSessions>

/**
 * The sessions of all tokens in the cookies of a request, also of a cookie that came twice: one of the two was planted, and we cannot
 * know which. Use it for sign-outs only, which may end both.
 */
export const createBrowserSessions =
  ({ tokens }: { tokens: Pick<Tokens, 'readAccess' | 'readRefresh'> }) =>
  ({ headers: { cookie = '' } }: FastifyRequest): readonly BrowserSession[] => {
    const valuesOf = (name: string) =>
      everyValueOf(cookie, name)
        .filter((value) => tokenShape.test(value))
        .slice(-maxValuesPerName)
    const access = valuesOf('access_token').flatMap((text) => tokens.readAccess(text) ?? [])
    const refresh = valuesOf('refresh_token').flatMap((text) => tokens.readRefresh(text)?.claims ?? [])
    const sessions = new Map<string, BrowserSession>()
    for (const { userId, sid, username } of access) sessions.set(sid, { userId, sessionId: sid, username })
    for (const { userId, sid } of refresh) if (!sessions.has(sid)) sessions.set(sid, { userId, sessionId: sid })
    return [...sessions.values()]
  }
