import type { Refusal } from './requests.js'
import type { Provider } from './settings.js'
import type { Words } from './words/catalogue.js'
import { fill } from './words/format.js'

type Common = Words['common']

const has = <Key extends string>(texts: Record<Key, string>, key: string): key is Key => Object.hasOwn(texts, key)

/** A refusal in the visitor's language. The server's own sentences are never shown: they are English and may change. */
export const sentenceFor = ({ status, error }: Refusal, { refusals }: Common): string => {
  if (status !== 0 && has(refusals, error)) return refusals[error]
  if (status === 0) return refusals.offline
  return status === 429 || status === 503 ? refusals.unavailable : refusals.unexpected
}

/** What the address says of a failed sign-in with a provider; a code we do not know becomes a plain sentence. */
export const providerErrorFor = (
  code: string,
  reason: string | undefined,
  providers: Provider[],
  { providerErrors }: Common,
): string => {
  if (code === 'callback_failed') return providerErrors.callback
  const failed = providers.find(({ id }) => code === `${id}_auth_failed`)
  if (!failed) return providerErrors.unknown
  const told = new Map([
    ['no_email', providerErrors.noEmail],
    ['registration_closed', providerErrors.registrationClosed],
  ])
  return fill(told.get(reason ?? '') ?? providerErrors.failed, { provider: failed.name })
}
