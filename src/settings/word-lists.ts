import { domainToASCII } from 'node:url'
import { normalizedUsername, usernameRefusal } from '../contract/usernames.js'
import { InvalidValue, list, type Read } from './setting-values.js'

const address = String.raw`[^\s@<>()[\]",;:\\]+@[^\s@<>()[\]",;:\\]+`
const plainName = String.raw`[^<>()[\]@",;:\\\p{Cc}]*`
const quotedName = String.raw`"[^"\\\p{Cc}]*"\s*`
const sender = new RegExp(`^(?:${address}|(?:${plainName}|${quotedName})<${address}>)$`, 'u')

/** One address, with or without a name. A mail server would refuse any other sender. */
export const mailSender: Read<string> = (value) => {
  if (!sender.test(value))
    throw new InvalidValue(
      'must be one address such as no-reply@example.com, or Example <no-reply@example.com>; a name with a comma is put in quotes',
    )
  return value
}

const maxWords = 100

const word: Read<string> = (text) => {
  const { length } = Array.from(text)
  if (length < 3 || length > 64) throw new InvalidValue('must be words of 3 to 64 characters, separated by commas')
  return text
}

/** Their number is limited, because each word costs time whenever the strength of a password is estimated. */
export const passwordWords: Read<string[]> = (value) => {
  const words = list(word)(value)
  if (words.length > maxWords) throw new InvalidValue(`must be at most ${maxWords} words`)
  return words
}

const label = '[a-z\\d](?:[a-z\\d-]{0,61}[a-z\\d])?'
const shape = new RegExp(`^(?:${label}\\.)+${label}$`)

const mustBeDomains = () =>
  new InvalidValue('must be domains such as example.com, without @ and patterns; subdomains are not included')

/** Addresses of users are ASCII, so a domain with other letters is compared in its ASCII form. */
const domain: Read<string> = (value) => {
  const ascii = /^[\p{L}\p{M}\p{N}.-]+$/u.test(value) ? domainToASCII(value).toLowerCase() : ''
  if (!shape.test(ascii)) throw mustBeDomains()
  return ascii
}

/** A value of commas alone is refused: it names no domain, and an empty list would allow every domain. */
export const registrationDomains: Read<string[]> = (value) => {
  const domains = list(domain)(value)
  if (value !== '' && domains.length === 0) throw mustBeDomains()
  return [...new Set(domains)]
}

/**
 * Names that seem to speak for the operator, names of accounts and mailboxes that many programs have, and words that a program may
 * take for something else than a user, such as `me` or `null`.
 */
export const commonlyReserved = [
  ...['admin', 'administrator', 'root', 'superuser', 'sysadmin', 'system', 'operator', 'moderator', 'staff'],
  ...['official', 'team', 'support', 'help', 'helpdesk', 'info', 'contact', 'billing', 'sales', 'security', 'abuse'],
  ...['postmaster', 'hostmaster', 'webmaster', 'mailer-daemon', 'noreply', 'no-reply', 'daemon', 'nobody', 'guest'],
  ...['anonymous', 'everyone', 'all', 'public', 'service', 'api', 'www', 'me', 'self', 'null', 'undefined', 'none'],
].join(',')

const mustBeNames = () => new InvalidValue('must be usernames, separated by commas, or `off` alone')

const nameIn: Read<string> = (text) => {
  const name = normalizedUsername(text)
  if (usernameRefusal(name)) throw mustBeNames()
  return name
}

export const reservedUsernames: Read<string[]> = (value) => {
  if (value === 'off') return []
  const names = list(nameIn)(value)
  // A list such as `off,admin` is refused, because `off` could be a username or the switch.
  if (names.length === 0 || names.some((name) => name.toLowerCase() === 'off')) throw mustBeNames()
  return names
}
