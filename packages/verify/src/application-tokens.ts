import { createBoundedFetch } from './bounded-fetch.js'
import { isAccessClaims, type Verified, verifiedOf } from './claims.js'
import { type NamesOf, refuseUnknown } from './option-names.js'
import { reasonOf } from './reason.js'
import { isObject } from './token-text.js'
import type { Verification, Verifier } from './verifier.js'

export type ApplicationTokenOptions = {
  /** With the scope `tokens:read`. */
  serviceKey: string
  /** The ids of the applications whose tokens are accepted. One that another application got for the same user is not for you. */
  applications: readonly string[]
}

const optionNames: NamesOf<ApplicationTokenOptions> = { serviceKey: true, applications: true }

const limits = { milliseconds: 10_000, mostBytes: 16 * 1024 }
/** For how long an answer counts, in milliseconds. A session that ends is known sooner to a verifier with `revocations`. */
const rememberedFor = 10_000
const mostRemembered = 1_000
/** Those of the service: 43 characters. */
const tokenShape = /^[\w-]{43}$/

type Remembered = { until: number; verification: Promise<Verification> }

const refuse = (code: 'unknown_key' | 'unavailable'): Verification => ({ ok: false, code })

const readOptions = (options: ApplicationTokenOptions) => {
  refuseUnknown(options, optionNames, 'applicationTokens')
  const { serviceKey, applications } = options
  if (typeof serviceKey !== 'string' || !/^[\x21-\x7e]{16,}$/.test(serviceKey))
    throw new TypeError('serviceKey: must be a service key')
  const isList = Array.isArray(applications) && applications.length > 0
  if (!isList || !applications.every((id) => typeof id === 'string' && id !== ''))
    throw new TypeError('applications: must be a list of ids')
  return { serviceKey, applications }
}

/** Asks the service, because these tokens say nothing by themselves. An answer is remembered for some seconds. */
export const createApplicationTokens = (options: ApplicationTokenOptions) => {
  const { serviceKey, applications } = readOptions(options)
  const remembered = new Map<string, Remembered>()

  const userIn = (text: string, publicUrl: string): Verified | undefined => {
    const answer: unknown = JSON.parse(text)
    if (!isObject(answer) || answer.active !== true || !isObject(answer.claims)) return undefined
    const { application, claims } = answer
    const isForUs = typeof application === 'string' && applications.includes(application)
    return isForUs && isAccessClaims(claims) && claims.iss === publicUrl ? verifiedOf(claims) : undefined
  }

  const ask = async (token: string, { service }: Verifier): Promise<Verification> => {
    const { serviceUrl, publicUrl, fetch, onProblem } = service
    try {
      const headers = { authorization: `Bearer ${serviceKey}`, 'content-type': 'application/json' }
      const send = createBoundedFetch(fetch, limits)
      const body = JSON.stringify({ token })
      const { status, text } = await send(`${serviceUrl}/api/service/token`, headers, undefined, body)
      if (status === 200) return userIn(text, publicUrl) ?? refuse('unknown_key')
      onProblem(`tokens of applications cannot be checked: the service answered with ${status}`)
    } catch (error) {
      onProblem(`tokens of applications cannot be checked: ${reasonOf(error)}`)
    }
    return refuse('unavailable')
  }

  const remember = (token: string, verifier: Verifier) => {
    const verification = ask(token, verifier)
    const [oldest] = remembered.keys()
    if (remembered.size >= mostRemembered && oldest !== undefined) remembered.delete(oldest)
    remembered.set(token, { until: verifier.service.now() + rememberedFor, verification })
    // What cannot be known now is asked again by the next request.
    void verification.then((answer) => !answer.ok && answer.code === 'unavailable' && remembered.delete(token))
    return verification
  }

  return async (token: string, verifier: Verifier): Promise<Verification> => {
    if (!tokenShape.test(token)) return refuse('unknown_key')
    const now = verifier.service.now()
    const known = remembered.get(token)
    if (!known || now >= known.until) {
      remembered.delete(token)
      return remember(token, verifier)
    }
    const answer = await known.verification
    if (!answer.ok) return answer
    const isOld = answer.expiresAt.getTime() <= now || verifier.hasEnded(answer)
    if (!isOld) return answer
    remembered.delete(token)
    return remember(token, verifier)
  }
}
