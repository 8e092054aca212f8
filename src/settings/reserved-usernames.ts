import { isRefused } from '../contract/outcome.js'
import { readUsername } from '../users/username.js'
import { InvalidValue, list, type Read } from './setting-values.js'

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

const keyOf: Read<string> = (text) => {
  const username = readUsername(text)
  if (isRefused(username)) throw mustBeNames()
  return username.key
}

/** The keys by which these usernames are compared. */
export const reservedUsernames: Read<string[]> = (value) => {
  if (value === 'off') return []
  const keys = list(keyOf)(value)
  // A list such as `off,admin` is refused, because `off` could be a username or the switch.
  if (keys.length === 0 || keys.includes('off')) throw mustBeNames()
  return keys
}
