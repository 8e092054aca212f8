import { type Refused, refuse } from '../contract/outcome.js'
import { displayName } from '../users/names.js'
import type { Application } from './application.js'
import { type AddressFault, addressFault, backchannelFault } from './application-addresses.js'

export const longestApplicationName = 60

export type NewApplication = Omit<Application, 'id' | 'createdAt'>
/** The kind cannot be changed: it decides which addresses are allowed, and whether there is a secret. */
export type ApplicationChange = Partial<Omit<NewApplication, 'kind'>>

export type ApplicationRefusal =
  | Refused<'bad_name'>
  | Refused<'no_redirect_address'>
  | Refused<'pkce_needed'>
  | Refused<'consent_needed'>
  | Refused<'device_flow_needs_native'>
  | (Refused<'bad_address'> & { address: string; fault: AddressFault })

type Rule = (application: NewApplication, production: boolean) => ApplicationRefusal | undefined

const addressRule: Rule = (application, production) => {
  const { kind, home, redirectAddresses, logoutAddresses, backchannelLogout } = application
  for (const address of [...redirectAddresses, ...logoutAddresses, home]) {
    const fault = addressFault(address, { kind, production })
    if (fault) return refuse('bad_address', { address, fault })
  }
  if (backchannelLogout === undefined) return undefined
  const fault = backchannelFault(backchannelLogout, production)
  return fault ? refuse('bad_address', { address: backchannelLogout, fault }) : undefined
}

const rules: readonly Rule[] = [
  ({ name }) => (displayName(name, longestApplicationName) === name ? undefined : refuse('bad_name')),
  ({ redirectAddresses }) => (redirectAddresses.length > 0 ? undefined : refuse('no_redirect_address')),
  addressRule,
  // Without a secret, only the verifier of PKCE shows that a code is used by the program that asked for it.
  ({ kind, pkce }) => (kind === 'web' || pkce ? undefined : refuse('pkce_needed')),
  // Any program on the user's machine can pose as a native application, so its user is always asked.
  ({ kind, consent }) => (kind !== 'native' || consent === 'ask' ? undefined : refuse('consent_needed')),
  ({ kind, deviceFlow }) => (kind === 'native' || !deviceFlow ? undefined : refuse('device_flow_needs_native')),
]

/** Finds the fault of an application, before anything is written. */
export const applicationFault = (application: NewApplication, production: boolean) =>
  rules.map((rule) => rule(application, production)).find((refusal) => refusal !== undefined)
