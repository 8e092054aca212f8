import { addressFaults } from './application-addresses.js'
import { type ApplicationRefusal, longestApplicationName } from './application-rules.js'

/** Sentences for operators whose command or file describes an application that is refused. */
const sentences: {
  [Code in ApplicationRefusal['refused']]: (refusal: Extract<ApplicationRefusal, { refused: Code }>) => string
} = {
  bad_name: () =>
    `A name has 1 to ${longestApplicationName} characters in one line, without spaces at its ends or characters that cannot be seen.`,
  no_redirect_address: () => 'An application needs at least one redirect address.',
  bad_address: ({ address, fault }) => `${address} ${addressFaults[fault]}.`,
  pkce_needed: () => 'An application without a secret always needs PKCE.',
  consent_needed: () =>
    'A native application always asks its user for consent, because any program on the same machine can pose as it.',
  device_flow_needs_native: () => 'Only an application of the kind native can have the device flow.',
}

export const applicationRefusalSentence = (refusal: ApplicationRefusal) =>
  (sentences[refusal.refused] as (refusal: ApplicationRefusal) => string)(refusal)
