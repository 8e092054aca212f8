import type { AccountChanges } from '../account-changes/account-changes.js'
import { refuse } from '../contract/outcome.js'
import type { ProviderId } from '../contract/providers.js'
import type { Passkeys } from '../factors/passkeys.js'
import type { IdentityLinks } from '../providers/identity-links.js'
import type { Providers } from '../providers/providers.js'
import type { CallerContext } from '../sessions/session-facts.js'

type Dependencies = {
  accountChanges: AccountChanges
  identityLinks: Pick<IdentityLinks, 'unlinkProvider'>
  passkeys: Pick<Passkeys, 'countUsable'>
  providers: Providers
}

/** Removes a linked provider, unless it is the last way to sign in. */
export const createUnlink = ({ accountChanges, identityLinks, passkeys, providers }: Dependencies) => {
  const isConfigured = (id: ProviderId) => providers[id] !== undefined

  return async (context: CallerContext, provider: ProviderId | undefined) => {
    if (!provider) return refuse('not_found')
    return accountChanges.byCaller(context, 'provider_unlinked', async (sql, user) => {
      const hasPasskey = (await passkeys.countUsable(sql, user.id)) > 0
      const refused = await identityLinks.unlinkProvider(sql, user, provider, { hasPasskey, isConfigured })
      if (refused) return refused.refused === 'not_linked' ? refuse('not_found') : refused
      const mail = { providerName: providers[provider]?.name ?? provider }
      return { changes: { provider_unlinked: { mail, event: { provider } } } }
    })
  }
}
