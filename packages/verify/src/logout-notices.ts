import type { Answer } from './answers.js'
import { createLogoutTokenCheck, type LogoutNotice, type LogoutTokenOptions } from './logout-token-check.js'
import type { OpenidSession, OpenidSessions } from './openid-sessions.js'
import { reasonOf } from './reason.js'

/** In milliseconds, and longer than a notice is accepted after it was made. */
const memory = 900_000

/** The notices of the last minutes: each counts once. */
const createMemory = (now: () => number) => {
  const seen = new Map<string, LogoutNotice & { seenAt: number; number: number }>()
  let count = 0
  return {
    count: () => count,
    /** False if the notice has come before. */
    add: (notice: LogoutNotice) => {
      for (const [jti, { seenAt }] of seen) if (now() - seenAt > memory) seen.delete(jti)
      if (seen.has(notice.jti)) return false
      count += 1
      seen.set(notice.jti, { ...notice, seenAt: now(), number: count })
      return true
    },
    remove: ({ jti }: LogoutNotice) => seen.delete(jti),
    /** The notices after the first `before` ones. */
    since: (before: number) => [...seen.values()].filter(({ number }) => number > before),
  }
}

type Options = LogoutTokenOptions & { sessions: OpenidSessions; onProblem: (message: string) => void }

const emptyAnswer = (status: number): Answer => ({
  status,
  headers: { 'cache-control': 'no-store' },
  setCookies: [],
  body: '',
})

/** Receives the notices of the issuer about sessions that have ended (OpenID Connect Back-Channel Logout 1.0). */
export const createLogoutNotices = ({ sessions, onProblem, ...options }: Options) => {
  const checkToken = createLogoutTokenCheck(options)
  const notices = createMemory(options.now)

  const endSessions = async (notice: LogoutNotice) => {
    const { sid, sub = '', iat } = notice
    try {
      await (sid === undefined ? sessions.deleteBySub(sub, iat) : sessions.deleteBySid(sid, iat))
    } catch (error) {
      notices.remove(notice)
      throw error
    }
  }

  const refuse = (fault: string): Answer => {
    onProblem(`a logout notice was refused: ${fault}`)
    const headers = { 'cache-control': 'no-store', 'content-type': 'application/json; charset=utf-8' }
    const body = JSON.stringify({ error: 'invalid_request', error_description: fault })
    return { status: 400, headers, setCookies: [], body }
  }

  return {
    /** 400 is final. After a 503, because the issuer or the store is away, the issuer sends another notice. */
    receive: async (readForm: () => Promise<URLSearchParams>): Promise<Answer> => {
      try {
        const notice = await checkToken((await readForm()).get('logout_token') ?? '')
        if (typeof notice === 'string') return refuse(notice)
        if (!notices.add(notice)) return refuse('it has come before')
        await endSessions(notice)
        return emptyAnswer(200)
      } catch (error) {
        onProblem(`a logout notice could not be read: ${reasonOf(error)}`)
        return emptyAnswer(503)
      }
    },

    /**
     * Call it before the code of a sign-in is redeemed, and the returned function when the session is stored. It says whether a notice
     * that has come in between has ended the session, which was not there to be ended.
     */
    watch: () => {
      const before = notices.count()
      return ({ user, sid }: Pick<OpenidSession, 'user' | 'sid'>) =>
        notices.since(before).some((notice) => (notice.sid === undefined ? notice.sub === user.id : notice.sid === sid))
    },
  }
}

export type LogoutNotices = ReturnType<typeof createLogoutNotices>
