import { type Refused, refuse } from '../contract/outcome.js'
import type { RegistrationMode } from '../contract/pages.js'
import type { Email } from '../users/names.js'

export type AddressRefusal = 'email_domain_not_allowed'
export type GateRefusal = 'registration_closed' | 'invitation_required' | AddressRefusal

export type RegistrationGate = ReturnType<typeof createRegistrationGate>

/**
 * Decides who may have an account here, by REGISTRATION and REGISTRATION_DOMAINS. It looks at the text of an address and at nothing
 * else, so a refusal says nothing about accounts. Users who have an account sign in whatever the gate says.
 */
export const createRegistrationGate = (options: { mode: RegistrationMode; domains: readonly string[] }) => {
  const { mode } = options
  const domains = new Set(options.domains)

  /** The refusal if no account may have this address, neither a new account nor one that changes its address. */
  const refusalForAddress = ({ key }: Email): Refused<AddressRefusal> | undefined => {
    const domain = key.slice(key.lastIndexOf('@') + 1)
    return domains.size === 0 || domains.has(domain) ? undefined : refuse('email_domain_not_allowed')
  }

  /** The refusal if every new account needs an invitation, whatever its address. */
  const refusalForAll = (): Refused<GateRefusal> | undefined => {
    if (mode === 'closed') return refuse('registration_closed')
    return mode === 'invited' ? refuse('invitation_required') : undefined
  }

  return {
    refusalForAddress,
    refusalForAll,
    /** The refusal if a new account with this address needs an invitation. */
    refusalFor: (email: Email): Refused<GateRefusal> | undefined => refusalForAll() ?? refusalForAddress(email),
  }
}
