import { isRefused } from '../../contract/outcome.js'
import { addressFaults } from '../../domain/applications/application-addresses.js'
import type { ApplicationChanges } from '../../domain/applications/application-changes.js'
import { longestApplicationName } from '../../domain/applications/application-rules.js'
import { mostSecrets } from '../../domain/applications/application-secrets.js'
import { CommandFailure } from '../command.js'
import { printableText } from '../terminal/printable-json.js'

type Outcome = Awaited<ReturnType<ApplicationChanges[keyof ApplicationChanges]>>
type Refusal = Extract<Outcome, { refused: string }>

const sentences: { [Code in Refusal['refused']]: (refusal: Extract<Refusal, { refused: Code }>) => string } = {
  bad_name: () =>
    `A name has 1 to ${longestApplicationName} characters in one line, without spaces at its ends or characters that cannot be seen.`,
  no_redirect_address: () => 'An application needs at least one address in --redirect.',
  bad_address: ({ address, fault }) => `${printableText(address)} ${addressFaults[fault]}.`,
  pkce_needed: () => 'An application without a secret always needs PKCE.',
  consent_needed: () =>
    'A native application always asks its user (--consent ask), because any program on the same machine can pose as it.',
  no_group: ({ group }) => `There is no group ${group}. Make it with: latchkey group add ${group}`,
  name_taken: () => 'Another application has this name.',
  no_application: () => 'The application was deleted in the meantime.',
  has_no_secret: () => 'Only an application of the kind web has secrets.',
  too_many_secrets: () =>
    `The application has ${mostSecrets} secrets already. Remove the older one first: latchkey application secret remove NAME`,
  no_secret: () => 'The application has no such secret. See: latchkey application show NAME',
  last_secret: () =>
    'This is the only secret of the application. Add another one first: latchkey application secret add NAME',
}

/** What was done, or why it was not. A sentence may end in a command, which is then the end of the line and can be copied. */
export const unlessRefused = <Value>(outcome: Value): Exclude<Value, { refused: string }> => {
  if (!isRefused(outcome)) return outcome as Exclude<Value, { refused: string }>
  const refusal = outcome as Refusal
  const sentence = sentences[refusal.refused] as (refusal: Refusal) => string
  throw new CommandFailure(`Nothing was changed. ${sentence(refusal)}`)
}
