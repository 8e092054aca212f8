import { isRefused, type Refused, refuse } from '../../contract/outcome.js'
import type { Events } from '../../domain/events/events.js'
import type { Language } from '../../domain/mails/languages.js'
import type { OneTimeTokens } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Identities } from '../../domain/providers/identities.js'
import type { LinkingRefusal } from '../../domain/providers/linking.js'
import type { Linker, PendingLink } from '../../domain/providers/pending-link.js'
import type { Client } from '../../domain/sessions/client.js'
import { fingerprint } from '../../lib/random.js'

type LinkRefusal = `link_${LinkingRefusal | 'used_before'}` | 'link_of_another_session'
type Request = { link: PendingLink; caller: Linker; client: Client; language: Language }
type Dependencies = { identities: Identities; oneTimeTokens: OneTimeTokens; events: Events }

export type FinishLink = ReturnType<typeof createFinishLink>

/** The last step of linking: the session that began it says so itself. */
export const createFinishLink = ({ identities, oneTimeTokens, events }: Dependencies) => {
  const noteFailure = ({ link, client }: Request, reason: string) =>
    events.record({ kind: 'sign_in_failed', reason: `${link.provider} ${reason}` }, client)

  const refuseLink = async (request: Request, reason: LinkingRefusal | 'used_before') => {
    await noteFailure(request, reason)
    return refuse(`link_${reason}`)
  }

  return async (request: Request): Promise<undefined | Refused<LinkRefusal>> => {
    const { link, caller, client, language } = request
    const { provider, profile, state, linker, expiresAt } = link
    // A cookie that somebody planted names the session of whoever planted it.
    if (linker.sessionId !== caller.sessionId || linker.userId !== caller.userId) {
      await noteFailure(request, 'signed_out')
      return refuse('link_of_another_session')
    }
    const isFirst = await oneTimeTokens.useOnce(fingerprint(`link ${state}`), expiresAt)
    if (!isFirst) return refuseLink(request, 'used_before')
    const { userId, sessionId } = caller
    const resolved = await identities.resolve({ provider, profile, linkingTo: userId, language })
    if (isRefused(resolved)) return refuseLink(request, resolved.refused)
    if (resolved.how === 'link')
      await events.record({ kind: 'provider_linked', userId, sessionId, reason: provider }, client)
    return undefined
  }
}
