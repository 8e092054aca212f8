import { isLoopback } from '../../lib/loopback.js'
import { type InvalidAddress, invalidAddress } from '../invalid-address.js'

export type SmtpServer = {
  host: string
  port: number
  /** TLS from the first byte (`smtps://`). Without it the connection is upgraded when the server offers STARTTLS. */
  secure: boolean
  /** Never send a mail unencrypted. */
  requireTLS: boolean
  ignoreTLS: boolean
  tls: { rejectUnauthorized: boolean }
  auth?: { user: string; pass: string }
}

const settings = ['requireTLS', 'ignoreTLS', 'tls.rejectUnauthorized']

const decoded = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    return undefined
  }
}

const parsed = (text: string) => {
  try {
    return new URL(text)
  } catch {
    return undefined
  }
}

/**
 * `smtp://user:password@host:587` or `smtps://…:465`. A password is never sent unencrypted to another machine:
 * with credentials STARTTLS is required, unless `?requireTLS=false` says that the network can be trusted.
 */
export const readSmtpAddress = (text: string): SmtpServer | InvalidAddress => {
  const url = parsed(text)
  if (!url || !['smtp:', 'smtps:'].includes(url.protocol) || !url.hostname)
    return invalidAddress('must be an address like smtp://user:password@mail.example.com:587 or smtps://…')
  for (const [name, value] of url.searchParams) {
    if (!settings.includes(name)) return invalidAddress(`may have only these settings: ${settings.join(', ')}`)
    if (value !== 'true' && value !== 'false') return invalidAddress(`must have true or false for ${name}`)
  }
  const user = decoded(url.username)
  const pass = decoded(url.password)
  if (user === undefined || pass === undefined) return invalidAddress('has credentials that are not percent-encoded')

  const secure = url.protocol === 'smtps:'
  const host = url.hostname.replace(/^\[(.*)\]$/, '$1')
  const wanted = url.searchParams.get('requireTLS')
  const ignoreTLS = url.searchParams.get('ignoreTLS') === 'true'
  const requireTLS = wanted ? wanted === 'true' : user !== '' && !ignoreTLS && !isLoopback(host)
  return {
    host,
    port: url.port ? Number(url.port) : secure ? 465 : 587,
    secure,
    requireTLS: requireTLS && !secure,
    ignoreTLS,
    tls: { rejectUnauthorized: url.searchParams.get('tls.rejectUnauthorized') !== 'false' },
    ...(user && { auth: { user, pass } }),
  }
}
