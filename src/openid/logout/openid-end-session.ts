import type { ApplicationErrors } from '../../applications/application-errors.js'
import { isLogoutAddress } from '../../applications/application-rules.js'
import type { ApplicationSecrets } from '../../applications/application-secrets.js'
import { type Application, type Applications, unregisteredSentence } from '../../applications/applications.js'

import type { EndSession } from '../../contract/openid.js'
import type { Client } from '../../http/request-origin.js'
import { isCleanText } from '../../lib/strict-json.js'
import type { BrowserSession } from '../../sessions/callers.js'
import type { SessionLookups } from '../../sessions/session-lookups.js'
import type { IdTokens } from '../token/id-tokens.js'

/** The sessions that the cookies name. There are several if a cookie was planted. */
type BrowserSessions = readonly BrowserSession[]

type Dependencies = {
  applications: Pick<Applications, 'find'>
  applicationSecrets: Pick<ApplicationSecrets, 'findOwner'>
  applicationErrors: Pick<ApplicationErrors, 'note' | 'noteUnknown'>
  idTokens: Pick<IdTokens, 'readHint'>
  sessionLookups: Pick<SessionLookups, 'isLiveForAnyToken'>
  /** Ends these sessions, as a sign-out of the browser does. */
  signOut: (browserSessions: BrowserSessions, client: Client) => Promise<void>
}

type Problem = NonNullable<EndSession['problem']>
type Hint = NonNullable<Awaited<ReturnType<IdTokens['readHint']>>>
/** The valid parts of the application's request, and its problem. */
type LogoutRequest = { application?: Application; hint?: Hint; location?: string; problem?: Problem }

/** OpenID Connect RP-Initiated Logout 1.0, section 2. */
const createReadRequest = ({ applications, applicationSecrets, applicationErrors, idTokens }: Dependencies) => {
  /** Only a registered address is followed, byte for byte (section 3). An address has no fragment. */
  const locationOf = (application: Application | undefined, address: string, state: string | null, client: Client) => {
    // With neither a hint nor `client_id`, the service does not know which application the address belongs to.
    if (!application) return { problem: 'unnamed_application' as const }
    if (isLogoutAddress(application, address)) {
      if (state === null) return { location: address }
      return { location: `${address}${address.includes('?') ? '&' : '?'}state=${encodeURIComponent(state)}` }
    }
    const sentence = unregisteredSentence('post_logout_redirect_uri', address, application.logoutAddresses)
    applicationErrors.note(application, 'logout_address', sentence, client)
    return { problem: 'unknown_address' as const }
  }

  return async (text: string, client: Client): Promise<LogoutRequest> => {
    const parameters = new URLSearchParams(text)
    const names = [...parameters.keys()]
    const isClean = [...parameters].flat().every(isCleanText)
    if (!isClean || new Set(names).size < names.length) return { problem: 'invalid_parameters' }
    const token = parameters.get('id_token_hint')
    const clientId = parameters.get('client_id')
    const hint = token === null ? undefined : await idTokens.readHint(token)
    if (token !== null && !hint) return { problem: 'invalid_hint' }
    // A hint that was issued to another application than the one that sends it proves nothing.
    if (hint && clientId !== null && hint.applicationId !== clientId) return { problem: 'invalid_hint' }
    const id = clientId ?? hint?.applicationId
    const application = id === undefined ? undefined : await applications.find(id)
    if (id !== undefined && !application) {
      applicationErrors.noteUnknown(id, await applicationSecrets.findOwner(id), client)
      return { problem: 'unknown_application' }
    }
    const address = parameters.get('post_logout_redirect_uri')
    const destination = address === null ? {} : locationOf(application, address, parameters.get('state'), client)
    return { ...(application && { application }), ...(hint && { hint }), ...destination }
  }
}

/**
 * An application asks to sign its user out. Its request alone ends nothing, because any site could send it with a link. It has to show
 * an ID token of the session that this browser has; otherwise the user is asked.
 */
export const createEndSession = (deps: Dependencies) => {
  const { sessionLookups, signOut } = deps
  const readRequest = createReadRequest(deps)

  const findLiveSession = async (browserSessions: BrowserSessions) => {
    for (const session of browserSessions) if (await sessionLookups.isLiveForAnyToken(session)) return session
    return undefined
  }

  const isProven = ({ hint, problem }: LogoutRequest, { userId, sessionId }: BrowserSession) =>
    problem === undefined && hint?.sid === sessionId && hint.userId === userId

  return async (
    text: string,
    browserSessions: BrowserSessions,
    { confirmed, client }: { confirmed: boolean; client: Client },
  ) => {
    const logoutRequest = await readRequest(text, client)
    const session = await findLiveSession(browserSessions)
    const { application, location, problem } = logoutRequest
    const applicationAndProblem = {
      ...(application && { application: { name: application.name, home: application.home } }),
      ...(problem && { problem }),
    }
    if (session && !confirmed && !isProven(logoutRequest, session)) {
      const { username } = session
      return {
        next: 'ask',
        ...applicationAndProblem,
        ...(username !== undefined && { user: { username } }),
      } satisfies EndSession
    }
    if (session) await signOut(browserSessions, client)
    return { next: 'done', ...applicationAndProblem, ...(location !== undefined && { location }) } satisfies EndSession
  }
}
