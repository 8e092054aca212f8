import { type ApplicationChanges, applicationRefusalSentence } from '../../applications/application-changes.js'
import { maxSecrets } from '../../applications/application-secrets.js'

import { isRefused } from '../../contract/outcome.js'
import { countText } from '../../lib/text.js'
import { CommandFailure } from '../command.js'
import { printableText } from '../terminal/printable-json.js'
import { quoteCommand } from '../terminal/quote-command.js'

type Outcome = Awaited<ReturnType<ApplicationChanges[keyof ApplicationChanges]>>
type Refusal = Extract<Outcome, { refused: string }>

/** `name` is the name of the application. It stands in a command that the operator can copy. */
const sentences: {
  [Code in Refusal['refused']]: (refusal: Extract<Refusal, { refused: Code }>, name: string) => string
} = {
  bad_name: applicationRefusalSentence,
  no_redirect_address: applicationRefusalSentence,
  bad_address: applicationRefusalSentence,
  pkce_needed: applicationRefusalSentence,
  consent_needed: applicationRefusalSentence,
  device_flow_needs_native: applicationRefusalSentence,
  no_group: ({ group }) => `There is no group ${group}. Make it with: latchkey group add ${group}`,
  name_taken: () => 'Another application has this name.',
  no_application: () => 'The application was deleted in the meantime.',
  has_no_secret: () => 'Only an application of the kind web has secrets.',
  too_many_secrets: (_, name) =>
    `${printableText(name)} has ${maxSecrets} secrets already. Remove the older one first: ${quoteCommand('application secret remove', name)}`,
  no_secret: (_, name) => `${printableText(name)} has no such secret. See: ${quoteCommand('application show', name)}`,
  last_secret: (_, name) =>
    `This is the only secret of ${printableText(name)}. Add another one first: ${quoteCommand('application secret add', name)}`,
  application_in_use: ({ users }, name) =>
    `${countText(users, 'user')} would lose ${printableText(name)}. Add --yes to delete it.`,
}

/**
 * Returns the outcome, or throws the sentence of its refusal. Nothing is written after the sentence, because it may end in a command that
 * the operator copies.
 */
export const throwIfRefused = <Value>(outcome: Value, name: string): Exclude<Value, { refused: string }> => {
  if (!isRefused(outcome)) return outcome as Exclude<Value, { refused: string }>
  const refusal = outcome as Refusal
  const sentence = sentences[refusal.refused] as (refusal: Refusal, name: string) => string
  throw new CommandFailure(`Nothing was changed. ${printableText(sentence(refusal, name))}`)
}
