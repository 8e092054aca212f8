import { type Refused, refuse } from '../contract/outcome.js'

/**
 * Addresses are ASCII: Unicode case rules would make two addresses equal (`ı` and `I`, the Kelvin sign and `k`),
 * and a domain with other letters has an ASCII form.
 */
const shape =
  /^[a-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/i
const maximumLength = 254

export type EmailRefusal = 'email_shape'

export type Email = { email: string; key: string }

export const emailKey = (text: string) => text.trim().toLowerCase()

/** Reads an address. Spaces around it come from pasting and are removed. */
export const readEmail = (typedEmail: string): Email | Refused<EmailRefusal> => {
  const text = typedEmail.trim()
  const [local = ''] = text.split('@')
  const hasMisplacedDot = local.startsWith('.') || local.endsWith('.') || local.includes('..')
  if (text.length > maximumLength || hasMisplacedDot || !shape.test(text)) return refuse('email_shape')
  return { email: text, key: emailKey(text) }
}
