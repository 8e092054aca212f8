import type { Events } from '../../domain/events/events.js'
import type { Language } from '../../domain/mails/languages.js'
import type { OneTimeTokens } from '../../domain/one-time-tokens/one-time-tokens.js'
import type { Identities } from '../../domain/providers/identities.js'
import type { LinkingRefusal } from '../../domain/providers/linking.js'
import type { Linker, PendingLink } from '../../domain/providers/pending-link.js'
import type { Client } from '../../domain/sessions/client.js'
import { fingerprint } from '../../lib/random.js'

export type LinkRefusal = LinkingRefusal | 'used_before' | 'signed_out'

type Request = { link: PendingLink; caller: Linker; client: Client; language: Language }
type Dependencies = { identities: Identities; oneTimeTokens: OneTimeTokens; events: Events }

export type FinishLink = ReturnType<typeof createFinishLink>

/** The last step of linking: the session that began it says so itself. */
export const createFinishLink = ({ identities, oneTimeTokens, events }: Dependencies) => {
  const refuse = async ({ link, client }: Request, refused: LinkRefusal) => {
    await events.record({ kind: 'sign_in_failed', reason: `${link.provider} ${refused}` }, client)
    return { refused }
  }

  return async (request: Request): Promise<true | { refused: LinkRefusal }> => {
    const { link, caller, client, language } = request
    const { provider, profile, state, linker, expiresAt } = link
    // A cookie that somebody planted names the session of whoever planted it.
    if (linker.sessionId !== caller.sessionId || linker.userId !== caller.userId) return refuse(request, 'signed_out')
    const isFirst = await oneTimeTokens.useOnce(fingerprint(`link ${state}`), expiresAt)
    if (!isFirst) return refuse(request, 'used_before')
    const { userId, sessionId } = caller
    const resolved = await identities.resolve({ provider, profile, linkingTo: userId, language })
    if ('refused' in resolved) return refuse(request, resolved.refused)
    if (resolved.how === 'link')
      await events.record({ kind: 'provider_linked', userId, sessionId, reason: provider }, client)
    return true
  }
}
